"""Projections split into heads otherwise, and what only heads can get wrong (section 3.6.2)."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace
from torch import Tensor

from autograder.attention import chain
from autograder.attention.chain import Values
from autograder.diagnosis.catalogue import Misconception
from autograder.diagnosis.chain import Step, StepRaises

_SPLIT = ("MultiHeadAttention",)


def cut(into: Callable[[Tensor, int], Tensor]) -> Step:
    """Queries, keys and values cut into heads in another way."""

    def step(values: Values) -> Values:
        heads = values.given.heads
        return replace(
            values,
            query=into(values.query, heads),
            key=into(values.key, heads),
            value=into(values.value, heads),
        )

    return step


def viewed_without_transpose(joined_heads: Tensor, heads: int) -> Tensor:
    """`view(b, H, T, d_k)`: tokens and features run into each other."""
    batch, count, width = joined_heads.shape
    return joined_heads.reshape(batch, heads, count, width // heads)


def interleaved(joined_heads: Tensor, heads: int) -> Tensor:
    """`view(b, T, d_k, H)`: head h takes every H-th column."""
    columns: Tensor = joined_heads.unflatten(-1, (-1, heads))
    return columns.permute(0, 3, 1, 2)


def batch_in_heads(joined_heads: Tensor, heads: int) -> Tensor:
    """`view(H, b, T, d_k)` laid over the batch: texts and heads run into each other."""
    batch, count, width = joined_heads.shape
    return joined_heads.reshape(heads, batch, count, width // heads).transpose(0, 1)


def heads_attend_to_heads(values: Values) -> Values:
    """`(b, T, H, d_k)` used as it is, without a mask that fits.

    The rest of the chain sees each token's heads in the place of the tokens.
    """
    heads = values.given.heads
    cut_only = tuple(
        part.unflatten(-1, (heads, -1)) for part in (values.query, values.key, values.value)
    )
    return replace(
        values, query=cut_only[0], key=cut_only[1], value=cut_only[2], heads_in_front=False
    )


def never_fits(values: Values) -> Values:
    """Shapes that do not go together."""
    raise StepRaises


def fits_where_square(values: Values) -> Values:
    """Runs only where d_in equals d_out."""
    query = values.given.weights["query"]
    if query.shape[0] != query.shape[1]:
        raise StepRaises
    return chain.split(values)


SPLIT = (
    Misconception(
        id="heads-split-without-transpose",
        criterion="split",
        step="split",
        replace=cut(viewed_without_transpose),
        names=_SPLIT,
    ),
    Misconception(
        id="heads-interleaved",
        criterion="split",
        step="split",
        replace=cut(interleaved),
        names=_SPLIT,
    ),
    Misconception(
        id="heads-attend-to-heads",
        criterion="split",
        step="split",
        replace=heads_attend_to_heads,
        codings=(never_fits,),
        names=_SPLIT,
        raises=(
            r"RuntimeError: The size of tensor a \(\d+\) must match the size of tensor b \(\d+\) "
            r"at non-singleton dimension [23]",
        ),
    ),
    Misconception(
        id="batch-mixed-into-heads",
        criterion="split",
        step="split",
        replace=cut(batch_in_heads),
        names=_SPLIT,
    ),
    Misconception(
        id="loop-over-heads",
        criterion="split",
        aspect="no loop over heads",
        names=_SPLIT,
    ),
    Misconception(
        id="divisibility-unchecked",
        criterion="split",
        aspect="divisibility",
        names=_SPLIT,
    ),
    Misconception(
        id="reshaped-with-d-in",
        criterion="split",
        step="split",
        replace=fits_where_square,
        raises=(r"RuntimeError: shape '.*' is invalid for input of size \d+",),
        names=_SPLIT,
    ),
    Misconception(
        id="keys-transposed-wrongly",
        criterion="scores",
        step="scores",
        replace=never_fits,
        raises=(
            r"RuntimeError: Expected size for first two dimensions of batch2 tensor",
            r"RuntimeError: The size of tensor a \(\d+\) must match the size of tensor b \(\d+\) "
            r"at non-singleton dimension [01]",
        ),
        names=_SPLIT,
    ),
)
