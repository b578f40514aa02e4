"""Stage 3: causal attention, its masks, dropout and batches (chapter 3, section 3.5)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from autograder.attention import chain
from autograder.attention.chain import Given
from autograder.attention.misconceptions import (
    of_dropout,
    of_scores,
    of_softmax,
    of_state,
    trainable,
)
from autograder.attention.misconceptions.masking_names import MASKING
from autograder.diagnosis.catalogue import NullProgram

_MASKING = ("masking", chain.masking)
_SOFTMAX = ("softmax", chain.softmax)

CHAINS = {
    "causal_mask": chain.attending(
        (("masking", chain.causal_mask),), chain.from_nothing, lambda values: values.output
    ),
    "renormalized_weights": chain.attending(
        (_SOFTMAX, ("masking", chain.renormalizing)),
        chain.from_scores,
        lambda values: values.weights,
    ),
    "masked_weights": chain.attending(
        (_MASKING, _SOFTMAX),
        chain.from_scores,
        lambda values: values.weights,
        {"masking": chain.MASKING_REALIZATIONS},
    ),
    "CausalAttention": chain.attending(
        (
            ("projections", chain.projections),
            ("scores", chain.scores),
            ("scaling", chain.scaling),
            _MASKING,
            _SOFTMAX,
            ("dropout", chain.dropout),
            ("context", chain.context),
        ),
        chain.from_nothing,
        lambda values: values.context,
        {"masking": chain.MASKING_REALIZATIONS},
    ),
}

#: What can go wrong in every causal module, in later stages as well.
SHARED = (
    *trainable.SHARED,
    *MASKING,
    *of_softmax.WITH_BATCHES,
    *of_scores.BATCHES,
    *of_dropout.DROPOUT,
    *of_state.MASK,
)
MISCONCEPTIONS = SHARED


# Null programs ------------------------------------------------------------------------------


def prefix_means(given: Given) -> Tensor:
    """Every token gets the mean of the values up to its own."""
    values = trainable.value_of(given)
    counts = torch.arange(1, values.shape[-2] + 1, dtype=values.dtype).unsqueeze(-1)
    return values.cumsum(dim=-2) / counts


def first_values(given: Given) -> Tensor:
    """Every token gets the first one's value."""
    values = trainable.value_of(given)
    return values[..., :1, :].expand_as(values)


def _scores(given: Given) -> Tensor:
    assert given.scores is not None
    return given.scores


def _triangle(given: Given) -> Tensor:
    return torch.ones_like(_scores(given)).tril()


def _weights(output: Callable[[Given], Tensor]) -> dict[str, Callable[[Given], Tensor]]:
    return {"renormalized_weights": output, "masked_weights": output}


_ATTENTION = ("CausalAttention",)

NULLS = (
    NullProgram(
        "zeros",
        trainable.ZEROS,
        {
            "causal_mask": lambda given: torch.zeros(given.count, given.count),
            **_weights(lambda given: torch.zeros_like(_scores(given))),
            **dict.fromkeys(_ATTENTION, trainable.zeros),
        },
    ),
    NullProgram(
        "ones",
        trainable.ONES,
        {
            "causal_mask": lambda given: torch.ones(given.count, given.count),
            **_weights(lambda given: torch.ones_like(_scores(given))),
            **dict.fromkeys(_ATTENTION, trainable.ones),
        },
    ),
    NullProgram(
        "inputs-returned",
        trainable.INPUTS,
        {
            **_weights(_scores),
            **dict.fromkeys(_ATTENTION, trainable.tokens_of),
        },
    ),
    NullProgram(
        "inputs-cut",
        "The scores come back with one half set to zero: no softmax is computed.",
        _weights(lambda given: _scores(given).tril()),
    ),
    NullProgram("values-alone", trainable.VALUES, dict.fromkeys(_ATTENTION, trainable.value_of)),
    NullProgram(
        "queries-alone",
        trainable.VALUES,
        dict.fromkeys(_ATTENTION, lambda given: chain.project(given, "query")),
    ),
    NullProgram(
        "keys-alone",
        trainable.VALUES,
        dict.fromkeys(_ATTENTION, lambda given: chain.project(given, "key")),
    ),
    NullProgram(
        "uniform-weights",
        trainable.UNIFORM,
        {
            **_weights(lambda given: torch.full_like(_scores(given), 1 / _scores(given).shape[-1])),
            **dict.fromkeys(_ATTENTION, trainable.mean_of_values),
        },
    ),
    NullProgram(
        "uniform-over-the-past",
        trainable.UNIFORM,
        {
            **_weights(lambda given: _triangle(given) / _triangle(given).sum(-1, keepdim=True)),
            **dict.fromkeys(_ATTENTION, prefix_means),
        },
    ),
    NullProgram("triangle", trainable.UNIFORM, _weights(_triangle)),
    NullProgram(
        "identity",
        "Every token gets all its weight for itself, whatever the scores say.",
        _weights(lambda given: torch.eye(_scores(given).shape[-1])),
    ),
    NullProgram("first-value", trainable.UNIFORM, dict.fromkeys(_ATTENTION, first_values)),
)
