"""Dropout judged without seeds, by what it leaves behind.

One-hot tokens and values that repeat an identity show the attention weights twice. In training
each weight must come out as 0 or as itself / (1 - p), the same in both copies, drawn anew for
every text and head. The module's own output in eval mode is what it is compared with, so that a
mistake elsewhere is not charged here.

What nearly every module gets past is looked at with numpy, whose operations on so few numbers take
a tenth of the time of torch's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from msgspec import structs
from torch import Tensor

from autograder.attention.chain import Given, Values
from autograder.attention.checks.attention import identity_weights
from autograder.attention.checks.subject import build
from autograder.attention.names import Module
from autograder.attention.sample import Sample, Sizes, one_hot
from autograder.checks.failures import CheckFailed, require
from autograder.diagnosis.chain import Chain
from autograder.diagnosis.compare import same
from autograder.diagnosis.explain import Explanation
from autograder.sandbox.host.student import Student

TOKENS = 5
BATCH = 48

#: Weights smaller than this share of the largest say nothing: dropped or kept looks alike.
FAINT = 1e-3

#: Weights in training that are so small are dropped.
NOTHING_LEFT = 1e-6

#: How far a weight may be from what it should be, as a share of that.
NEAR = 1e-3

NOTHING_DROPPED = "dropout-missing"

Numbers = npt.NDArray[Any]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Seen:
    """Outputs of one module, `(b, T, columns)`: in eval mode, in training, in eval mode again."""

    kept: Tensor
    trained: Tensor
    again: Tensor
    rate: float
    heads: int
    given: Given
    sample: Sample

    @cached_property
    def telling(self) -> Flags:
        """Positions whose weight is large enough to say whether it was dropped."""
        size = np.abs(_numbers(self.kept))
        largest = size.max()
        if not np.isfinite(largest):
            size[~np.isfinite(size)] = 0.0
            largest = size.max()
        telling: Flags = size > size.dtype.type(FAINT) * largest
        return telling

    @cached_property
    def dropped(self) -> Flags:
        """Positions whose weight is 0 in training."""
        size = np.abs(_numbers(self.trained))
        dropped: Flags = size <= size.dtype.type(NOTHING_LEFT)
        return dropped

    def imagined(self, chain: Chain, explanation: Explanation) -> Seen | None:
        """What a module with the known mistakes and right dropout would have shown."""
        kept = explanation.expected(chain, self.given)
        if kept is None:
            return None

        def drop(values: Values) -> Values:
            drawn = self.sample.numbers("drawn", *values.weights.shape)
            weights = values.weights * (drawn >= 2 * self.rate - 1) / (1 - self.rate)
            return structs.replace(values, weights=weights)

        dropping = Explanation(replaced={**explanation.replaced, "dropout": drop})
        trained = dropping.expected(chain, self.given)
        if trained is None:
            return None
        return dataclasses.replace(self, kept=kept, trained=trained, again=kept)


def watched(student: Student, sample: Sample, declared: Module, rate: float) -> Seen:
    """Run a module with dropout `rate` on one-hot tokens, in eval and in training mode."""
    heads = declared.heads_to_watch
    sizes = structs.replace(
        declared.sizes["usual"],
        d_in=TOKENS,
        d_out=max(heads, 1) * 2 * TOKENS,
        tokens=TOKENS,
        batch=BATCH,
        context_length=TOKENS,
        heads=heads,
    )
    weights = identity_weights(sample, sizes, copies=2)
    subject = build(student, sample, declared, sizes, dropout=rate, weights=weights)
    tokens = one_hot(TOKENS, BATCH)
    kept, trained, again = subject.in_modes(tokens, (False, True, False))
    return Seen(kept, trained, again, rate, heads, subject.given(tokens), sample)


Judgement = Callable[[Seen], None]


def judged(seen: Seen, *judgements: Judgement) -> None:
    """Make each judgement; a failure is excused where right dropout would have failed as well."""
    for judgement in judgements:
        try:
            judgement(seen)
        except CheckFailed as failed:
            failed.excuse = partial(_fails_anyhow, seen, judgement, failed.misconception)
            raise


def _fails_anyhow(
    seen: Seen,
    judgement: Judgement,
    misconception: str | None,
    chain: Chain,
    explanation: Explanation,
) -> bool:
    """Whether a module with the known mistakes and right dropout would fail the judgement.

    Where nothing was dropped and dropping would have shown, another failure is no excuse.
    """
    imagined = seen.imagined(chain, explanation)
    if imagined is None:
        return True
    try:
        judgement(imagined)
    except CheckFailed as failed:
        return misconception != NOTHING_DROPPED or failed.misconception == NOTHING_DROPPED
    return False


def weights_are_dropped(seen: Seen) -> None:
    """In training a weight is 0 or itself / (1 - p), at about the rate that was asked for."""
    telling = seen.telling
    count = np.count_nonzero(telling)
    if not count:
        raise _wrong("no weights to be seen", None)
    if same(seen.trained, seen.kept):
        raise _wrong("nothing dropped in training mode", NOTHING_DROPPED)
    dropped = seen.dropped
    fits = dropped | _enlarged(seen) | ~telling
    unpaired = _copies_differ(seen)
    if not fits.all() or unpaired:
        raise _named(seen, torch.from_numpy(dropped), torch.from_numpy(telling), unpaired)
    share = float(np.float32(np.count_nonzero(dropped & telling)) / np.float32(count))
    # Six standard deviations of the independent draws among the telling positions, of which two
    # copies share one.
    reach = 6 * (seen.rate * (1 - seen.rate) / (count / 2)) ** 0.5
    if abs(share - seen.rate) > reach:
        raise _wrong("another share of dropped weights than asked for", "dropout-wrong-rate")


@np.errstate(all="ignore")  # nan and inf are near to nothing
def _enlarged(seen: Seen) -> Flags:
    """Positions whose weight is itself / (1 - p) in training, as `_near` has it."""
    kept = _numbers(seen.kept)
    number = kept.dtype.type
    wanted = kept / number(1 - seen.rate)
    apart = np.abs(_numbers(seen.trained) - wanted)
    near: Flags = apart <= number(NEAR) * np.abs(wanted) + number(NOTHING_LEFT)
    return near


def _numbers(tensor: Tensor) -> Numbers:
    """The numbers of a tensor, not to be changed."""
    found: Numbers = tensor.numpy()
    return found


def _named(seen: Seen, dropped: Tensor, telling: Tensor, unpaired: bool) -> CheckFailed:
    """Which misplaced dropout leaves what was seen."""
    kept, trained = seen.kept, seen.trained
    if unpaired:
        pattern = dropped | ~telling
        same_down = (pattern == pattern[:, -1:, :])[telling]
        if bool(same_down.all()):
            return _wrong("whole columns of the values dropped", "dropout-on-values")
        return _wrong("single features dropped, not weights", "dropout-on-context")
    if bool((dropped | _near(trained, kept))[telling].all()):
        return _wrong("what is kept was not enlarged", "dropout-not-rescaled")
    grown = (trained / kept)[telling & ~dropped & torch.isfinite(trained)]
    if bool(dropped[telling].any()) and bool(_near(grown, grown[:1]).all()):
        return _wrong("what is kept enlarged for another rate", "dropout-wrong-rate")
    sums = _row_sums(trained, seen.heads)
    sound = torch.isfinite(sums)
    whole = _near(sums, _row_sums(kept, seen.heads)) | (sums == 0)
    rows = dropped & torch.isfinite(trained) & telling
    if bool(rows.any()) and bool(whole[sound].all()):
        return _wrong("rows that sum to 1 again after dropping", "dropout-renormalised")
    if not bool(rows.any()) or bool((~sound).any()):
        return _wrong("weights changed in training, but none dropped", "dropout-on-scores")
    left = telling & ~dropped & torch.isfinite(trained)
    if bool(left.any()):
        factor = (trained[left] / kept[left]).median()
        if bool((factor > 1) & _near(trained[left], kept[left] * factor).all()):
            return _wrong("weights enlarged for another rate than asked for", "dropout-wrong-rate")
    return _wrong("other numbers in training than dropped and enlarged weights", None)


def _row_sums(shown: Tensor, heads: int) -> Tensor:
    """Sums of the weights of each token and head, from their first copy: `(b, T, H)`."""
    parts = max(heads, 1)
    apart: Tensor = shown.unflatten(-1, (parts, 2, TOKENS))
    return apart[..., 0, :].sum(-1)


def _near(found: Tensor, wanted: Tensor) -> Tensor:
    return (found - wanted).abs() <= NEAR * wanted.abs() + NOTHING_LEFT


def _copies_differ(seen: Seen) -> bool:
    """Whether two columns that show the same weights in eval mode differ in training."""
    wide = seen.kept.shape[-1]
    parts = max(seen.heads, 1)
    if wide != parts * 2 * TOKENS:
        return False
    shape = (*seen.trained.shape[:-1], parts, 2, TOKENS)
    copies = _numbers(seen.trained).reshape(shape)
    if (copies[..., 0, :] == copies[..., 1, :]).all():
        return False  # to the bit: the usual case, seen at once
    trained = seen.trained.unflatten(-1, (parts, 2, TOKENS))
    kept = seen.kept.unflatten(-1, (parts, 2, TOKENS))
    alike = _near(kept[..., 0, :], kept[..., 1, :])
    pairs = torch.nan_to_num(trained, nan=0.0, posinf=0.0, neginf=0.0)
    return bool((~_near(pairs[..., 0, :], pairs[..., 1, :]) & alike).any())


def _wrong(found: str, misconception: str | None) -> CheckFailed:
    return CheckFailed(
        found, "each attention weight 0 or enlarged by 1 / (1 - p)", misconception=misconception
    )


def draws_are_independent(seen: Seen) -> None:
    """Dropout is drawn independently for each sequence and each head."""
    dropped = seen.dropped & seen.telling
    if not dropped.any():
        return  # nothing is dropped: told by another check
    texts_alike = bool((dropped == dropped[:1]).all())
    heads_alike = False
    parts = seen.heads
    if parts > 1 and dropped.shape[-1] == parts * 2 * TOKENS:
        shape = (*dropped.shape[:-1], parts, 2 * TOKENS)
        by_head, known = dropped.reshape(shape), seen.telling.reshape(shape)
        both = known & known[:, :, :1]
        heads_alike = bool(((by_head == by_head[:, :, :1]) | ~both).all())
    require(
        not texts_alike and not heads_alike,
        "the same weights dropped in every " + ("sequence" if texts_alike else "head"),
        "an independent draw for every sequence and head",
        misconception="dropout-shared-by-batch",
    )


def nothing_is_dropped_in_eval(seen: Seen) -> None:
    """In eval mode nothing is dropped: equal sequences give equal outputs, at every call."""
    require(
        same(seen.again, seen.kept) and same(seen.kept, seen.kept[:1].expand_as(seen.kept)),
        "numbers that change from call to call in eval mode",
        "nothing dropped in eval mode",
        misconception="dropout-in-eval",
    )


def rate_zero_drops_nothing(
    student: Student, sample: Sample, declared: Module, sizes: Sizes
) -> None:
    """With a rate of 0 training and eval mode give the same."""
    subject = build(student, sample, declared, sizes)
    tokens = sample.tokens("strong", sizes)
    kept, trained = subject.in_modes(tokens, (False, True))
    require(
        same(trained, kept),
        "another output in training with dropout 0",
        "the same output in both modes",
    )
