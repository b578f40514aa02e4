"""Heads merged otherwise, and the output projection after them (section 3.6.2)."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace
from torch import Tensor

from autograder.attention import chain
from autograder.attention.chain import Values
from autograder.attention.misconceptions.of_heads import never_fits
from autograder.diagnosis.catalogue import Misconception
from autograder.diagnosis.chain import Step, StepRaises

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
        names=_SPLIT,
    ),
    Misconception(
        id="merged-dk-slow",
        criterion="merge",
        step="merge",
        replace=merged(dk_slow),
        names=_SPLIT,
    ),
    Misconception(
        id="merged-across-batch",
        criterion="merge",
        step="merge",
        replace=merged(batch_mixed),
        names=_SPLIT,
    ),
    Misconception(
        id="heads-averaged-in-merge",
        criterion="merge",
        step="merge",
        replace=heads_averaged,
        names=_SPLIT,
    ),
    Misconception(
        id="view-without-contiguous",
        criterion="merge",
        step="merge",
        replace=never_fits,
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
        names=_SPLIT,
    ),
    Misconception(
        id="output-without-bias",
        criterion="output",
        step="output",
        replace=output_without_bias,
        names=_SPLIT,
    ),
    Misconception(
        id="output-applied-twice",
        criterion="output",
        step="output",
        replace=output_twice,
        names=_SPLIT,
    ),
    Misconception(
        id="output-weight-not-transposed",
        criterion="output",
        step="output",
        replace=output_transposed,
        names=_SPLIT,
    ),
)
