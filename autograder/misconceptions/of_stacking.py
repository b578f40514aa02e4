"""Heads joined otherwise by the wrapper that stacks them (section 3.6.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from autograder.catalogue import Misconception
from autograder.chain import Step, Values

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
        message=(
            "The heads' outputs are averaged, which throws away what they found apart. Put them "
            "side by side along the last dimension: (b, T, H * d_out)."
        ),
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-summed",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.stack(parts).sum(dim=0)),
        title="heads added up",
        message=(
            "The heads' outputs are added up. Put them side by side along the last dimension: "
            "(b, T, H * d_out)."
        ),
        names=_WRAPPER,
    ),
    Misconception(
        id="one-head-repeated",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.cat([parts[0]] * len(parts), dim=-1)),
        title="one head repeated",
        message=(
            "All columns come from one head: the same head is called each time (or one module "
            "stands in the list several times). Every head has weights of its own and gives its "
            "own columns."
        ),
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-over-tokens",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.cat(parts, dim=1)),
        title="heads joined along the tokens",
        message=(
            "The heads' outputs are joined along the tokens: (b, H * T, d_out). Join them along "
            "the last dimension: (b, T, H * d_out)."
        ),
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-over-batch",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.cat(parts, dim=0)),
        title="heads joined along the batch",
        message=(
            "The heads' outputs are joined along the batch: (H * b, T, d_out). Join them along "
            "the last dimension: (b, T, H * d_out)."
        ),
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-stacked-4d",
        codings=(joined(lambda parts: torch.stack(parts, dim=2)),),
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.stack(parts, dim=0)),
        title="heads stacked in a new dimension",
        message=(
            "The heads' outputs are stacked in a dimension of their own. Join them along the last "
            "one instead: (b, T, H * d_out)."
        ),
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-stacked-second",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.stack(parts, dim=1)),
        title="heads stacked in a new dimension",
        message=(
            "The heads' outputs are stacked in a dimension of their own, (b, H, T, d_out). Join "
            "them along the last one instead: (b, T, H * d_out)."
        ),
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-stacked-last",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.stack(parts, dim=-1)),
        title="heads stacked in a new last dimension",
        message=(
            "The heads' outputs are stacked in a last dimension of their own. Join them along the "
            "last dimension that is there: (b, T, H * d_out)."
        ),
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-interleaved-by-wrapper",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.stack(parts, dim=-1).flatten(-2)),
        title="columns of the heads interleaved",
        message=(
            "The columns of the heads alternate. All columns of the first head come first, then "
            "those of the second: join with `cat`, along the last dimension."
        ),
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-reversed",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: torch.cat(parts[::-1], dim=-1)),
        title="heads joined in reverse",
        message="The heads' outputs are joined from the last to the first. Keep their order.",
        names=_WRAPPER,
    ),
    Misconception(
        id="last-head-only",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: parts[-1]),
        title="only the last head returned",
        message=(
            "Only one head's output comes back: each turn of the loop overwrites the one before. "
            "Collect all of them and join them along the last dimension."
        ),
        names=_WRAPPER,
    ),
    Misconception(
        id="first-head-only",
        criterion="stacking",
        step="stacking",
        replace=joined(lambda parts: parts[0]),
        title="only the first head returned",
        message=(
            "Only one head's output comes back, perhaps because `return` stands within the loop. "
            "Collect all of them and join them along the last dimension."
        ),
        names=_WRAPPER,
    ),
    Misconception(
        id="heads-in-list",
        criterion="state",
        title="heads in a plain list",
        message=(
            "The heads stand in a Python list, so the module has no parameters: an optimizer never "
            "sees them. Keep them in an `nn.ModuleList`."
        ),
        names=_WRAPPER,
    ),
)
