"""Attention as a chain of replaceable steps.

The reference is the chain with every step right; a misconception is one step done otherwise.
Rubric, catalogue, explanation and feedback all speak of these steps.

Shapes: `b` batch, `T` tokens, `H` heads, `d_k` size of one head's keys. A step reads `Values`
and returns new ones; nothing is changed in place, so that a prefix of a chain can be shared by
all the ways in which it may go on.

Values are made anew at every step of every chain that is tried, so they are structs: those are
copied with a change in a tenth of the time that a data class takes.

Source: Vaswani et al. 2017, section 3.2; chapter 3 of the book the course follows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec
import torch
from msgspec.structs import replace
from torch import Tensor

Step = Callable[["Values"], "Values"]


class StepRaises(Exception):
    """A step done otherwise says: code written so raises on this input."""


class Given(msgspec.Struct, frozen=True):
    """What a name was called with, and the weights that its module held.

    tokens: `(T, d)` or `(b, T, d_in)`; query: `(d,)`; scores: any; count: a number of tokens.
    weights: by role, `query`, `key`, `value` as `(d_in, d_out)`, `output` as `(d_out, d_out)`,
    so that a projection is `tokens @ weight`; biases as `query_bias` and so on.
    parts: the outputs of the heads that a wrapper joins.
    """

    tokens: Tensor | None = None
    query: Tensor | None = None
    scores: Tensor | None = None
    count: int = 0
    weights: Mapping[str, Tensor] = {}
    heads: int = 1
    context_length: int = 0
    parts: tuple[Tensor, ...] = ()


class Values(msgspec.Struct, frozen=True):
    """What is known between two steps.

    `after_softmax` holds what a misplaced step does later, functions without tensors in them that
    are equal where they do the same; `heads_in_front` is false where heads were cut and not
    brought in front of the tokens, `gather` is how weights meet values where that cannot be a
    product of both in this order.
    """

    given: Given
    query: Tensor
    key: Tensor
    value: Tensor
    scores: Tensor
    weights: Tensor
    context: Tensor
    output: Tensor
    after_softmax: tuple[Callable[[Tensor], Tensor], ...] = ()
    heads_in_front: bool = True
    gather: Callable[[Tensor, Tensor], Tensor] | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """The steps of one name, how they begin, and which value the name returns.

    `result` picks one of the values. `realizations` are other ways of doing a step right; what
    they leave differs only where a later step goes wrong.
    """

    steps: tuple[tuple[str, Step], ...]
    begin: Callable[[Given], Values]
    result: Callable[[Values], Tensor]
    realizations: Mapping[str, tuple[Step, ...]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The steps' names in order."""
        return tuple(name for name, _ in self.steps)

    def other_ways(self, name: str) -> tuple[Step, ...]:
        """Right ways of doing a step besides the usual one."""
        return tuple(self.realizations.get(name, ()))


def run(chain: Chain, given: Given, replaced: Mapping[str, Step] | None = None) -> Tensor:
    """What the name returns for `given`, with the steps in `replaced` done otherwise.

    Raises `StepRaises` where code written that way would raise.
    """
    values = chain.begin(given)
    for name, step in chain.steps:
        if replaced is not None and name in replaced:
            step = replaced[name]
        values = step(values)
    return chain.result(values)


_NOTHING = torch.empty(0)


def start(
    given: Given,
    query: Tensor = _NOTHING,
    key: Tensor = _NOTHING,
    value: Tensor = _NOTHING,
    scores: Tensor = _NOTHING,
) -> Values:
    """Values at the beginning of a chain; what is not known yet is empty."""
    return Values(given, query, key, value, scores, _NOTHING, _NOTHING, _NOTHING)


def attend_to_tokens(given: Given) -> Values:
    """Begin without weights: tokens (or the one query) attend to tokens (section 3.3)."""
    assert given.tokens is not None
    query = given.tokens if given.query is None else given.query
    return start(given, query=query, key=given.tokens, value=given.tokens)


def from_scores(given: Given) -> Values:
    """Begin from scores that were handed in."""
    assert given.scores is not None
    return start(given, scores=given.scores)


def from_nothing(given: Given) -> Values:
    """Begin with what was given and nothing else."""
    return start(given)


# The steps, done right ----------------------------------------------------------------------


def project(given: Given, role: str, tokens: Tensor | None = None) -> Tensor:
    """`tokens @ W + bias` for one role: `(..., T, d_in)` to `(..., T, d_out)`."""
    tokens = given.tokens if tokens is None else tokens
    assert tokens is not None
    projected = tokens @ given.weights[role]
    bias = given.weights.get(f"{role}_bias")
    return projected if bias is None else projected + bias


