"""Dropout misplaced or missing. Seen in training mode, by checks of its own."""

from __future__ import annotations

from autograder.diagnosis.catalogue import Misconception

DROPOUT = (
    Misconception(
        id="dropout-missing",
        criterion="dropout",
        title="no dropout in training",
        found="In training nothing is dropped.",
        expected="While training, attention weights should be set to zero with probability p.",
        look="Look at whether `forward` applies the dropout layer, and whether its result is used.",
    ),
    Misconception(
        id="dropout-in-eval",
        criterion="dropout",
        title="dropout active in eval mode",
        found="Dropout is still on in evaluation: two calls do not agree.",
        expected="In evaluation nothing should be dropped.",
        look="Look at whether dropout is a layer of the module, or is told the mode.",
    ),
    Misconception(
        id="dropout-on-scores",
        criterion="dropout",
        title="dropout on the scores",
        found="Dropout acts on the scores, where 0 is an ordinary score.",
        expected="It should act on the weights, after softmax.",
        look="Look at the order of softmax and dropout.",
    ),
    Misconception(
        id="dropout-on-context",
        criterion="dropout",
        title="dropout on the context vectors",
        found="Dropout acts on the result: single numbers of context vectors are zero.",
        expected="It should act on the weights, before they meet the values.",
        look="Look at what the dropout layer gets.",
    ),
    Misconception(
        id="dropout-on-values",
        criterion="dropout",
        title="dropout on the values",
        found="Dropout acts on the values.",
        expected="It should act on the weights, before they meet the values.",
        look="Look at what the dropout layer gets.",
    ),
    Misconception(
        id="dropout-not-rescaled",
        criterion="dropout",
        title="dropped without rescaling",
        found="Dropout leaves the weights that stay as they were.",
        expected="They should be divided by 1 - p, so that the sum is the same on average.",
        look=(
            "Look at what your dropout does to the weights that it keeps; PyTorch's layer does "
            "all of it."
        ),
    ),
    Misconception(
        id="dropout-renormalised",
        criterion="dropout",
        title="weights renormalised after dropout",
        found="After dropout each row is divided by its sum again.",
        expected="A row need not sum to 1 after dropout, and it should not be divided again.",
        look="Look for a division, or a softmax, after dropout.",
    ),
    Misconception(
        id="dropout-wrong-rate",
        criterion="dropout",
        title="another share is dropped than asked for",
        found="Dropout drops another part of the weights than it was asked to.",
        expected="With a rate of p, each weight should be dropped with probability p.",
        look=(
            "Look at what your dropout layer is made with in the constructor: `dropout`, or "
            "another number?"
        ),
    ),
    Misconception(
        id="dropout-shared-by-batch",
        criterion="dropout",
        title="one dropout pattern for the whole batch",
        found="Dropout hits the same weights in every sequence, or in every head.",
        expected="It should draw for each sequence and each head anew.",
        look="Look at the shape of what the dropout layer gets: it should be all weights at once.",
    ),
)
