"""Scores and context done otherwise: the wrong two compared, the wrong thing averaged."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from autograder import chain
from autograder.catalogue import Misconception
from autograder.chain import StepRaises, Values
from autograder.misconceptions import of_tokens


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
        message=(
            "The scores are `keys @ queries.T`: row i then holds how others ask for token i, "
            "instead of what token i asks for. Rows belong to queries: `queries @ keys.T`."
        ),
    ),
    Misconception(
        id="queries-with-queries",
        criterion="scores",
        step="scores",
        replace=queries_with_queries,
        title="queries compared with queries",
        message=(
            "The scores compare queries with queries; the keys take no part. A query asks, a key "
            "answers: `queries @ keys.T`."
        ),
    ),
    Misconception(
        id="keys-with-keys",
        criterion="scores",
        step="scores",
        replace=keys_with_keys,
        title="keys compared with keys",
        message=(
            "The scores compare keys with keys; the queries take no part. A query asks, a key "
            "answers: `queries @ keys.T`."
        ),
    ),
    Misconception(
        id="scores-from-values",
        criterion="scores",
        step="scores",
        replace=scores_from_values,
        title="queries compared with values",
        message="The scores compare queries with values. They compare queries with keys.",
    ),
)

CONTEXT = (
    Misconception(
        id="keys-as-values",
        criterion="context",
        step="context",
        replace=keys_as_values,
        title="keys used as values",
        message=(
            "The weights average the keys (`weights @ keys`, or values made by `W_key`). Keys are "
            "for finding, values are what is found: multiply the weights with the values."
        ),
    ),
    Misconception(
        id="queries-as-values",
        criterion="context",
        step="context",
        replace=queries_as_values,
        title="queries used as values",
        message=("The weights average the queries. They average the values: `weights @ values`."),
    ),
    Misconception(
        id="weights-transposed",
        criterion="context",
        step="context",
        replace=of_tokens.weights_transposed,
        title="weights transposed",
        message=(
            "The weights are transposed before they meet the values, so token i collects what "
            "others pay to it. Row i of the weights belongs to token i: `weights @ values`."
        ),
    ),
    Misconception(
        id="values-added",
        criterion="context",
        step="context",
        replace=residual_added,
        title="the values added to the context",
        message=(
            "The token's own value is added to its context vector (a shortcut connection). That "
            "belongs around the whole block, not inside attention."
        ),
    ),
)

BATCHES = (
    Misconception(
        id="first-item-only",
        hides=("dropout",),
        criterion="form",
        step="projections",
        replace=first_item_only,
        title="only the first text of the batch used",
        message=(
            "Every text of the batch gets the first one's result. The example repeats one text "
            "and so hides it. Let every operation run over the whole batch."
        ),
    ),
    Misconception(
        id="keys-averaged-over-batch",
        criterion="scores",
        step="scores",
        replace=keys_averaged,
        title="keys averaged over the batch",
        message=(
            "The keys of all texts are mixed before the scores are taken. Texts of a batch have "
            "nothing to do with each other: transpose the last two dimensions only."
        ),
    ),
    Misconception(
        id="scores-summed-over-batch",
        hides=("dropout",),
        criterion="scores",
        step="scores",
        replace=batch_summed,
        title="scores summed over the batch",
        message=(
            "The scores of all texts are added up (a sum over the batch dimension, for instance "
            "in `einsum`). Each text has scores of its own."
        ),
    ),
    Misconception(
        id="transposed-batch",
        criterion="scores",
        title="the wrong dimensions transposed",
        message=(
            "The keys' dimensions do not line up for the product: with a batch in front, `.T` "
            "turns all dimensions round (and `transpose(0, 1)` moves the batch). Exchange the last "
            "two only: `transpose(-2, -1)`."
        ),
        raises=(
            r"RuntimeError: Expected size for first two dimensions of batch2 tensor",
            r"RuntimeError: The size of tensor a \(\d+\) must match the size of tensor b \(\d+\) "
            r"at non-singleton dimension [01]",
            r"RuntimeError: batch1 and batch2 must have same number of batches",
        ),
        names=("CausalAttention",),
    ),
)