def projections(values: Values) -> Values:
    """Queries, keys and values from the tokens (section 3.4.1)."""
    given = values.given
    return replace(
        values,
        query=project(given, "query"),
        key=project(given, "key"),
        value=project(given, "value"),
    )


def into_heads(joined: Tensor, heads: int) -> Tensor:
    """`(b, T, H * d_k)` to `(b, H, T, d_k)`, head h being the h-th run of columns."""
    apart: Tensor = joined.unflatten(-1, (heads, -1))
    return apart.transpose(-3, -2)


def split(values: Values) -> Values:
    """Give each head its own run of columns (section 3.6.2)."""
    heads = values.given.heads
    return replace(
        values,
        query=into_heads(values.query, heads),
        key=into_heads(values.key, heads),
        value=into_heads(values.value, heads),
    )


def scores(values: Values) -> Values:
    """Dot product of every query with every key: `(..., T, T)`, or `(T,)` for one query."""
    if values.query.dim() == 1:
        return replace(values, scores=values.key @ values.query)
    return replace(values, scores=values.query @ values.key.transpose(-2, -1))


def scaling(values: Values) -> Values:
    """Divide by the square root of the key dimension (section 3.4.1; Vaswani et al. 3.2.1)."""
    return replace(values, scores=values.scores / math.sqrt(values.query.shape[-1]))


def future(size: int, diagonal: int = 1) -> Tensor:
    """`(T, T)` bool, true above the diagonal: where a token must not look."""
    return torch.ones(size, size, dtype=torch.bool).triu(diagonal)


def masking(values: Values) -> Values:
    """Minus infinity where a token would see a later one (section 3.5.1)."""
    hidden = future(values.scores.shape[-1])
    return replace(values, scores=values.scores.masked_fill(hidden, -math.inf))


def masking_with(fill: float) -> Step:
    """A large negative number in the place of minus infinity, which is as right."""

    def step(values: Values) -> Values:
        hidden = future(values.scores.shape[-1])
        return replace(values, scores=values.scores.masked_fill(hidden, fill))

    return step


def masking_in_the_end(values: Values) -> Values:
    """Masked after softmax and divided by the rows' sums again: as right (section 3.5.1)."""
    later = (*values.after_softmax, renormalized)
    return replace(values, after_softmax=later)


#: Other right ways to mask scores before softmax.
MASKING_REALIZATIONS = (
    masking_with(-1e9),
    masking_with(-1e20),
    masking_with(torch.finfo(torch.float32).min),
    masking_in_the_end,
)


def renormalized(weights: Tensor) -> Tensor:
    """Zero above the diagonal, rows divided by their sums again."""
    kept = weights.masked_fill(future(weights.shape[-1]), 0.0)
    return kept / kept.sum(dim=-1, keepdim=True)


def settle(values: Values, weights: Tensor) -> Values:
    """Take `weights` and do to them what an earlier, misplaced step left for later."""
    for later in values.after_softmax:
        weights = later(weights)
    return replace(values, weights=weights, after_softmax=())


def softmax(values: Values) -> Values:
    """Weights over the keys: the last dimension sums to 1."""
    return settle(values, torch.softmax(values.scores, dim=-1))


def renormalizing(values: Values) -> Values:
    """Zero above the diagonal of weights, then divide each row by its sum (section 3.5.1)."""
    return replace(values, weights=renormalized(values.weights))


def dropout(values: Values) -> Values:
    """Nothing: outputs are compared in eval mode; training is judged by its own checks."""
    return values


def context(values: Values) -> Values:
    """Values weighted by the attention weights: `(..., T, d_v)`, or `(d,)` for one query."""
    if values.gather is not None:
        return replace(values, context=values.gather(values.weights, values.value))
    return replace(values, context=values.weights @ values.value)


def merge(values: Values) -> Values:
    """Heads side by side again: `(b, H, T, d_k)` to `(b, T, H * d_k)`."""
    context = values.context
    if values.heads_in_front:
        context = context.transpose(-3, -2)
    return replace(values, context=context.flatten(-2))


def output(values: Values) -> Values:
    """The output projection mixes what the heads found (section 3.6.2)."""
    return replace(values, output=project(values.given, "output", values.context))


def stacking(values: Values) -> Values:
    """The heads' outputs side by side: `(b, T, H * d_out)` (section 3.6.1)."""
    return replace(values, output=torch.cat(values.given.parts, dim=-1))


def causal_mask(values: Values) -> Values:
    """The mask itself, for the name that returns it."""
    return replace(values, output=future(values.given.count))
