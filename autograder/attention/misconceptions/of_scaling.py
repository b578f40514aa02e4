"""Scaling done otherwise: by another size, another power, in another place, or not at all."""

from __future__ import annotations

import math
from dataclasses import dataclass

from msgspec.structs import replace
from torch import Tensor

from autograder.attention.chain import Values
from autograder.diagnosis.catalogue import Misconception


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
    ),
    Misconception(
        id="scale-by-dk",
        criterion="scaling",
        step="scaling",
        replace=scale_by_dk,
    ),
    Misconception(
        id="scale-by-input-width",
        criterion="scaling",
        step="scaling",
        replace=scale_by_input_width,
    ),
    Misconception(
        id="scale-multiplied",
        criterion="scaling",
        step="scaling",
        replace=scale_multiplied,
    ),
    Misconception(
        id="scale-by-tokens",
        criterion="scaling",
        step="scaling",
        replace=scale_by_tokens,
    ),
    Misconception(
        id="scale-power-five",
        criterion="scaling",
        step="scaling",
        replace=scale_power_five,
    ),
    Misconception(
        id="scale-half-dk",
        criterion="scaling",
        step="scaling",
        replace=scale_half_dk,
    ),
    Misconception(
        id="scale-by-half-of-dk",
        criterion="scaling",
        step="scaling",
        replace=scale_times_half,
    ),
    Misconception(
        id="scale-after-softmax",
        criterion="scaling",
        step="scaling",
        replace=scale_after_softmax,
    ),
)

BY_HEADS = (
    Misconception(
        id="scale-by-model-width",
        criterion="scaling",
        step="scaling",
        replace=scale_by_model_width,
        names=("MultiHeadAttention",),
    ),
    Misconception(
        id="scale-by-heads",
        criterion="scaling",
        step="scaling",
        replace=scale_by_heads,
        names=("MultiHeadAttention",),
    ),
)
