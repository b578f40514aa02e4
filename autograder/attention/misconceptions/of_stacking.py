"""Heads joined otherwise by the wrapper that stacks them (section 3.6.1)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from msgspec.structs import replace
from torch import Tensor

from autograder.diagnosis.catalogue import Misconception
from autograder.diagnosis.chain import Step, Values

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
        title="heads averaged",
        found="The outputs of the heads are averaged.",
        expected="They should be joined along the last dimension: (b, T, H * d_out).",
        look="Look at what makes one tensor of all heads.",
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-summed",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.stack(parts).sum(dim=0)),
        title="heads added up",
        found="The outputs of the heads are added up.",
        expected="They should be joined along the last dimension: (b, T, H * d_out).",
        look="Look at what makes one tensor of all heads.",
        names=_WRAPPER,
    ),
    Misconception(
        id="one-head-repeated",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.cat([parts[0]] * len(parts), dim=-1)),
        title="one head repeated",
        found=(
            "All columns come from one head: it is called each time, or the list holds one object"
            " several times."
        ),
        expected="There should be H heads, each with weights of its own.",
        look="Look at how the list is made and at the loop that calls the heads.",
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-over-tokens",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.cat(parts, dim=1)),
        title="heads joined along the tokens",
        found="The heads' outputs are joined along the tokens: (b, H * T, d_out).",
        expected="They should be joined along the last dimension: (b, T, H * d_out).",
        look="Look at the dimension along which you join.",
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-over-batch",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.cat(parts, dim=0)),
        title="heads joined along the batch",
        found="The heads' outputs are joined along the batch: (H * b, T, d_out).",
        expected="They should be joined along the last dimension: (b, T, H * d_out).",
        look="Look at the dimension along which you join.",
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-stacked-4d",
        codings=(joined(lambda parts: torch.stack(parts, dim=2)),),
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.stack(parts, dim=0)),
        title="heads stacked in a new dimension",
        found="The heads' outputs stand in a dimension of their own, four in all.",
        expected="They should be joined along the last dimension: (b, T, H * d_out).",
        look="Look at the function that joins: stacking makes a new dimension.",
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-stacked-second",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.stack(parts, dim=1)),
        title="heads stacked in a new dimension",
        found="The heads' outputs stand in a new second dimension: (b, H, T, d_out).",
        expected="They should be joined along the last dimension: (b, T, H * d_out).",
        look="Look at the function that joins: stacking makes a new dimension.",
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-stacked-last",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.stack(parts, dim=-1)),
        title="heads stacked in a new last dimension",
        found="The heads' outputs stand in a new last dimension: (b, T, d_out, H).",
        expected="They should be joined along the last dimension that is there: (b, T, H * d_out).",
        look="Look at the function that joins: stacking makes a new dimension.",
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-interleaved-by-wrapper",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.stack(parts, dim=-1).flatten(-2)),
        title="columns of the heads interleaved",
        found="The columns of the heads take turns.",
        expected="The first d_out columns should be the first head's, the next ones the second's.",
        look=(
            "Look at how the heads' outputs are joined, and in which order two dimensions become "
            "one."
        ),
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-reversed",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.cat(parts[::-1], dim=-1)),
        title="heads joined in reverse",
        found="The heads' outputs are joined from the last to the first.",
        expected="The first d_out columns should be the first head's.",
        look="Look at the order in which the heads are called and joined.",
        names=_WRAPPER,
    ),
    Misconception(
        id="last-head-only",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: parts[-1]),
        title="only the last head returned",
        found="Only the last head's output comes back.",
        expected="The outputs of all heads should be joined: (b, T, H * d_out).",
        look="Look at what the loop keeps: each turn may write over the one before.",
        names=_WRAPPER,
    ),
    Misconception(
        id="first-head-only",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: parts[0]),
        title="only the first head returned",
        found="Only the first head's output comes back.",
        expected="The outputs of all heads should be joined: (b, T, H * d_out).",
        look="Look at what is joined, and whether the function returns in the middle of its loop.",
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-in-list",
        criterion="state",
        title="heads in a plain list",
        found="The heads stand in a Python list, which hides their parameters.",
        expected="They should stand in an `nn.ModuleList` called `heads`.",
        look="Look at how the constructor keeps the heads.",
        names=_WRAPPER,
    ),
)
