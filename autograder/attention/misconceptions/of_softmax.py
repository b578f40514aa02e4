"""Softmax done otherwise: over another dimension, without its parts, or not at all."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.diagnosis import chain
from autograder.diagnosis.catalogue import Misconception
from autograder.diagnosis.chain import Step, StepRaises, Values


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
        title="softmax over the queries",
        found="Softmax runs down the columns: each column sums to 1, the rows do not.",
        expected="A row holds one query's weights, so it is each row that should sum to 1.",
        look="Look at the dimension that your softmax sums over; it has to be the last one.",
    ),
    Misconception(
        id="softmax-without-keepdim",
        criterion="softmax",
        step="softmax",
        replace=softmax_without_keepdim,
        codings=(softmax_shifted_without_keepdim,),
        title="row sums laid along the columns",
        found=(
            "The sums in softmax have lost their dimension: the division pairs a row's sum with a"
            " column, or fits nowhere once there is a batch."
        ),
        expected="Each row should be divided by its own sum.",
        look="Look at the shapes of the scores and of the sums just before you divide.",
        raises=(r"RuntimeError: The size of tensor a \(\d+\) must match .* non-singleton",),
        names=("softmax", "attention_weights"),
    ),
    Misconception(
        id="softmax-no-shift",
        criterion="softmax",
        names=("softmax", "attention_weights"),
        title="no maximum subtracted",
        found=(
            "Softmax is right for small scores and gives NaN for large ones: the exponential of "
            "100 is too large for a 32-bit number."
        ),
        expected="The weights should stay finite for scores of up to 1,000.",
        look="Look at what may be taken from all scores of a row without changing its weights.",
    ),
    Misconception(
        id="softmax-no-exp",
        criterion="softmax",
        step="softmax",
        replace=softmax_no_exp,
        title="divided by the sum, without exp",
        found="The scores are divided by their sum, without the exponential.",
        expected=(
            "Softmax should raise e to the power of each score first, so that every weight is "
            "positive."
        ),
        look=(
            "Look at both places of the fraction where a score stands; negative scores give "
            "negative weights now."
        ),
    ),
    Misconception(
        id="softmax-exp-only",
        criterion="softmax",
        step="softmax",
        replace=softmax_exp_only,
        title="exp without dividing by the sum",
        found="The exponentials of the scores are the weights, so a row does not sum to 1.",
        expected="Softmax should divide each exponential by the sum of its row.",
        look="Look at what happens after the exponential, and check the sum of one row.",
    ),
    Misconception(
        id="no-softmax",
        criterion="softmax",
        step="softmax",
        replace=no_softmax,
        names=("context_vector", "attention_weights", "context_vectors"),
        title="no softmax",
        found="The scores are used as weights, without softmax.",
        expected="Weights should be positive, and each row of them should sum to 1.",
        look="Look at whether softmax is called, and whether its result is what goes on.",
    ),
    Misconception(
        id="softmax-flattened",
        criterion="softmax",
        step="softmax",
        replace=softmax_flattened,
        codings=(softmax_flattened_by_item,),
        names=("softmax", "attention_weights", "context_vectors"),
        title="softmax over the whole matrix",
        found="Softmax shares 1 among all entries of the matrix, so a row sums to less.",
        expected="Every query should have weights of its own, which sum to 1 in its row.",
        look="Look at the dimensions that your sum runs over; only the last one belongs there.",
    ),
    Misconception(
        id="softmax-log",
        criterion="softmax",
        step="softmax",
        replace=log_softmax,
        title="logarithm of the softmax",
        found="The weights are logarithms of the softmax: negative numbers.",
        expected="The weights should be the softmax itself, numbers from 0 to 1.",
        look="Look at which function makes the weights, and print one row.",
    ),
    Misconception(
        id="softmax-negated",
        criterion="softmax",
        step="softmax",
        replace=softmax_of_negative,
        codings=(softmax_of_negative_seen,),
        title="sign of the scores turned",
        found=(
            "The smallest score gets the largest weight in softmax: the sign of the scores is "
            "turned."
        ),
        expected="A larger score should give a larger weight.",
        look="Look for a minus sign between the dot product and the exponential.",
    ),
    Misconception(
        id="sigmoid-for-softmax",
        criterion="softmax",
        step="softmax",
        replace=sigmoid_instead,
        title="sigmoid instead of softmax",
        found="Each score becomes a weight by itself, so a row does not sum to 1.",
        expected=(
            "Softmax should compare the scores of a row: what one token gains, the others lose."
        ),
        look="Look at which function makes the weights, and check the sum of one row.",
    ),
)

WITH_BATCHES = (
    Misconception(
        id="softmax-over-batch",
        criterion="softmax",
        step="softmax",
        replace=softmax_over(0),
        title="softmax over the batch",
        found="Softmax runs over the batch: sequences share their weights with each other.",
        expected="Each query's weights for the keys of its own sequence should sum to 1.",
        look=(
            "Look at the dimension that softmax gets; with a batch in front, the keys are the "
            "last one."
        ),
        names=("CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="softmax-over-dim-1",
        criterion="softmax",
        step="softmax",
        replace=softmax_over(1),
        title="softmax over dimension 1",
        found="Softmax runs over dimension 1, and with four dimensions that one counts the heads.",
        expected="Each query's weights for the keys of its own head should sum to 1.",
        look="Look at the dimension that softmax gets; the keys are the last one.",
        names=("MultiHeadAttention",),
    ),
    Misconception(
        id="softmax-twice",
        criterion="softmax",
        step="softmax",
        replace=softmax_twice,
        title="softmax twice",
        found=(
            "The weights go through softmax twice: they come out nearly equal, and hidden tokens "
            "get a weight again."
        ),
        expected="One softmax, after masking, should be all: its rows sum to 1.",
        look="Look for a second softmax, perhaps in a function that you call.",
        names=("masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
)
