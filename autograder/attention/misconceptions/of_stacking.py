"""Heads joined otherwise by the wrapper that stacks them (section 3.6.1)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from msgspec.structs import replace
from torch import Tensor

from autograder.attention.chain import Values
from autograder.diagnosis.catalogue import Misconception
from autograder.diagnosis.chain import Step

_WRAPPER = ("MultiHeadAttentionWrapper",)


def joined(join: Callable[[tuple[Tensor, ...]], Tensor]) -> Step:
    """The heads' outputs put together in another way."""

    def step(values: Values) -> Values:
        return replace(values, output=join(values.given.parts))

    return step


STACKING = (
    Misconception(
        id="heads-averaged",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.stack(parts).mean(dim=0)),
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-summed",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.stack(parts).sum(dim=0)),
        names=_WRAPPER,
    ),
    Misconception(
        id="one-head-repeated",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.cat([parts[0]] * len(parts), dim=-1)),
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-over-tokens",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.cat(parts, dim=1)),
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-over-batch",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.cat(parts, dim=0)),
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-stacked-4d",
        codings=(joined(lambda parts: torch.stack(parts, dim=2)),),
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.stack(parts, dim=0)),
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-stacked-second",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.stack(parts, dim=1)),
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-stacked-last",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.stack(parts, dim=-1)),
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-interleaved-by-wrapper",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.stack(parts, dim=-1).flatten(-2)),
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-reversed",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.cat(parts[::-1], dim=-1)),
        names=_WRAPPER,
    ),
    Misconception(
        id="last-head-only",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: parts[-1]),
        names=_WRAPPER,
    ),
    Misconception(
        id="first-head-only",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: parts[0]),
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-in-list",
        criterion="state",
        names=_WRAPPER,
    ),
)
