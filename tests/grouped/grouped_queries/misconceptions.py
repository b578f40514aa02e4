"""The chain, and the mistake that only groups make possible."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace
from torch import Tensor

from autograder.attention import chain
from autograder.attention.chain import Values, into_heads
from autograder.attention.misconceptions import multi_head
from autograder.diagnosis.catalogue import Misconception, NullProgram

NAME = "GroupedQueryAttention"


def grouped(spread: Callable[[Tensor, int], Tensor]) -> Callable[[Values], Values]:
    """Give every head the keys and values of its group."""

    def split(values: Values) -> Values:
        heads = values.given.heads
        size = values.query.shape[-1] // heads
        key, value = (
            into_heads(each, each.shape[-1] // size) for each in (values.key, values.value)
        )
        share = heads // key.shape[-3]
        return replace(
            values,
            query=into_heads(values.query, heads),
            key=spread(key, share),
            value=spread(value, share),
        )

    return split


def neighbouring(groups: Tensor, share: int) -> Tensor:
    """Neighbouring heads are of one group."""
    return groups.repeat_interleave(share, dim=-3)


def in_turn(groups: Tensor, share: int) -> Tensor:
    """All groups once, then all again."""
    return groups.repeat(*[1] * (groups.dim() - 3), share, 1, 1)


CHAINS = {
    NAME: chain.attending(
        [
            (name, grouped(neighbouring) if name == "split" else step)
            for name, step in multi_head.CHAINS["MultiHeadAttention"].steps
        ],
        chain.from_nothing,
        lambda values: values.output,
        {"masking": chain.MASKING_REALIZATIONS},
    )
}

MISCONCEPTIONS = (
    Misconception(id="groups-in-turn", criterion="split", step="split", replace=grouped(in_turn)),
)
NULLS: tuple[NullProgram, ...] = ()
