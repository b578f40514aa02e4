"""Scores and context done otherwise: the wrong two compared, the wrong thing averaged."""

from __future__ import annotations

from msgspec.structs import replace
from torch import Tensor

from autograder.attention.misconceptions import of_tokens
from autograder.diagnosis import chain
from autograder.diagnosis.catalogue import Misconception
from autograder.diagnosis.chain import StepRaises, Values


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
        title="query and key swapped",
        found="Queries and keys have changed places in the scores: a row belongs to a key.",
        expected="A row should belong to a query, a column to a key.",
        look="Look at the product of the two: which comes first, and which is turned over?",
    ),
    Misconception(
        id="queries-with-queries",
        criterion="scores",
        step="scores",
        replace=queries_with_queries,
        title="queries compared with queries",
        found="The scores compare queries with queries; keys take no part.",
        expected="Each query should be compared with every key.",
        look="Look at both factors of the product, and at the layers that make them.",
    ),
    Misconception(
        id="keys-with-keys",
        criterion="scores",
        step="scores",
        replace=keys_with_keys,
        title="keys compared with keys",
        found="The scores compare keys with keys; queries take no part.",
        expected="Each query should be compared with every key.",
        look="Look at both factors of the product, and at the layers that make them.",
    ),
    Misconception(
        id="scores-from-values",
        criterion="scores",
        step="scores",
        replace=scores_from_values,
        title="queries compared with values",
        found="The scores compare queries with values.",
        expected="Each query should be compared with every key; values come in after softmax.",
        look="Look at the second factor of the product that makes the scores.",
    ),
)

CONTEXT = (
    Misconception(
        id="keys-as-values",
        criterion="context",
        step="context",
        replace=keys_as_values,
        title="keys used as values",
        found="The weights meet the keys: a context vector is a sum of keys.",
        expected="A context vector should be the weighted sum of the values.",
        look="Look at the last product, and at the layer that makes the values.",
    ),
    Misconception(
        id="queries-as-values",
        criterion="context",
        step="context",
        replace=queries_as_values,
        title="queries used as values",
        found="The weights meet the queries: a context vector is a sum of queries.",
        expected="A context vector should be the weighted sum of the values.",
        look="Look at the last product, and at the layer that makes the values.",
    ),
    Misconception(
        id="weights-transposed",
        criterion="context",
        step="context",
        replace=of_tokens.weights_transposed,
        title="weights transposed",
        found=(
            "The weights are turned over before they meet the values, so a column makes a context"
            " vector."
        ),
        expected="Row i of the weights should make the context vector of token i.",
        look="Look at the last product: which factor comes first, and is one of them turned over?",
    ),
    Misconception(
        id="values-added",
        criterion="context",
        step="context",
        replace=residual_added,
        title="the values added to the context",
        found="A token's own value is added to its context vector.",
        expected="A context vector should be the weighted sum of the values and nothing else.",
        look="Look for a sum after the weights have met the values.",
    ),
)

BATCHES = (
    Misconception(
        id="first-item-only",
        hides=("dropout",),
        criterion="form",
        step="projections",
        replace=first_item_only,
        title="only the first sequence of the batch used",
        found="Every sequence of the batch gets the output of the first one.",
        expected="Each sequence should have an output of its own.",
        look=(
            "Look for an index that takes one sequence out of the batch. The worked example "
            "repeats one sequence and cannot show it."
        ),
    ),
    Misconception(
        id="keys-averaged-over-batch",
        criterion="scores",
        step="scores",
        replace=keys_averaged,
        title="keys averaged over the batch",
        found="The keys of all sequences are mixed before the scores are made.",
        expected="A query should be compared with the keys of its own sequence.",
        look="Look for a mean or a sum over the batch.",
    ),
    Misconception(
        id="scores-summed-over-batch",
        hides=("dropout",),
        criterion="scores",
        step="scores",
        replace=batch_summed,
        title="scores summed over the batch",
        found="The scores of all sequences are added up.",
        expected="Each sequence should have scores of its own: (b, T, T), with heads (b, H, T, T).",
        look="Look for a sum over the batch; in `einsum` the batch must stay in the result.",
    ),
    Misconception(
        id="transposed-batch",
        criterion="scores",
        title="the wrong dimensions transposed",
        found=(
            "The scores cannot be made: when the keys were turned over, the batch changed its "
            "place."
        ),
        expected="Only the last two dimensions of the keys should change places.",
        look="Look at how the keys are turned over, and print their shape.",
        raises=(
            r"RuntimeError: Expected size for first two dimensions of batch2 tensor",
            r"RuntimeError: The size of tensor a \(\d+\) must match the size of tensor b \(\d+\) "
            r"at non-singleton dimension [01]",
            r"RuntimeError: batch1 and batch2 must have same number of batches",
        ),
        names=("CausalAttention",),
    ),
)
