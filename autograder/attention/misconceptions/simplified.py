"""Stage 1: weight-free self-attention (chapter 3, section 3.3)."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.attention import chain
from autograder.attention.chain import Given
from autograder.attention.misconceptions import of_softmax, of_tokens
from autograder.diagnosis.catalogue import Misconception, NullProgram

_SCORES = ("scores", chain.scores)
_SOFTMAX = ("softmax", chain.softmax)
_CONTEXT = ("context", chain.context)

CHAINS = {
    "attention_scores": chain.attending(
        (_SCORES,), chain.attend_to_tokens, lambda values: values.scores
    ),
    "softmax": chain.attending((_SOFTMAX,), chain.from_scores, lambda values: values.weights),
    "context_vector": chain.attending(
        (_SCORES, _SOFTMAX, _CONTEXT), chain.attend_to_tokens, lambda values: values.context
    ),
    "attention_weights": chain.attending(
        (_SCORES, _SOFTMAX), chain.attend_to_tokens, lambda values: values.weights
    ),
    "context_vectors": chain.attending(
        (_SCORES, _SOFTMAX, _CONTEXT), chain.attend_to_tokens, lambda values: values.context
    ),
}

MISCONCEPTIONS = (
    *of_softmax.PLAIN,
    *of_tokens.SCORES,
    *of_tokens.CONTEXT,
    Misconception(
        id="sizes-hard-coded",
        criterion="form",
        names=tuple(CHAINS),
    ),
)


# Null programs ------------------------------------------------------------------------------


def _tokens(given: Given) -> Tensor:
    assert given.tokens is not None
    return given.tokens


def _scores(given: Given) -> Tensor:
    assert given.scores is not None
    return given.scores


def _square(given: Given, fill: float) -> Tensor:
    count = _tokens(given).shape[0]
    return torch.full((count, count), fill)


NULLS = (
    NullProgram(
        id="zeros",
        message="The result is zero everywhere: nothing is computed yet.",
        outputs={
            "attention_scores": lambda given: torch.zeros(_tokens(given).shape[0]),
            "softmax": lambda given: torch.zeros_like(_scores(given)),
            "context_vector": lambda given: torch.zeros(_tokens(given).shape[1]),
            "attention_weights": lambda given: _square(given, 0.0),
            "context_vectors": lambda given: torch.zeros_like(_tokens(given)),
        },
    ),
    NullProgram(
        id="ones",
        message="The result is one everywhere: nothing is computed yet.",
        outputs={
            "attention_scores": lambda given: torch.ones(_tokens(given).shape[0]),
            "softmax": lambda given: torch.ones_like(_scores(given)),
            "attention_weights": lambda given: _square(given, 1.0),
        },
    ),
    NullProgram(
        id="inputs-returned",
        message="The argument comes back as it went in: nothing is computed yet.",
        outputs={
            "attention_scores": lambda given: _tokens(given)[:, 0],
            "softmax": _scores,
            "context_vector": lambda given: (
                given.query if given.query is not None else torch.empty(0)
            ),
            "attention_weights": lambda given: torch.eye(_tokens(given).shape[0]),
            "context_vectors": _tokens,
        },
    ),
    NullProgram(
        id="inputs-whole",
        message="The inputs come back as they went in: nothing is computed yet.",
        outputs={
            "attention_scores": _tokens,
            "context_vector": _tokens,
            "attention_weights": _tokens,
        },
    ),
    NullProgram(
        id="uniform-weights",
        message=(
            "Every token gets the same weight, whatever it holds: nothing depends on how alike "
            "the tokens are, so this is a mean and no attention."
        ),
        outputs={
            "attention_scores": lambda given: torch.full(
                (_tokens(given).shape[0],), 1 / _tokens(given).shape[0]
            ),
            "softmax": lambda given: torch.full_like(_scores(given), 1 / _scores(given).shape[-1]),
            "context_vector": lambda given: _tokens(given).mean(dim=0),
            "attention_weights": lambda given: _square(given, 1 / _tokens(given).shape[0]),
            "context_vectors": lambda given: _tokens(given).mean(dim=0).expand_as(_tokens(given)),
        },
    ),
)
