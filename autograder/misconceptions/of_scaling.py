"""Scaling done otherwise: by another size, another power, in another place, or not at all."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from torch import Tensor

from autograder.catalogue import Misconception
from autograder.chain import Values


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
        message=(
            "The scores go into softmax undivided. Dot products grow with the key size d_k, "
            "softmax then puts nearly all weight on one token and its gradient vanishes. Divide "
            "the scores by the square root of d_k."
        ),
    ),
    Misconception(
        id="scale-by-dk",
        criterion="scaling",
        step="scaling",
        replace=scale_by_dk,
        title="divided by d_k, not by its square root",
        message=(
            "The scores are divided by d_k itself. The spread of a dot product grows with the "
            "square root of d_k, so that is what to divide by."
        ),
    ),
    Misconception(
        id="scale-by-input-width",
        criterion="scaling",
        step="scaling",
        replace=scale_by_input_width,
        title="scaled by the input width",
        message=(
            "The scores are divided by the square root of d_in. The dot product runs over the "
            "key's features, so the size that counts is the key's: d_k."
        ),
    ),
    Misconception(
        id="scale-multiplied",
        criterion="scaling",
        step="scaling",
        replace=scale_multiplied,
        title="multiplied by the square root",
        message=(
            "The scores are multiplied by the square root of d_k (or divided by d_k ** -0.5, which "
            "is the same). That makes large scores larger. Divide by it."
        ),
    ),
    Misconception(
        id="scale-by-tokens",
        criterion="scaling",
        step="scaling",
        replace=scale_by_tokens,
        title="scaled by the number of tokens",
        message=(
            "The scores are divided by the square root of the number of tokens, perhaps because "
            "the size was read from the wrong dimension (`shape[0]` or `shape[1]`). d_k is the "
            "last dimension of the keys."
        ),
    ),
    Misconception(
        id="scale-power-five",
        criterion="scaling",
        step="scaling",
        replace=scale_power_five,
        title="d_k ** 5 for d_k ** 0.5",
        message=(
            "The scores are divided by d_k to the fifth power: `** 5` where `** 0.5` was meant. "
            "All weights come out nearly equal."
        ),
    ),
    Misconception(
        id="scale-half-dk",
        criterion="scaling",
        step="scaling",
        replace=scale_half_dk,
        title="/ d_k * 0.5 for d_k ** 0.5",
        message=(
            "The scores are divided by d_k and halved: `/ d_k * 0.5` where `/ d_k ** 0.5` was "
            "meant."
        ),
    ),
    Misconception(
        id="scale-by-half-of-dk",
        criterion="scaling",
        step="scaling",
        replace=scale_times_half,
        title="divided by half of d_k",
        message="The scores are divided by d_k / 2. Divide by the square root of d_k.",
    ),
    Misconception(
        id="scale-after-softmax",
        criterion="scaling",
        step="scaling",
        replace=scale_after_softmax,
        title="scaled after the softmax",
        message=(
            "The weights are divided after softmax, so a row sums to 1 / sqrt(d_k). Scaling "
            "tempers the scores: it belongs before softmax."
        ),
    ),
)

BY_HEADS = (
    Misconception(
        id="scale-by-model-width",
        criterion="scaling",
        step="scaling",
        replace=scale_by_model_width,
        title="scaled by the whole width",
        message=(
            "The scores are divided by the square root of d_out, the width of all heads together. "
            "A head's dot product runs over d_k = d_out / H features: divide by its square root."
        ),
        names=("MultiHeadAttention",),
    ),
    Misconception(
        id="scale-by-heads",
        criterion="scaling",
        step="scaling",
        replace=scale_by_heads,
        title="scaled by the number of heads",
        message=(
            "The scores are divided by the square root of the number of heads. Divide by the "
            "square root of d_k, the last dimension of the keys."
        ),
        names=("MultiHeadAttention",),
    ),
)
