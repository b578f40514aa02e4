"""Scores and context done otherwise: the wrong two compared, the wrong thing averaged."""

from __future__ import annotations

from msgspec.structs import replace
from torch import Tensor

from autograder.attention import chain
from autograder.attention.chain import Values
from autograder.attention.misconceptions import of_tokens
from autograder.diagnosis.catalogue import Misconception
from autograder.diagnosis.chain import StepRaises


def compared(values: Values, query: Tensor, key: Tensor) -> Values:
    """Scores of other vectors; queries and keys themselves stay what they are."""
    return replace(values, scores=chain.scores(replace(values, query=query, key=key)).scores)


def query_key_swapped(values: Values) -> Values:
    """`keys @ queries.T`."""
    return compared(values, values.key, values.query)


def queries_with_queries(values: Values) -> Values:
    """`queries @ queries.T`."""
    return compared(values, values.query, values.query)


def keys_with_keys(values: Values) -> Values:
    """`keys @ keys.T`."""
    return compared(values, values.key, values.key)


def scores_from_values(values: Values) -> Values:
    """`queries @ values.T`."""
    return compared(values, values.query, values.value)


def averaged(values: Values, averaged_vectors: Tensor) -> Values:
    """Other vectors weighted in the values' place."""
    weighted = chain.context(replace(values, value=averaged_vectors))
    return replace(values, context=weighted.context)


def keys_as_values(values: Values) -> Values:
    """`weights @ keys`."""
    return averaged(values, values.key)


def queries_as_values(values: Values) -> Values:
    """`weights @ queries`."""
    return averaged(values, values.query)


def residual_added(values: Values) -> Values:
    """The values are added to the context."""
    weighted = chain.context(values)
    if weighted.context.shape != values.value.shape:
        raise StepRaises
    return replace(weighted, context=weighted.context + values.value)


def batched(values: Values) -> Tensor:
    """The tokens, which must be a batch."""
    tokens = values.given.tokens
    if tokens is None or tokens.dim() < 3:
        raise StepRaises
    return tokens


def first_item_only(values: Values) -> Values:
    """The first text of the batch answers for all."""
    tokens = batched(values)
    only = replace(values.given, tokens=tokens[:1].expand_as(tokens))
    return replace(chain.projections(replace(values, given=only)), given=values.given)


def keys_averaged(values: Values) -> Values:
    """Keys of all texts mixed."""
    batched(values)
    return compared(values, values.query, values.key.mean(dim=0, keepdim=True))


def batch_summed(values: Values) -> Values:
    """Scores of all texts mixed."""
    batched(values)
    scored = chain.scores(values)
    return replace(scored, scores=scored.scores.sum(dim=0, keepdim=True).expand_as(scored.scores))


SCORES = (
    Misconception(
        id="query-key-swapped",
        criterion="scores",
        step="scores",
        replace=query_key_swapped,
    ),
    Misconception(
        id="queries-with-queries",
        criterion="scores",
        step="scores",
        replace=queries_with_queries,
    ),
    Misconception(
        id="keys-with-keys",
        criterion="scores",
        step="scores",
        replace=keys_with_keys,
    ),
    Misconception(
        id="scores-from-values",
        criterion="scores",
        step="scores",
        replace=scores_from_values,
    ),
)

CONTEXT = (
    Misconception(
        id="keys-as-values",
        criterion="context",
        step="context",
        replace=keys_as_values,
    ),
    Misconception(
        id="queries-as-values",
        criterion="context",
        step="context",
        replace=queries_as_values,
    ),
    Misconception(
        id="weights-transposed",
        criterion="context",
        step="context",
        replace=of_tokens.weights_transposed,
    ),
    Misconception(
        id="values-added",
        criterion="context",
        step="context",
        replace=residual_added,
    ),
)

BATCHES = (
    Misconception(
        id="first-item-only",
        hides=("dropout",),
        criterion="form",
        step="projections",
        replace=first_item_only,
    ),
    Misconception(
        id="keys-averaged-over-batch",
        criterion="scores",
        step="scores",
        replace=keys_averaged,
    ),
    Misconception(
        id="scores-summed-over-batch",
        hides=("dropout",),
        criterion="scores",
        step="scores",
        replace=batch_summed,
    ),
    Misconception(
        id="transposed-batch",
        criterion="scores",
        raises=(
            r"RuntimeError: Expected size for first two dimensions of batch2 tensor",
            r"RuntimeError: The size of tensor a \(\d+\) must match the size of tensor b \(\d+\) "
            r"at non-singleton dimension [01]",
            r"RuntimeError: batch1 and batch2 must have same number of batches",
        ),
        names=("CausalAttention",),
    ),
)
