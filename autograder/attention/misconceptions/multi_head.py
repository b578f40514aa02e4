"""Stage 4: multi-head attention, stacked and split (chapter 3, section 3.6)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from autograder.attention import chain
from autograder.attention.chain import Given
from autograder.attention.misconceptions import (
    causal,
    of_heads,
    of_merging,
    of_scaling,
    of_stacking,
    trainable,
)
from autograder.diagnosis.catalogue import Misconception, NullProgram

CHAINS = {
    "MultiHeadAttentionWrapper": chain.attending(
        (("stacking", chain.stacking),), chain.from_nothing, lambda values: values.output
    ),
    "MultiHeadAttention": chain.attending(
        (
            ("projections", chain.projections),
            ("split", chain.split),
            ("scores", chain.scores),
            ("scaling", chain.scaling),
            ("masking", chain.masking),
            ("softmax", chain.softmax),
            ("dropout", chain.dropout),
            ("context", chain.context),
            ("merge", chain.merge),
            ("output", chain.output),
        ),
        chain.from_nothing,
        lambda values: values.output,
        {"masking": chain.MASKING_REALIZATIONS},
    ),
}

LIBRARY = (
    Misconception(
        id="library-attention",
        criterion="scores",
        names=("MultiHeadAttention",),
    ),
)

EXERCISES = (
    Misconception(
        id="merge-transposed",
        criterion="equivalence",
        raises=(
            r"RuntimeError: The size of tensor a .* must match the size of tensor b",
            r"RuntimeError: Error\(s\) in loading state_dict",
            r"RuntimeError: (shape mismatch|The expanded size)",
        ),
        names=("merge_heads",),
    ),
    Misconception(
        id="merge-identity-missing",
        criterion="equivalence",
        names=("merge_heads",),
    ),
    Misconception(
        id="gpt2-sizes",
        criterion="gpt2",
        names=("gpt2_attention",),
    ),
)

MISCONCEPTIONS = (
    *causal.SHARED,
    *of_stacking.STACKING,
    *of_heads.SPLIT,
    *of_scaling.BY_HEADS,
    *of_merging.MERGE,
    *of_merging.OUTPUT,
    *LIBRARY,
    *EXERCISES,
)


# Null programs ------------------------------------------------------------------------------


def projected(output: Callable[[Given], Tensor]) -> Callable[[Given], Tensor]:
    """The same through the output projection."""
    return lambda given: chain.project(given, "output", output(given))


def wrapper_zeros(given: Given) -> Tensor:
    """Zeros of the wrapper's shape."""
    return torch.zeros_like(torch.cat(given.parts, dim=-1))


def wrapper_ones(given: Given) -> Tensor:
    """Ones of the wrapper's shape."""
    return torch.ones_like(torch.cat(given.parts, dim=-1))


_PLAIN: tuple[tuple[str, str, Callable[[Given], Tensor]], ...] = (
    ("values-alone", trainable.VALUES, trainable.value_of),
    ("queries-alone", trainable.VALUES, lambda given: chain.project(given, "query")),
    ("keys-alone", trainable.VALUES, lambda given: chain.project(given, "key")),
    ("uniform-weights", trainable.UNIFORM, trainable.mean_of_values),
    ("uniform-over-the-past", trainable.UNIFORM, causal.prefix_means),
    ("first-value", trainable.UNIFORM, causal.first_values),
)


def _tokens(given: Given) -> Tensor:
    assert given.tokens is not None
    return given.tokens


def _repeated_tokens(given: Given) -> Tensor:
    return torch.cat([_tokens(given)] * len(given.parts), dim=-1)


NULLS = (
    NullProgram(
        "zeros",
        trainable.ZEROS,
        {"MultiHeadAttention": trainable.zeros, "MultiHeadAttentionWrapper": wrapper_zeros},
    ),
    NullProgram(
        "ones",
        trainable.ONES,
        {"MultiHeadAttention": trainable.ones, "MultiHeadAttentionWrapper": wrapper_ones},
    ),
    NullProgram(
        "inputs-returned",
        trainable.INPUTS,
        {"MultiHeadAttention": _tokens, "MultiHeadAttentionWrapper": _tokens},
    ),
    NullProgram(
        "inputs-repeated", trainable.INPUTS, {"MultiHeadAttentionWrapper": _repeated_tokens}
    ),
    *(
        NullProgram(name, message, {"MultiHeadAttention": output})
        for name, message, output in _PLAIN
    ),
    *(
        NullProgram(f"{name}-projected", message, {"MultiHeadAttention": projected(output)})
        for name, message, output in _PLAIN
    ),
)
