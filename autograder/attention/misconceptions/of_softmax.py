"""Softmax done otherwise: over another dimension, without its parts, or not at all."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.attention import chain
from autograder.attention.chain import Values
from autograder.diagnosis.catalogue import Misconception
from autograder.diagnosis.chain import Step, StepRaises


def softmax_over_queries(values: Values) -> Values:
    """Normalise down the columns."""
    if values.scores.dim() < 2:
        return chain.softmax(values)
    return chain.settle(values, torch.softmax(values.scores, dim=-2))


def softmax_over_first(values: Values) -> Values:
    """Normalise over dimension 0, which is right for a vector only."""
    return chain.settle(values, torch.softmax(values.scores, dim=0))


def exponentials(scores: Tensor) -> Tensor:
    """`exp`, shifted by one number for all so that it stays finite (the shift cancels)."""
    return torch.exp(scores - scores.max())


def softmax_without_keepdim(values: Values) -> Values:
    """Divide by row sums that were laid along the columns."""
    powers = exponentials(values.scores)
    sums = powers.sum(dim=-1)
    if powers.dim() > 1 and powers.shape[-2] != powers.shape[-1]:
        raise StepRaises
    return chain.settle(values, powers / sums)


def softmax_shifted_without_keepdim(values: Values) -> Values:
    """The same, each row shifted by its own maximum first."""
    powers = torch.exp(values.scores - values.scores.amax(dim=-1, keepdim=True))
    return chain.settle(values, powers / powers.sum(dim=-1))


def softmax_flattened(values: Values) -> Values:
    """Normalise over the whole matrix."""
    powers = exponentials(values.scores)
    return chain.settle(values, powers / powers.sum())


def softmax_flattened_by_item(values: Values) -> Values:
    """Normalise over each matrix of a batch, or of a head, as a whole."""
    if values.scores.dim() < 3:
        raise StepRaises
    powers = torch.exp(values.scores - values.scores.amax(dim=(-2, -1), keepdim=True))
    return chain.settle(values, powers / powers.sum(dim=(-2, -1), keepdim=True))


def softmax_no_exp(values: Values) -> Values:
    """Divide by the sum of the scores themselves."""
    return chain.settle(values, values.scores / values.scores.sum(dim=-1, keepdim=True))


def softmax_exp_only(values: Values) -> Values:
    """Exponentials that nobody divides."""
    return chain.settle(values, torch.exp(values.scores))


def no_softmax(values: Values) -> Values:
    """Scores used as if they were weights."""
    return chain.settle(values, values.scores)


def sigmoid_instead(values: Values) -> Values:
    """Each score squashed on its own."""
    return chain.settle(values, torch.sigmoid(values.scores))


def log_softmax(values: Values) -> Values:
    """Logarithms of the weights."""
    return chain.settle(values, torch.log_softmax(values.scores, dim=-1))


def softmax_of_negative(values: Values) -> Values:
    """The least alike weighs most."""
    return chain.settle(values, torch.softmax(-values.scores, dim=-1))


def softmax_of_negative_seen(values: Values) -> Values:
    """The same where the sign is turned before the mask is applied."""
    hidden = torch.isinf(values.scores)
    turned = torch.where(hidden, values.scores, -values.scores)
    return chain.settle(values, torch.softmax(turned, dim=-1))


def softmax_over(dimension: int) -> Step:
    """Softmax over a dimension counted from the front."""

    def step(values: Values) -> Values:
        if values.scores.dim() < 3:
            raise StepRaises
        return chain.settle(values, torch.softmax(values.scores, dim=dimension))

    return step


def softmax_twice(values: Values) -> Values:
    """Softmax of the softmax."""
    return chain.settle(values, torch.softmax(torch.softmax(values.scores, dim=-1), dim=-1))


PLAIN = (
    Misconception(
        id="softmax-over-queries",
        criterion="softmax",
        step="softmax",
        replace=softmax_over_queries,
        codings=(softmax_over_first,),
        names=("softmax", "attention_weights", "context_vectors"),
    ),
    Misconception(
        id="softmax-without-keepdim",
        criterion="softmax",
        step="softmax",
        replace=softmax_without_keepdim,
        codings=(softmax_shifted_without_keepdim,),
        raises=(r"RuntimeError: The size of tensor a \(\d+\) must match .* non-singleton",),
        names=("softmax", "attention_weights"),
    ),
    Misconception(
        id="softmax-no-shift",
        criterion="softmax",
        names=("softmax", "attention_weights"),
    ),
    Misconception(
        id="softmax-no-exp",
        criterion="softmax",
        step="softmax",
        replace=softmax_no_exp,
    ),
    Misconception(
        id="softmax-exp-only",
        criterion="softmax",
        step="softmax",
        replace=softmax_exp_only,
    ),
    Misconception(
        id="no-softmax",
        criterion="softmax",
        step="softmax",
        replace=no_softmax,
        names=("context_vector", "attention_weights", "context_vectors"),
    ),
    Misconception(
        id="softmax-flattened",
        criterion="softmax",
        step="softmax",
        replace=softmax_flattened,
        codings=(softmax_flattened_by_item,),
        names=("softmax", "attention_weights", "context_vectors"),
    ),
    Misconception(
        id="softmax-log",
        criterion="softmax",
        step="softmax",
        replace=log_softmax,
    ),
    Misconception(
        id="softmax-negated",
        criterion="softmax",
        step="softmax",
        replace=softmax_of_negative,
        codings=(softmax_of_negative_seen,),
    ),
    Misconception(
        id="sigmoid-for-softmax",
        criterion="softmax",
        step="softmax",
        replace=sigmoid_instead,
    ),
)

WITH_BATCHES = (
    Misconception(
        id="softmax-over-batch",
        criterion="softmax",
        step="softmax",
        replace=softmax_over(0),
        names=("CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="softmax-over-dim-1",
        criterion="softmax",
        step="softmax",
        replace=softmax_over(1),
        names=("MultiHeadAttention",),
    ),
    Misconception(
        id="softmax-twice",
        criterion="softmax",
        step="softmax",
        replace=softmax_twice,
        names=("masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
)
