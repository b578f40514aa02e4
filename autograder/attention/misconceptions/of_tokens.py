"""Scores and context done otherwise where tokens are compared as they are (section 3.3)."""

from __future__ import annotations

import math

import torch
from msgspec.structs import replace
from torch import Tensor

from autograder.attention import chain
from autograder.attention.chain import Values
from autograder.diagnosis.catalogue import Misconception
from autograder.diagnosis.chain import StepRaises


def scaled_already(values: Values) -> Values:
    """Divide by the square root of d, a stage too early."""
    return chain.scaling(chain.scores(values))


def self_excluded(values: Values) -> Values:
    """Minus infinity on the diagonal."""
    scored = chain.scores(values).scores
    if scored.dim() < 2:
        raise StepRaises
    alone = torch.eye(scored.shape[-1], dtype=torch.bool)
    return replace(values, scores=scored.masked_fill(alone, -math.inf))


def features_attend(values: Values) -> Values:
    """Columns compared with columns."""
    if values.query.dim() < 2:
        raise StepRaises
    compared = values.query.transpose(-2, -1) @ values.key
    return replace(values, scores=compared, gather=lambda weights, value: value @ weights)


def features_attend_turned(values: Values) -> Values:
    """The same, the weights transposed before they meet the values."""
    attending = features_attend(values)
    return replace(attending, gather=lambda weights, value: value @ weights.transpose(-2, -1))


def lengths(tokens: Tensor) -> Tensor:
    """Euclidean length of each row, kept as a dimension."""
    squares: Tensor = tokens * tokens
    return squares.sum(dim=-1, keepdim=True).sqrt()


def cosine_similarity(values: Values) -> Values:
    """Directions compared, lengths forgotten."""
    query, key = values.query / lengths(values.query), values.key / lengths(values.key)
    return replace(values, scores=chain.scores(replace(values, query=query, key=key)).scores)


def negative_distance(values: Values) -> Values:
    """Euclidean distance instead of a dot product."""
    query = values.query if values.query.dim() > 1 else values.query.unsqueeze(0)
    distances = -torch.cdist(query.contiguous(), values.key.contiguous())
    return replace(values, scores=distances if values.query.dim() > 1 else distances[0])


def sums_of_products_by_feature(values: Values) -> Values:
    """Only the first feature takes part."""
    first = replace(values, query=values.query[..., :1], key=values.key[..., :1])
    return replace(values, scores=chain.scores(first).scores)


def weights_transposed(values: Values) -> Values:
    """`weights.T @ values`."""
    if values.weights.dim() < 2:
        return chain.context(values)
    return replace(values, context=values.weights.transpose(-2, -1) @ values.value)


def one_context_only(values: Values) -> Values:
    """The second token's context vector stands for all."""
    if values.weights.dim() < 2 or values.weights.shape[0] < 2:
        raise StepRaises
    return replace(values, context=chain.context(values).context[..., 1, :])


def averaged_context(values: Values) -> Values:
    """The weighted sum divided by the number of tokens once more."""
    return replace(values, context=chain.context(values).context / values.value.shape[-2])


SCORES = (
    Misconception(
        id="scaled-already",
        criterion="scores",
        step="scores",
        replace=scaled_already,
    ),
    Misconception(
        id="self-excluded",
        criterion="scores",
        step="scores",
        replace=self_excluded,
        names=("attention_weights", "context_vectors"),
    ),
    Misconception(
        id="features-attend",
        criterion="scores",
        step="scores",
        replace=features_attend,
        codings=(features_attend_turned,),
        raises=(r"RuntimeError: mat1 and mat2 shapes cannot be multiplied",),
        names=("attention_weights", "context_vectors"),
    ),
    Misconception(
        id="cosine-similarity",
        criterion="scores",
        step="scores",
        replace=cosine_similarity,
    ),
    Misconception(
        id="negative-distance",
        criterion="scores",
        step="scores",
        replace=negative_distance,
    ),
    Misconception(
        id="first-feature-only",
        criterion="scores",
        step="scores",
        replace=sums_of_products_by_feature,
    ),
)

CONTEXT = (
    Misconception(
        id="weights-transposed",
        criterion="context",
        step="context",
        replace=weights_transposed,
        names=("context_vectors",),
    ),
    Misconception(
        id="one-context-only",
        criterion="context",
        step="context",
        replace=one_context_only,
        names=("context_vectors",),
    ),
    Misconception(
        id="context-averaged",
        criterion="context",
        step="context",
        replace=averaged_context,
        names=("context_vector", "context_vectors"),
    ),
)
