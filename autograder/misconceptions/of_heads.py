"""Projections split into heads otherwise, and what only heads can get wrong (section 3.6.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from torch import Tensor

from autograder import chain
from autograder.catalogue import Misconception
from autograder.chain import Step, StepRaises, Values

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
        title="heads split without transposing",
        message=(
            "The projections are viewed as (b, H, T, d_k) at once, so a head gets a jumble of "
            "tokens and features, and later tokens leak into earlier ones. View as (b, T, H, d_k) "
            "first, then exchange T and H."
        ),
        names=_SPLIT,
    ),
    Misconception(
        id="heads-interleaved",
        criterion="split",
        step="split",
        replace=cut(interleaved),
        title="heads interleaved",
        message=(
            "Head h takes every H-th column: the last two sizes of the view are the wrong way "
            "round, (d_k, H). A head owns neighbouring columns: view as (H, d_k)."
        ),
        names=_SPLIT,
    ),
    Misconception(
        id="heads-attend-to-heads",
        criterion="split",
        step="split",
        replace=heads_attend_to_heads,
        codings=(never_fits,),
        title="heads attend to heads",
        message=(
            "After the view, T and H were not exchanged: the product then compares the heads of "
            "one token with each other, not tokens. Bring the heads in front: (b, H, T, d_k)."
        ),
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
        title="batch mixed into the heads",
        message=(
            "The batch and the heads run into each other: the view begins with H instead of b. "
            "Keep the batch in front, (b, T, H, d_k), then exchange T and H."
        ),
        names=_SPLIT,
    ),
    Misconception(
        id="loop-over-heads",
        criterion="split",
        aspect="no loop over heads",
        title="a loop over the heads",
        message=(
            "The number of matrix products grows with the number of heads: the heads are computed "
            "one after another. Split the projections instead and let one product do all heads."
        ),
        names=_SPLIT,
    ),
    Misconception(
        id="divisibility-unchecked",
        criterion="split",
        aspect="divisibility",
        title="divisibility not checked",
        message=(
            "A `d_out` that is no multiple of `num_heads` is accepted. Refuse it when the module "
            "is built, with a ValueError or an assert: the heads could not be cut evenly."
        ),
        names=_SPLIT,
    ),
    Misconception(
        id="reshaped-with-d-in",
        criterion="split",
        step="split",
        replace=fits_where_square,
        title="reshaped with the input width",
        message=(
            "The heads are cut with d_in where the projections have d_out columns, so the numbers "
            "do not add up. Read the size from the projection."
        ),
        raises=(r"RuntimeError: shape '.*' is invalid for input of size \d+",),
        names=_SPLIT,
    ),
    Misconception(
        id="keys-transposed-wrongly",
        criterion="scores",
        step="scores",
        replace=never_fits,
        title="the wrong dimensions of the keys exchanged",
        message=(
            "The keys' dimensions do not line up for the product. In (b, H, T, d_k) exchange the "
            "last two, `transpose(2, 3)`: batch and heads stay in front."
        ),
        raises=(
            r"RuntimeError: Expected size for first two dimensions of batch2 tensor",
            r"RuntimeError: The size of tensor a \(\d+\) must match the size of tensor b \(\d+\) "
            r"at non-singleton dimension [01]",
        ),
        names=_SPLIT,
    ),
)
