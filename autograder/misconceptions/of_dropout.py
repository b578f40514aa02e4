"""Dropout misplaced or missing. Seen in training mode, by checks of its own."""

from __future__ import annotations

from autograder.catalogue import Misconception

DROPOUT = (
    Misconception(
        id="dropout-missing",
        criterion="dropout",
        title="no dropout in training",
        message=(
            "In training mode nothing is dropped. Apply the dropout layer to the attention "
            "weights in `forward` (and use its result)."
        ),
    ),
    Misconception(
        id="dropout-in-eval",
        criterion="dropout",
        title="dropout active in eval mode",
        message=(
            "Weights are dropped in eval mode as well, so predictions differ from call to call. "
            "Use an `nn.Dropout` layer, which knows the mode, or hand `self.training` on to "
            "`F.dropout`."
        ),
    ),
    Misconception(
        id="dropout-on-scores",
        criterion="dropout",
        title="dropout on the scores",
        message=(
            "Dropout is applied to the scores, before softmax. A dropped score is 0, not a weight "
            "of 0 (and a masked one becomes nan). Drop attention weights, after softmax."
        ),
    ),
    Misconception(
        id="dropout-on-context",
        criterion="dropout",
        title="dropout on the context vectors",
        message=(
            "Single features of the context vectors are dropped. Drop attention weights instead, "
            "after softmax and before they meet the values."
        ),
    ),
    Misconception(
        id="dropout-on-values",
        criterion="dropout",
        title="dropout on the values",
        message=(
            "Features of the values are dropped. Drop attention weights instead, after softmax "
            "and before they meet the values."
        ),
    ),
    Misconception(
        id="dropout-not-rescaled",
        criterion="dropout",
        title="dropped without rescaling",
        message=(
            "What is kept is not enlarged. Dropout divides what it keeps by 1 - p, so that sums "
            "stay the same on average; `nn.Dropout` does that for you."
        ),
    ),
    Misconception(
        id="dropout-renormalised",
        criterion="dropout",
        title="weights renormalised after dropout",
        message=(
            "After dropout the rows are divided by their sums again. Dropout's own factor 1/(1-p) "
            "already keeps the average; leave the weights as dropout gives them."
        ),
    ),
    Misconception(
        id="dropout-wrong-rate",
        criterion="dropout",
        title="another share is dropped than asked for",
        message=(
            "The share of dropped weights is not the rate that was asked for: the argument is not "
            "handed on, or p is used as the rate that is kept. `dropout` is the share that is "
            "dropped."
        ),
    ),
    Misconception(
        id="dropout-shared-by-batch",
        criterion="dropout",
        title="one dropout pattern for the whole batch",
        message=(
            "All texts of a batch (or all heads) lose the same weights: one pattern is drawn for "
            "all. Apply dropout to the whole tensor of weights."
        ),
    ),
)
