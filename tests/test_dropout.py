"""Dropout is told by what it leaves behind: what right dropout leaves passes, all else is named."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from autograder.attention.chain import Given
from autograder.attention.checks.dropout import (
    BATCH,
    TOKENS,
    Seen,
    draws_are_independent,
    nothing_is_dropped_in_eval,
    weights_are_dropped,
)
from autograder.attention.sample import Sample
from autograder.checks.failures import CheckFailed

JUDGEMENTS = (nothing_is_dropped_in_eval, draws_are_independent, weights_are_dropped)
HEADS = pytest.mark.parametrize("heads", [0, 2])
RATE = 0.3


def drawn(*shape: int) -> Tensor:
    """Numbers between 0 and 1."""
    generator = torch.Generator().manual_seed(7)
    return torch.rand(*shape, generator=generator)


def weights(heads: int) -> Tensor:
    """Causal attention weights, `(b, T, H, 1, T)`, the same for every text."""
    scores = drawn(TOKENS, max(heads, 1), 1, TOKENS)
    future = torch.ones(TOKENS, TOKENS, dtype=torch.bool).triu(1)
    masked = scores.masked_fill(future[:, None, None, :], -torch.inf)
    return masked.softmax(-1).expand(BATCH, -1, -1, -1, -1)


def twice(shown: Tensor) -> Tensor:
    """Two copies of each head's weights side by side, as the values repeat an identity."""
    return shown.expand(-1, -1, -1, 2, -1).flatten(2)


def seen(heads: int, trained: Callable[[Tensor], Tensor], rate: float = RATE) -> Seen:
    """What a module shows that does this to its weights in training."""
    kept = weights(heads)
    whole = twice(kept).clone()
    return Seen(whole, twice(trained(kept)), whole, rate, heads, Given(), Sample(b""))


def right(kept: Tensor) -> Tensor:
    """Each weight dropped by itself, what is kept enlarged."""
    return kept * (drawn(*kept.shape) >= RATE) / (1 - RATE)


def named(of: Seen) -> str | None:
    """The misconception that the first judgement which fails names."""
    for judgement in JUDGEMENTS:
        try:
            judgement(of)
        except CheckFailed as failed:
            return failed.misconception
    pytest.fail("every judgement passed")


@HEADS
def test_right_dropout_passes(heads: int) -> None:
    for judgement in JUDGEMENTS:
        judgement(seen(heads, right))


@HEADS
@pytest.mark.parametrize(
    ("trained", "misconception"),
    [
        (lambda kept: kept, "dropout-missing"),
        (lambda kept: right(kept) * (1 - RATE), "dropout-not-rescaled"),
        (lambda kept: right(kept[:1]).expand_as(kept), "dropout-shared-by-batch"),
        (lambda kept: kept * (drawn(*kept.shape) >= 0.6) / 0.4, "dropout-wrong-rate"),
        (lambda kept: kept * (drawn(*kept.shape) >= 0.6) / (1 - RATE), "dropout-wrong-rate"),
        (lambda kept: drawn(*kept.shape).softmax(-1), "dropout-on-scores"),
    ],
    ids=["nothing", "not-enlarged", "one-draw", "rate", "share", "changed"],
)
def test_misplaced_dropout_is_named(
    heads: int, trained: Callable[[Tensor], Tensor], misconception: str
) -> None:
    assert named(seen(heads, trained)) == misconception


@HEADS
def test_single_features_that_are_dropped_are_no_weights(heads: int) -> None:
    whole = twice(weights(heads)).clone()
    trained = whole * (drawn(*whole.shape) >= RATE) / (1 - RATE)
    shown = Seen(whole, trained, whole, RATE, heads, Given(), Sample(b""))
    assert named(shown) == "dropout-on-context"


@pytest.mark.parametrize("odd", [torch.nan, torch.inf])
def test_weights_that_are_no_numbers_say_nothing_of_the_others(odd: float) -> None:
    shown = seen(0, right)
    shown.kept[0, 0, 0] = odd
    assert not shown.telling[0, 0, 0]
    assert shown.telling[1:].sum() == seen(0, right).telling[1:].sum() > 0
    assert named(seen(0, lambda kept: torch.full_like(kept, odd))) == "dropout-on-scores"


@HEADS
def test_an_output_that_changes_in_eval_mode_is_named(heads: int) -> None:
    shown = seen(heads, right)
    shown.kept[1] = shown.trained[1]
    assert named(shown) == "dropout-in-eval"
