"""What modules of attention are built with and called with: sizes, tokens, strong weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

import msgspec
import torch
from torch import Tensor

from autograder.checks import sample as generic

#: How far the scaled scores of one row may lie apart, so that renormalising stays exact.
WIDEST_SPREAD = 16.0


class Sizes(msgspec.Struct, frozen=True):
    """The sizes of a module and of what it is called with; 0 where there is none.

    A module with other sizes than these is a class of its own, with what it adds or derives. They
    are keys of all that is kept; a struct is hashed many times faster than a data class.
    """

    d_in: int
    d_out: int
    tokens: int
    batch: int = 0
    context_length: int = 0
    heads: int = 0
    bias: bool = False

    @property
    def head_size(self) -> int:
        """d_k: the width of one head's keys."""
        return self.d_out // max(self.heads, 1)

    @property
    def key_heads(self) -> int:
        """How many heads have keys and values of their own."""
        return max(self.heads, 1)

    @property
    def key_width(self) -> int:
        """The columns of the key's and the value's weights."""
        return self.key_heads * self.head_size

    def width(self, role: str) -> int:
        """The columns of a role's weight."""
        return self.key_width if role in ("key", "value") else self.d_out

    def arguments(self, dropout: float) -> dict[str, object]:
        """What a constructor may be given, by the parameter's name."""
        return {
            "d_in": self.d_in,
            "d_out": self.d_out,
            "context_length": self.context_length,
            "dropout": dropout,
            "num_heads": self.heads,
            "qkv_bias": self.bias,
        }


# What is made of the same numbers for every submission is made once: it is known by the tensor
# itself, which nobody changes.


@lru_cache(maxsize=64)
def all_alike(tensor: Tensor) -> Tensor:
    """The first item of a tensor in the place of every item."""
    return tensor[:1].expand_as(tensor).contiguous()


@lru_cache(maxsize=64)
def doubled(tensor: Tensor) -> Tensor:
    """The same numbers in float64."""
    return tensor.double()


@lru_cache(maxsize=16)
def one_hot(tokens: int, batch: int = 0) -> Tensor:
    """Tokens of which each has a column of its own: `(T, T)`, or `(b, T, T)`."""
    alone = torch.eye(tokens)
    return alone.expand(batch, -1, -1).contiguous() if batch else alone


class Sample(generic.Sample):
    """Tokens and weights by label and sizes."""

    def __init__(self, secret: bytes) -> None:
        super().__init__(secret)
        self._weights: dict[tuple[str, Sizes], dict[str, Tensor]] = {}
        self._large: dict[Sizes, tuple[dict[str, Tensor], Tensor]] = {}

    def tokens(self, label: str, sizes: Sizes) -> Tensor:
        """`(b, T, d_in)`, or `(T, d_in)` without a batch; no two items alike."""
        shape = (sizes.tokens, sizes.d_in)
        return self.numbers(label, *((sizes.batch, *shape) if sizes.batch else shape), reach=2.0)

    def change_after(self, tokens: Tensor, position: int) -> Tensor:
        """The same tokens up to `position`, other ones after it."""
        changed = tokens.clone()
        later = changed[..., position + 1 :, :]
        later.copy_(self.numbers("changed", *later.shape, reach=2.0))
        return changed

    def weights(self, label: str, sizes: Sizes) -> dict[str, Tensor]:
        """Strong weights by role, `(d_in, width)` each, biases where `sizes` asks for them.

        Query and key are as strong as a spread of `WIDEST_SPREAD` in the scaled scores of a row
        allows, so that every slip shows and a renormalising form, which is right, stays exact.
        """
        key = (label, sizes)
        if key not in self._weights:
            self._weights[key] = self._drawn(label, sizes)
        return dict(self._weights[key])

    def large(self, sizes: Sizes) -> tuple[dict[str, Tensor], Tensor]:
        """Weights and tokens of scores of up to 80 in size, of little spread in a row."""
        if sizes not in self._large:
            tokens = self.tokens("level", sizes) * 0.125
            tokens[..., 0] = 2.0
            weights = self.weights("strong", sizes)
            for role in ("query", "key"):
                weights[role] = weights[role].clone()
                weights[role][0] = 4.0
            self._large[sizes] = weights, tokens
        weights, tokens = self._large[sizes]
        return dict(weights), tokens

    def _drawn(self, label: str, sizes: Sizes) -> dict[str, Tensor]:
        reach = 2.0
        weights = {
            role: self.numbers(f"{label}:{role}", sizes.d_in, sizes.width(role), reach=reach)
            for role in ("query", "key", "value")
        }
        if sizes.bias:
            for role in ("query", "key", "value"):
                weights[f"{role}_bias"] = self.numbers(f"{label}:{role}_bias", sizes.width(role))
        tokens = self.tokens(label, sizes)
        factor = 1.0
        while _spread(tokens, weights, sizes, factor) > WIDEST_SPREAD:
            factor -= 1 / 64
        for role in ("query", "query_bias"):
            if role in weights:
                weights[role] = weights[role] * factor
        if sizes.heads:
            weights["output"] = self.numbers(f"{label}:output", sizes.d_out, sizes.d_out)
            weights["output_bias"] = self.numbers(f"{label}:output_bias", sizes.d_out, reach=2.0)
        return weights


def _spread(tokens: Tensor, weights: Mapping[str, Tensor], sizes: Sizes, factor: float) -> float:
    """The widest spread of scaled scores in a row of any head."""
    made = {}
    for role in ("query", "key"):
        projected = tokens.double() @ weights[role].double()
        bias = weights.get(f"{role}_bias")
        made[role] = projected if bias is None else projected + bias.double()
    query, key = (
        made[role].unflatten(-1, (-1, sizes.head_size)).transpose(-3, -2)
        for role in ("query", "key")
    )
    key = key.repeat_interleave(query.shape[-3] // key.shape[-3], dim=-3)
    scores = factor * (query @ key.transpose(-2, -1)) / math.sqrt(sizes.head_size)
    return float((scores.amax(-1) - scores.amin(-1)).max())
