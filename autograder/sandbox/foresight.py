"""First requests of a name's checks, sent in one frame before the checks are run.

What a check asks first depends on no answer, so it is known before any submission comes. Each
frame makes judge and guest take turns on a core, which costs more than most requests do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from . import messages, wire
from .frames import Buffer
from .packing import Parcel


@dataclass(frozen=True, slots=True)
class Part:
    """What one check asks first.

    tensors: the first of its own among the frame's, and the first that is not. handles: those of
    the modules that it builds, in order.
    """

    check: str
    operations: tuple[messages.Operation, ...]
    tensors: tuple[int, int]
    handles: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Script:
    """One frame: what the checks of a name ask first, in the order of the checks."""

    parts: tuple[Part, ...]
    seeds: tuple[int, ...]  # of all operations
    parcel: Parcel

    @property
    def operations(self) -> tuple[messages.Operation, ...]:
        """Those of all parts."""
        return tuple(each for part in self.parts for each in part.operations)


@dataclass(slots=True)
class Foretold:
    """The answer to one part, for when its check comes to ask.

    handles: those of the part that its check has not used yet, the next one last.
    """

    part: Part
    parcel: Parcel  # of the script
    outcomes: tuple[messages.Outcome, ...]
    tensors: list[torch.Tensor]
    handles: list[int]

    def answers(self, operations: tuple[messages.Operation, ...], cargo: Parcel) -> bool:
        """Whether this is what was asked, tensors included."""
        first, end = self.part.tensors
        return (
            operations == self.part.operations
            and cargo.heads == self.parcel.heads[first:end]
            and cargo.payload == self.parcel.payload[first:end]
        )

    def in_full(self, cargo: Parcel) -> tuple[tuple[wire.TensorHead, ...], list[Buffer]]:
        """Tensors to send where something else was asked: their numbers count from the script's
        first, so those before them come along."""
        first = self.part.tensors[0]
        heads = (*self.parcel.heads[:first], *cargo.heads)
        return heads, [*self.parcel.payload[:first], *cargo.payload]


def foretold(
    script: Script, outcomes: Sequence[messages.Outcome], tensors: list[torch.Tensor]
) -> dict[str, Foretold]:
    """Answers by check, up to the first part that was not carried out since one before raised."""
    told: dict[str, Foretold] = {}
    at = 0
    for part in script.parts:
        own = tuple(outcomes[at : at + len(part.operations)])
        at += len(part.operations)
        ended = bool(own) and isinstance(own[-1], messages.Raised)
        if not ended and len(own) < len(part.operations):
            break
        told[part.check] = Foretold(part, script.parcel, own, tensors, [*reversed(part.handles)])
        if ended:
            break
    return told
