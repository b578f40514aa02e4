"""Attention as a chain of replaceable steps: what goes in, what is known between, every step.

Shapes: `b` batch, `T` tokens, `H` heads, `d_k` size of one head's keys.

Values are made anew at every step of every chain that is tried, so they are structs: those are
copied with a change in a tenth of the time that a data class takes.

Source: Vaswani et al. 2017, section 3.2; chapter 3 of the book the course follows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from msgspec.structs import replace
from torch import Tensor

from autograder.diagnosis import chain as generic
from autograder.diagnosis.chain import Abreast, Chain, Step
from autograder.diagnosis.dimensions import told_shape


class Given(generic.Given, frozen=True):
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

    @property
    def comes_once(self) -> bool:
        """Whether it holds outputs of a student's own heads."""
        return bool(self.parts)

    def size_names(self) -> dict[int, str]:
        """What the sizes of a call are, by number; a number that stands for two things names both.

        The hidden checks' sizes all differ, so that a number in a message such as "The size of
        tensor a (6) must match the size of tensor b (3)" says which dimension it is.
        """
        sizes: list[tuple[int, str]] = []
        width = 0
        if self.tokens is not None:
            *batch, tokens, width = self.tokens.shape
            sizes += [(size, "batch") for size in batch]
            sizes.append((tokens, "tokens"))
        if self.weights:
            d_in, d_out = self.weights["value"].shape
            sizes += [(d_in, "d_in")]
            if self.heads > 1:
                sizes += [(self.heads, "heads"), (d_out // self.heads, "d_k")]
            sizes += [(d_out, "d_out")]
        elif width:
            sizes.append((width, "d"))
        if self.context_length:
            sizes.append((self.context_length, "context_length"))
        if self.count:
            sizes.append((self.count, "tokens"))
        if self.scores is not None and self.scores.dim() == 2:
            sizes.append((self.scores.shape[-1], "tokens"))
        known: dict[int, list[str]] = {}
        for size, name in sizes:
            if size > 1 and name not in known.setdefault(size, []):
                known[size].append(name)
        names = {size: " or ".join(held) for size, held in known.items()}
        if self.tokens is not None and self.tokens.dim() == 3:
            batch_size, count = self.tokens.shape[:2]
            names.setdefault(batch_size * count, "batch * tokens")
        return names

    def in_words(self) -> str:
        """The shapes of a call's arguments, with their names."""
        parts = []
        if self.query is not None:
            parts.append(f"a query {told_shape(self.query.shape)}")
        if self.tokens is not None:
            width = "d_in" if self.weights else "d"
            letters = f"(b, T, {width})" if self.tokens.dim() == 3 else f"(T, {width})"
            parts.append(f"tokens {letters} = {told_shape(self.tokens.shape)}")
        if self.scores is not None:
            parts.append(f"scores {told_shape(self.scores.shape)}")
        if self.count:
            parts.append(f"num_tokens = {self.count}")
        if self.weights:
            sizes = f"d_out = {self.weights['value'].shape[1]}"
            if self.heads > 1:
                sizes += f", num_heads = {self.heads}"
            if self.context_length:
                sizes += f", context_length = {self.context_length}"
            parts.append(sizes)
        return ", ".join(parts)

    def inputs(self) -> Iterator[tuple[str, Tensor]]:
        """Everything that went in, by what a teacher calls it."""
        for name in ("query", "tokens", "scores"):
            tensor = getattr(self, name)
            if tensor is not None:
                yield name, tensor
        if self.count:
            yield "num_tokens", torch.tensor(self.count)
        for role, weight in self.weights.items():
            yield f"weights of the {role.replace('_', ' ')}", weight
        for number, part in enumerate(self.parts):
            yield f"output of head {number + 1}", part


class Values(generic.Values, frozen=True):
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

    @property
    def is_plain(self) -> bool:
        """Whether nothing is left for later, and weights meet values as they usually do."""
        return not self.after_softmax and self.gather is None


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


# Chains -------------------------------------------------------------------------------------

#: Right steps that many chains can take as one, and what each of them reads.
ABREAST: Mapping[Step, Abreast] = {
    scores: Abreast(("query", "key")),
    scaling: Abreast(("query", "scores")),
    masking: Abreast(("scores",)),
    **dict.fromkeys(MASKING_REALIZATIONS, Abreast(("scores",))),
    softmax: Abreast(("scores",)),
    dropout: Abreast(("weights",)),
    context: Abreast(("weights", "value")),
    merge: Abreast(("context",), 3),
    output: Abreast(("context",)),
}

#: Steps whose result, where it is not a number, can only give outputs that are none either.
CARRIED: Mapping[str, str] = {
    "softmax": "weights",
    "context": "context",
    "merge": "context",
    "output": "output",
}


def attending(
    steps: Sequence[tuple[str, Step]],
    begin: Callable[[Given], Values],
    result: Callable[[Values], Tensor],
    realizations: Mapping[str, tuple[Step, ...]] | None = None,
) -> Chain:
    """A chain of attention's steps, with what a search may presume of them."""
    return Chain(
        tuple(steps),
        begin,
        result,
        realizations or {},
        ABREAST,
        CARRIED,
        frozenset({"masking"}),
    )
