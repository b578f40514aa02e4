"""Projections done otherwise: layers missing, shared, exchanged, or laid the wrong way."""

from __future__ import annotations

import math

from msgspec.structs import replace

from autograder.attention import chain
from autograder.attention.chain import Values
from autograder.diagnosis.catalogue import Misconception
from autograder.diagnosis.chain import Step, StepRaises


def linear_weight_not_transposed(values: Values) -> Values:
    """`tokens @ layer.weight`: runs only where the weight is square."""
    given = values.given
    if given.weights["query"].shape[0] != given.weights["query"].shape[1]:
        raise StepRaises
    turned = {
        role: weight if role.endswith("bias") or role == "output" else weight.T
        for role, weight in given.weights.items()
    }
    right = chain.projections(replace(values, given=replace(given, weights=turned)))
    return replace(right, given=given)


def shared_projection(role: str) -> Step:
    """One layer makes queries, keys and values."""

    def step(values: Values) -> Values:
        projected = chain.project(values.given, role)
        return replace(values, query=projected, key=projected, value=projected)

    return step


def exchanged(query: str, key: str, value: str) -> Step:
    """Layers that change places."""

    def step(values: Values) -> Values:
        given = values.given
        return replace(
            values,
            query=chain.project(given, query),
            key=chain.project(given, key),
            value=chain.project(given, value),
        )

    return step


def no_projection(values: Values) -> Values:
    """The tokens attend to each other as they are."""
    given = values.given
    tokens = given.tokens
    assert tokens is not None
    if tokens.shape[-1] != given.weights["value"].shape[1] and "output" in given.weights:
        raise StepRaises
    return replace(values, query=tokens, key=tokens, value=tokens)


def no_projection_scaled_by_width(values: Values) -> Values:
    """The same, with d_out in the scale although no tensor has that width."""
    bare = no_projection(values)
    widths = values.given.weights["value"].shape[1] / bare.query.shape[-1]
    return replace(bare, query=bare.query / math.sqrt(widths))


def values_are_inputs(values: Values) -> Values:
    """The tokens themselves are averaged."""
    right = chain.projections(values)
    tokens = values.given.tokens
    assert tokens is not None
    if tokens.shape[-1] != right.value.shape[-1] and "output" in values.given.weights:
        raise StepRaises
    return replace(right, value=tokens)


_OTHER_WIDTH = (
    r"RuntimeError: shape '.*' is invalid for input of size",
    r"RuntimeError: mat1 and mat2 shapes cannot be multiplied",
    r"RuntimeError: unflatten: Provided sizes",
)

_SQUARE_ONLY = (
    r"RuntimeError: mat1 and mat2 shapes cannot be multiplied",
    r"RuntimeError: (Expected size for first two dimensions|expand|batch1 and batch2)",
    r"RuntimeError: size mismatch",
)

PROJECTIONS = (
    Misconception(
        id="no-projection",
        criterion="projections",
        step="projections",
        replace=no_projection,
        codings=(no_projection_scaled_by_width,),
        raises=_OTHER_WIDTH,
    ),
    Misconception(
        id="linear-weight-not-transposed",
        criterion="projections",
        step="projections",
        replace=linear_weight_not_transposed,
        raises=_SQUARE_ONLY,
        names=("SelfAttention_v2", "CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="one-projection-shared",
        criterion="projections",
        step="projections",
        replace=shared_projection("query"),
        codings=(shared_projection("key"), shared_projection("value")),
    ),
    Misconception(
        id="values-are-inputs",
        criterion="projections",
        step="projections",
        replace=values_are_inputs,
        raises=_OTHER_WIDTH,
    ),
    Misconception(
        id="query-value-exchanged",
        criterion="projections",
        step="projections",
        replace=exchanged("value", "key", "query"),
    ),
    Misconception(
        id="key-value-exchanged",
        criterion="projections",
        step="projections",
        replace=exchanged("query", "value", "key"),
    ),
)
