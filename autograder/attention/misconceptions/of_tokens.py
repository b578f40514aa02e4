"""Scores and context done otherwise where tokens are compared as they are (section 3.3)."""

from __future__ import annotations

import math

import torch
from msgspec.structs import replace
from torch import Tensor

from autograder.diagnosis import chain
from autograder.diagnosis.catalogue import Misconception
from autograder.diagnosis.chain import StepRaises, Values


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
        title="scaled a stage too early",
        found="The scores are divided by the square root of the embedding size.",
        expected="In stage 1 a score should be the dot product itself; scaling comes in stage 2.",
        look="Look at what happens to the scores before softmax.",
    ),
    Misconception(
        id="self-excluded",
        criterion="scores",
        step="scores",
        replace=self_excluded,
        title="a token does not attend to itself",
        found="The scores on the diagonal are left out: a token does not look at itself.",
        expected="Every token should be compared with all tokens, with itself too.",
        look="Look for the line that changes the diagonal.",
        names=("attention_weights", "context_vectors"),
    ),
    Misconception(
        id="features-attend",
        criterion="scores",
        step="scores",
        replace=features_attend,
        codings=(features_attend_turned,),
        title="features attend to features",
        found="The scores compare the columns of the inputs, so there are (d, d) of them.",
        expected="Tokens are rows, so the scores should be (T, T).",
        look=(
            "Look at which factor of the product is turned over, and print the shape of the scores."
        ),
        raises=(r"RuntimeError: mat1 and mat2 shapes cannot be multiplied",),
        names=("attention_weights", "context_vectors"),
    ),
    Misconception(
        id="cosine-similarity",
        criterion="scores",
        step="scores",
        replace=cosine_similarity,
        title="cosine similarity instead of dot product",
        found="The scores are dot products divided by the lengths of the vectors.",
        expected="A score should be the dot product itself: longer vectors have larger scores.",
        look="Look for a division, or a function that does one, before or after the product.",
    ),
    Misconception(
        id="negative-distance",
        criterion="scores",
        step="scores",
        replace=negative_distance,
        title="distance instead of dot product",
        found="The scores are distances between two vectors, with a minus sign.",
        expected="A score should be the dot product: multiply place by place and add up.",
        look="Look at how one score is made of two vectors.",
    ),
    Misconception(
        id="first-feature-only",
        criterion="scores",
        step="scores",
        replace=sums_of_products_by_feature,
        title="only one feature compared",
        found="Only the first number of each vector enters the scores.",
        expected="A dot product should multiply all places of two vectors and add them up.",
        look="Look at which part of the vectors you take before you multiply.",
    ),
)

CONTEXT = (
    Misconception(
        id="weights-transposed",
        criterion="context",
        step="context",
        replace=weights_transposed,
        title="weights transposed",
        found=(
            "The weights are turned over before they meet the tokens, so a column makes a context"
            " vector."
        ),
        expected="Row i of the weights should make the context vector of token i.",
        look="Look at the last product: which factor comes first, and is one of them turned over?",
        names=("context_vectors",),
    ),
    Misconception(
        id="one-context-only",
        criterion="context",
        step="context",
        replace=one_context_only,
        title="one token's context vector only",
        found="One context vector comes back, that of the second token.",
        expected="There should be a context vector for every token: (T, d).",
        look="Look at what is returned; perhaps a single query was left from the example.",
        names=("context_vectors",),
    ),
    Misconception(
        id="context-averaged",
        criterion="context",
        step="context",
        replace=averaged_context,
        title="divided by the number of tokens once more",
        found="The context vector is divided by the number of tokens once more.",
        expected="The weights of a row sum to 1, so the weighted sum itself should come back.",
        look="Look for a mean, or for a division after the weights meet the tokens.",
        names=("context_vector", "context_vectors"),
    ),
)
