"""Stage 2: scaled dot-product attention with trainable weights (chapter 3, section 3.4)."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from autograder.attention import chain
from autograder.attention.chain import Given
from autograder.attention.misconceptions import (
    of_projections,
    of_scaling,
    of_scores,
    of_softmax,
    of_state,
)
from autograder.diagnosis.catalogue import Misconception, NullProgram

_STEPS = (
    ("projections", chain.projections),
    ("scores", chain.scores),
    ("scaling", chain.scaling),
    ("softmax", chain.softmax),
    ("context", chain.context),
)
_SELF_ATTENTION = chain.attending(_STEPS, chain.from_nothing, lambda values: values.context)

#: What is said where nothing depends on scores.
ATTENDS = "The result does not depend on the scores between tokens: this is no attention."

CHAINS = {"SelfAttention_v1": _SELF_ATTENTION, "SelfAttention_v2": _SELF_ATTENTION}


_CLASSES = ("SelfAttention_v1", "SelfAttention_v2", "CausalAttention", "MultiHeadAttention")

#: Where weights are renormalised, what a row was divided by does not matter.
_SOFTMAX_NAMES = dict.fromkeys(
    ("softmax-exp-only", "softmax-flattened"), (*_CLASSES, "masked_weights")
)


#: With a batch in front (and heads), sums that have lost their dimension do not fit.
_SUMS_OF_A_BATCH = (
    r"RuntimeError: The size of tensor a \(tokens\b[^)]*\) must match the size of tensor b "
    r"\((batch\b[^)]*\) at non-singleton dimension 1|heads\b[^)]*\) at non-singleton dimension 2)",
)


def softmax_again(*identifiers: str) -> tuple[Misconception, ...]:
    """Softmax mistakes of stage 1 that can be made again in any later stage."""
    again = {entry.id: entry for entry in of_softmax.PLAIN}
    return tuple(
        replace(
            again[identifier],
            names=_SOFTMAX_NAMES.get(identifier, ()),
            # Over the first dimension is another mistake once that is the batch.
            codings=() if identifier == "softmax-over-queries" else again[identifier].codings,
            raises=(),
            raises_named=_SUMS_OF_A_BATCH if identifier == "softmax-without-keepdim" else (),
        )
        for identifier in identifiers
    )


SOFTMAX = softmax_again(
    "softmax-over-queries",
    "softmax-without-keepdim",
    "softmax-no-exp",
    "softmax-exp-only",
    "no-softmax",
    "softmax-flattened",
    "softmax-log",
    "softmax-negated",
    "sigmoid-for-softmax",
)

#: What can go wrong in every attention module, in later stages as well.
SHARED = (
    *of_projections.PROJECTIONS,
    *of_scores.SCORES,
    *of_scaling.SCALING,
    *SOFTMAX,
    *of_scores.CONTEXT,
    *of_state.STATE,
    Misconception(
        id="sizes-hard-coded",
        criterion="form",
        names=_CLASSES,
    ),
)
MISCONCEPTIONS = (*SHARED, *of_state.COPYING)


# Null programs ------------------------------------------------------------------------------


def value_of(given: Given) -> Tensor:
    """The values alone, without attention: `(..., T, d_out)`."""
    return chain.project(given, "value")


def own_width(given: Given) -> int:
    """`d_out`, read from the value weights."""
    return given.weights["value"].shape[1]


def tokens_of(given: Given) -> Tensor:
    """The tokens as they were given."""
    assert given.tokens is not None
    return given.tokens


def zeros(given: Given) -> Tensor:
    """Zeros of the output's shape."""
    return torch.zeros(*tokens_of(given).shape[:-1], own_width(given))


def ones(given: Given) -> Tensor:
    """Ones of the output's shape."""
    return torch.ones(*tokens_of(given).shape[:-1], own_width(given))


def mean_of_values(given: Given) -> Tensor:
    """Every token gets the mean of all values."""
    values = value_of(given)
    return values.mean(dim=-2, keepdim=True).expand_as(values)


ZEROS = "The result is zero everywhere: nothing is computed yet."
ONES = "The result is one everywhere: nothing is computed yet."
INPUTS = "The inputs come back as they went in: nothing is computed yet."
VALUES = (
    "The result is the values (or another projection) alone: no token looks at another one, so "
    "this is a linear layer and no attention."
)
UNIFORM = (
    "Every token gets the same weight, whatever queries and keys say: a mean of the values and no "
    "attention."
)


NULLS = (
    NullProgram("zeros", ZEROS, dict.fromkeys(CHAINS, zeros)),
    NullProgram("ones", ONES, dict.fromkeys(CHAINS, ones)),
    NullProgram("inputs-returned", INPUTS, dict.fromkeys(CHAINS, tokens_of)),
    NullProgram("values-alone", VALUES, dict.fromkeys(CHAINS, value_of)),
    NullProgram(
        "queries-alone", VALUES, dict.fromkeys(CHAINS, lambda given: chain.project(given, "query"))
    ),
    NullProgram(
        "keys-alone", VALUES, dict.fromkeys(CHAINS, lambda given: chain.project(given, "key"))
    ),
    NullProgram("uniform-weights", UNIFORM, dict.fromkeys(CHAINS, mean_of_values)),
)
