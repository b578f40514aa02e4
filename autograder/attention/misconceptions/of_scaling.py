"""Scaling done otherwise: by another size, another power, in another place, or not at all."""

from __future__ import annotations

import math
from dataclasses import dataclass

from msgspec.structs import replace
from torch import Tensor

from autograder.diagnosis.catalogue import Misconception
from autograder.diagnosis.chain import Values


def divided(divisor: float, values: Values) -> Values:
    """Scores divided by a number."""
    return replace(values, scores=values.scores / divisor)


@dataclass(frozen=True, slots=True)
class Divided:
    """Weights divided by a number; two that divide by the same are the same."""

    divisor: float

    def __call__(self, weights: Tensor) -> Tensor:
        """The weights, smaller."""
        return weights / self.divisor


def no_scale(values: Values) -> Values:
    """Raw dot products."""
    return values


def scale_by_dk(values: Values) -> Values:
    """Divide by d_k itself."""
    return divided(values.query.shape[-1], values)


def scale_by_input_width(values: Values) -> Values:
    """Divide by the square root of d_in."""
    assert values.given.tokens is not None
    return divided(math.sqrt(values.given.tokens.shape[-1]), values)


def scale_multiplied(values: Values) -> Values:
    """Multiply where one should divide."""
    return divided(values.query.shape[-1] ** -0.5, values)


def scale_by_tokens(values: Values) -> Values:
    """Divide by the square root of the number of tokens."""
    return divided(math.sqrt(values.scores.shape[-1]), values)


def scale_power_five(values: Values) -> Values:
    """`d ** 5`, the point forgotten."""
    return divided(float(values.query.shape[-1]) ** 5, values)


def scale_half_dk(values: Values) -> Values:
    """`/ d * 0.5`: the power sign became a product."""
    return divided(2.0 * values.query.shape[-1], values)


def scale_times_half(values: Values) -> Values:
    """`/ (d * 0.5)`."""
    return divided(0.5 * values.query.shape[-1], values)


def scale_after_softmax(values: Values) -> Values:
    """The weights are scaled, not the scores."""
    divided_later = Divided(math.sqrt(values.query.shape[-1]))
    return replace(values, after_softmax=(*values.after_softmax, divided_later))


def scale_by_model_width(values: Values) -> Values:
    """Divide by the square root of d_out."""
    width = values.given.weights["query"].shape[1]
    return replace(values, scores=values.scores / math.sqrt(width))


def scale_by_heads(values: Values) -> Values:
    """Divide by the square root of the number of heads."""
    return replace(values, scores=values.scores / math.sqrt(values.given.heads))


SCALING = (
    Misconception(
        id="no-scale",
        criterion="scaling",
        step="scaling",
        replace=no_scale,
        title="no scaling",
        found="The scores reach softmax without being divided.",
        expected=(
            "They should be divided by the square root of the key size d_k: dot products grow "
            "with it, and softmax then puts nearly all weight on one token."
        ),
        look="Look for the division before softmax, and whether its result is used.",
    ),
    Misconception(
        id="scale-by-dk",
        criterion="scaling",
        step="scaling",
        replace=scale_by_dk,
        title="divided by d_k, not by its square root",
        found="The scores are divided by d_k itself, at once or by its root twice.",
        expected="They should be divided by the square root of d_k, once.",
        look="Look at all lines that divide, and print the factor once.",
    ),
    Misconception(
        id="scale-by-input-width",
        criterion="scaling",
        step="scaling",
        replace=scale_by_input_width,
        title="scaled by the input width",
        found="The scores are divided by the square root of the input size d_in.",
        expected="The key size should count: each dot product has d_k terms.",
        look="Look at which shape the size is read from.",
    ),
    Misconception(
        id="scale-multiplied",
        criterion="scaling",
        step="scaling",
        replace=scale_multiplied,
        title="multiplied by the square root",
        found="The scores are multiplied by the square root of d_k, so large ones grow.",
        expected="They should be divided by it.",
        look="Look at the operator and at the sign of the power, and print the factor once.",
    ),
    Misconception(
        id="scale-by-tokens",
        criterion="scaling",
        step="scaling",
        replace=scale_by_tokens,
        title="scaled by the number of tokens",
        found="The scores are divided by the square root of the number of tokens.",
        expected="They should be divided by the square root of the key size d_k.",
        look="Look at which dimension the size is read from; d_k is the last one of the keys.",
    ),
    Misconception(
        id="scale-power-five",
        criterion="scaling",
        step="scaling",
        replace=scale_power_five,
        title="d_k ** 5 for d_k ** 0.5",
        found=(
            "The scores are divided by the fifth power of d_k, so all weights come out nearly "
            "equal."
        ),
        expected="They should be divided by the square root, which is the power of one half.",
        look="Look at the power: a typing error may have cost it its point.",
    ),
    Misconception(
        id="scale-half-dk",
        criterion="scaling",
        step="scaling",
        replace=scale_half_dk,
        title="/ d_k * 0.5 for d_k ** 0.5",
        found="The scores are divided by d_k and by two.",
        expected=(
            "They should be divided by the square root of d_k, which is the power of one half."
        ),
        look="Look at the operators: perhaps a product stands where a power was meant.",
    ),
    Misconception(
        id="scale-by-half-of-dk",
        criterion="scaling",
        step="scaling",
        replace=scale_times_half,
        title="divided by half of d_k",
        found="The scores are divided by half of d_k.",
        expected=(
            "They should be divided by the square root of d_k, which is the power of one half."
        ),
        look="Look at the operators: perhaps a product stands where a power was meant.",
    ),
    Misconception(
        id="scale-after-softmax",
        criterion="scaling",
        step="scaling",
        replace=scale_after_softmax,
        title="scaled after the softmax",
        found="The scaling stands after softmax, so rows of weights do not sum to 1.",
        expected="The scores should be divided before softmax.",
        look="Look at the order of both, and at the brackets.",
    ),
)

BY_HEADS = (
    Misconception(
        id="scale-by-model-width",
        criterion="scaling",
        step="scaling",
        replace=scale_by_model_width,
        title="scaled by the whole width",
        found="The scores are divided by the square root of d_out, the size of all heads together.",
        expected="Each head's dot product has d_k terms, so the square root of d_k should divide.",
        look="Look at which shape the size is read from, after the split or before.",
        names=("MultiHeadAttention",),
    ),
    Misconception(
        id="scale-by-heads",
        criterion="scaling",
        step="scaling",
        replace=scale_by_heads,
        title="scaled by the number of heads",
        found="The scores are divided by the square root of the number of heads.",
        expected="They should be divided by the square root of one head's key size d_k.",
        look="Look at which dimension the size is read from; d_k is the last one of the keys.",
        names=("MultiHeadAttention",),
    ),
)
