"""Masking done otherwise: other positions hidden, other numbers in their place, another moment."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from msgspec.structs import replace
from torch import Tensor

from autograder.attention import chain
from autograder.attention.chain import Given, Values
from autograder.diagnosis.chain import Step, StepRaises
from autograder.diagnosis.compare import SINGLE

Hidden = Callable[[int], Tensor]


def everything_seen(size: int) -> Tensor:
    """No position hidden."""
    return torch.zeros(size, size, dtype=torch.bool)


def diagonal_too(size: int) -> Tensor:
    """The token's own position hidden as well."""
    return chain.future(size, diagonal=0)


def one_late(size: int) -> Tensor:
    """The next token still seen."""
    return chain.future(size, diagonal=2)


def past(size: int) -> Tensor:
    """Earlier positions hidden, the future seen."""
    return chain.future(size).T


def past_and_diagonal(size: int) -> Tensor:
    """The complement of the right mask."""
    return ~chain.future(size)


def hiding(hidden: Hidden, fill: float = -math.inf) -> Step:
    """Another set of positions hidden, or another number in their place.

    Works on the mask itself, on scores before softmax and on weights that are renormalised,
    according to what the chain has at hand.
    """

    def step(values: Values) -> Values:
        if values.given.count:
            return replace(values, output=hidden(values.given.count))
        if values.weights.numel():
            kept = values.weights.masked_fill(hidden(values.weights.shape[-1]), 0.0)
            return replace(values, weights=kept / kept.sum(dim=-1, keepdim=True))
        positions = hidden(values.scores.shape[-1])
        return replace(values, scores=values.scores.masked_fill(positions, fill))

    return step


def scores_only(change: Callable[[Tensor, Tensor], Tensor]) -> Step:
    """A mistake on scores before softmax: `change(scores, positions above the diagonal)`."""

    def step(values: Values) -> Values:
        if not values.scores.numel() or values.weights.numel():
            raise StepRaises
        positions = chain.future(values.scores.shape[-1])
        return replace(values, scores=change(values.scores, positions))

    return step


def before_scaling(change: Callable[[Tensor, Tensor], Tensor]) -> Step:
    """The same mistake made before the scores are scaled, in a module that scales them."""

    def step(values: Values) -> Values:
        if not values.query.numel() or values.weights.numel():
            raise StepRaises
        factor = scaled_by(values)
        positions = chain.future(values.scores.shape[-1])
        return replace(values, scores=change(values.scores / factor, positions) * factor)

    return step


def zeroed(weights: Tensor) -> Tensor:
    """Weights zeroed above the diagonal and left as they are."""
    return weights.masked_fill(chain.future(weights.shape[-1]), 0.0)


def scaled_by(values: Values) -> Tensor:
    """What the scores were multiplied by, right or not; the right factor where they tell none.

    Without a branch on numbers, so that many prefixes can be asked side by side.
    """
    right = torch.tensor(1 / math.sqrt(values.query.shape[-1]))
    bare, scores = chain.scores(values).scores.detach(), values.scores.detach()
    if bare.shape != scores.shape:
        return right
    factor = (scores * bare).sum() / (bare * bare).sum()
    apart = (factor * bare - scores).abs().max()
    told = torch.isfinite(factor) & (factor != 0) & (apart <= SINGLE * scores.abs().max())
    return torch.where(told, factor, right)


def mask_after_softmax(values: Values) -> Values:
    """Weights zeroed above the diagonal and left as they are."""
    if values.weights.numel():
        return replace(values, weights=zeroed(values.weights))
    return replace(values, after_softmax=(*values.after_softmax, zeroed))


def renormalised_by_columns(values: Values) -> Values:
    """Divided by the sums of the columns."""
    kept = values.weights.masked_fill(chain.future(values.weights.shape[-1]), 0.0)
    return replace(values, weights=kept / kept.sum(dim=-2, keepdim=True))


def softmax_again(values: Values) -> Values:
    """Zeroed above the diagonal, then passed through softmax once more."""
    kept = values.weights.masked_fill(chain.future(values.weights.shape[-1]), 0.0)
    return replace(values, weights=torch.softmax(kept, dim=-1))


def mask_of_shared_size(length_of: Callable[[Given], int]) -> Step:
    """A mask built for one size and not cut to the tokens at hand."""

    def step(values: Values) -> Values:
        if length_of(values.given) != values.scores.shape[-1]:
            raise StepRaises
        return chain.masking(values)

    return step


def mask_too_small(values: Values) -> Values:
    """A mask sized by the embedding: too small for a long text."""
    if values.given.weights["query"].shape[1] < values.scores.shape[-1]:
        raise StepRaises
    return chain.masking(values)
