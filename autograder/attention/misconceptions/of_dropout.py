"""Dropout misplaced or missing. Seen in training mode, by checks of its own."""

from __future__ import annotations

from autograder.diagnosis.catalogue import Misconception

DROPOUT = (
    Misconception(
        id="dropout-missing",
        criterion="dropout",
    ),
    Misconception(
        id="dropout-in-eval",
        criterion="dropout",
    ),
    Misconception(
        id="dropout-on-scores",
        criterion="dropout",
    ),
    Misconception(
        id="dropout-on-context",
        criterion="dropout",
    ),
    Misconception(
        id="dropout-on-values",
        criterion="dropout",
    ),
    Misconception(
        id="dropout-not-rescaled",
        criterion="dropout",
    ),
    Misconception(
        id="dropout-renormalised",
        criterion="dropout",
    ),
    Misconception(
        id="dropout-wrong-rate",
        criterion="dropout",
    ),
    Misconception(
        id="dropout-shared-by-batch",
        criterion="dropout",
    ),
)
