"""Heads merged otherwise, and the output projection after them (section 3.6.2)."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace
from torch import Tensor

from autograder.attention.misconceptions.of_heads import never_fits
from autograder.diagnosis import chain
from autograder.diagnosis.catalogue import Misconception
from autograder.diagnosis.chain import Step, StepRaises, Values

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
        found=(
            "The heads are merged without changing places back, so a token's row holds parts of "
            "other tokens."
        ),
        expected=(
            "Head and token should change places first; then heads and columns become one "
            "dimension."
        ),
        look="Look at the shape just before the heads are joined.",
        names=_SPLIT,
    ),
    Misconception(
        id="merged-dk-slow",
        criterion="merge",
        step="merge",
        replace=merged(dk_slow),
        title="heads merged with features outside",
        found="The columns of the heads take turns after merging: (d_k, H) became one dimension.",
        expected="(H, d_k) should become one, so that the first d_k columns are the first head's.",
        look="Look at the order of dimensions just before the heads are joined.",
        names=_SPLIT,
    ),
    Misconception(
        id="merged-across-batch",
        criterion="merge",
        step="merge",
        replace=merged(batch_mixed),
        title="heads merged across the batch",
        found="Merging mixes the sequences of the batch: it has changed places with the tokens.",
        expected="Only head and token should change places, and the batch stay in front.",
        look="Look at the order of dimensions just before the heads are joined.",
        names=_SPLIT,
    ),
    Misconception(
        id="heads-averaged-in-merge",
        criterion="merge",
        step="merge",
        replace=heads_averaged,
        title="heads averaged",
        found="The heads are averaged when they are merged.",
        expected="They should be put side by side: (b, T, H * d_k).",
        look="Look at what takes the dimension of the heads away.",
        names=_SPLIT,
    ),
    Misconception(
        id="view-without-contiguous",
        criterion="merge",
        step="merge",
        replace=never_fits,
        title="view after transpose, without contiguous",
        found=(
            "Merging fails: after an exchange of dimensions the tensor is not laid out in reading"
            " order, and a view cannot be made."
        ),
        expected="The heads should be joined from a tensor that is.",
        look="Look at the error message: it names what to call first, or which function to use.",
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
        found="The heads come back as they were joined: `out_proj` is not used.",
        expected="It should be applied once, at the end: it mixes the heads.",
        look="Look at what `forward` returns.",
        names=_SPLIT,
    ),
    Misconception(
        id="output-without-bias",
        criterion="output",
        step="output",
        replace=output_without_bias,
        title="output projection without bias",
        found="`out_proj` has no bias, or adds none.",
        expected="It should be a linear layer with bias, whatever `qkv_bias` says.",
        look="Look at how the constructor makes `out_proj`.",
        names=_SPLIT,
    ),
    Misconception(
        id="output-applied-twice",
        criterion="output",
        step="output",
        replace=output_twice,
        title="output projection applied twice",
        found="`out_proj` is applied to its own result.",
        expected="It should be applied once, at the end.",
        look="Look for both places where it is called.",
        names=_SPLIT,
    ),
    Misconception(
        id="output-weight-not-transposed",
        criterion="output",
        step="output",
        replace=output_transposed,
        title="output weight used without transposing",
        found=(
            "`out_proj` uses its weight the wrong way round, which fails silently since both "
            "sizes are equal."
        ),
        expected=(
            "A linear layer's weight should be turned over, which the layer does when it is called."
        ),
        look="Look at whether you call the layer or take its weight.",
        names=_SPLIT,
    ),
)
