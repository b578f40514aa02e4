"""Heads merged otherwise, and the output projection after them (section 3.6.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from torch import Tensor

from autograder import chain
from autograder.catalogue import Misconception
from autograder.chain import Step, StepRaises, Values
from autograder.misconceptions.of_heads import never_fits

_SPLIT = ("MultiHeadAttention",)


def merged(flatten: Callable[[Tensor], Tensor]) -> Step:
    """The heads put side by side in another way: from `(b, H, T, d_k)`."""

    def step(values: Values) -> Values:
        context = flatten(values.context)
        if context.shape[-1] != values.given.weights["output"].shape[0]:
            raise StepRaises
        return replace(values, context=context)

    return step


def without_transpose(context: Tensor) -> Tensor:
    """`reshape(b, T, d_out)` straight from `(b, H, T, d_k)`."""
    batch, heads, count, size = context.shape
    return context.reshape(batch, count, heads * size)


def dk_slow(context: Tensor) -> Tensor:
    """Features outside, heads inside."""
    return context.permute(0, 2, 3, 1).flatten(-2)


def batch_mixed(context: Tensor) -> Tensor:
    """`permute(2, 0, 1, 3)`: the tokens in front, then flattened into the batch."""
    batch, heads, count, size = context.shape
    return context.permute(2, 0, 1, 3).reshape(batch, count, heads * size)


def heads_averaged(values: Values) -> Values:
    """The heads' mean, repeated to fill the width."""
    mean = values.context.mean(dim=1, keepdim=True).expand_as(values.context)
    return chain.merge(replace(values, context=mean))


def output_without_bias(values: Values) -> Values:
    """`out_proj` without what its bias adds."""
    return replace(values, output=values.context @ values.given.weights["output"])


def no_output_projection(values: Values) -> Values:
    """The joined heads come back as they are."""
    return replace(values, output=values.context)


def output_twice(values: Values) -> Values:
    """`out_proj` applied to its own result."""
    once = chain.output(values).output
    return replace(values, output=chain.project(values.given, "output", once))


def output_transposed(values: Values) -> Values:
    """`context @ out_proj.weight`."""
    given = values.given
    turned = values.context @ given.weights["output"].T
    bias = given.weights.get("output_bias")
    return replace(values, output=turned if bias is None else turned + bias)


MERGE = (
    Misconception(
        id="merged-without-transpose",
        criterion="merge",
        step="merge",
        replace=merged(without_transpose),
        title="heads merged without transposing back",
        message=(
            "The heads are flattened straight from (b, H, T, d_k), so a token's row holds parts of "
            "other tokens. Exchange H and T first, then flatten the last two."
        ),
        names=_SPLIT,
    ),
    Misconception(
        id="merged-dk-slow",
        criterion="merge",
        step="merge",
        replace=merged(dk_slow),
        title="heads merged with features outside",
        message=(
            "The joined columns alternate between the heads. All columns of the first head come "
            "first: flatten (H, d_k), not (d_k, H)."
        ),
        names=_SPLIT,
    ),
    Misconception(
        id="merged-across-batch",
        criterion="merge",
        step="merge",
        replace=merged(batch_mixed),
        title="heads merged across the batch",
        message=(
            "Merging moves rows from one text to another: tokens and batch have changed places "
            "before the reshape. Exchange H and T only, the batch stays in front."
        ),
        names=_SPLIT,
    ),
    Misconception(
        id="heads-averaged-in-merge",
        criterion="merge",
        step="merge",
        replace=heads_averaged,
        title="heads averaged",
        message=(
            "The heads are averaged instead of put side by side. Bring H next to d_k and flatten "
            "both: (b, T, H * d_k)."
        ),
        names=_SPLIT,
    ),
    Misconception(
        id="view-without-contiguous",
        criterion="merge",
        step="merge",
        replace=never_fits,
        title="view after transpose, without contiguous",
        message=(
            "`view` cannot join dimensions of a transposed tensor, whose numbers lie in another "
            "order in memory. Call `.contiguous()` before `view`, or use `reshape` or `flatten`."
        ),
        raises=(r"RuntimeError: view size is not compatible with input tensor's size and stride",),
        names=_SPLIT,
    ),
)

OUTPUT = (
    Misconception(
        id="no-output-projection",
        criterion="output",
        step="output",
        replace=no_output_projection,
        title="output projection not applied",
        message=(
            "The joined heads come back as they are: `out_proj` is missing or never called. It "
            "mixes what the heads found; call it last."
        ),
        names=_SPLIT,
    ),
    Misconception(
        id="output-without-bias",
        criterion="output",
        step="output",
        replace=output_without_bias,
        title="output projection without bias",
        message=(
            "`out_proj` has no bias (perhaps tied to `qkv_bias`). Here it is a linear layer with "
            "bias, whatever `qkv_bias` says."
        ),
        names=_SPLIT,
    ),
    Misconception(
        id="output-applied-twice",
        criterion="output",
        step="output",
        replace=output_twice,
        title="output projection applied twice",
        message="`out_proj` is applied to its own result. Call it once, on the joined heads.",
        names=_SPLIT,
    ),
    Misconception(
        id="output-weight-not-transposed",
        criterion="output",
        step="output",
        replace=output_transposed,
        title="output weight used without transposing",
        message=(
            "The joined heads are multiplied by `out_proj.weight` as it stands; a linear layer "
            "uses its transpose. Call the layer itself."
        ),
        names=_SPLIT,
    ),
)
