"""Requests of a name's checks, sent in one frame before the checks are run.

What a check asks first depends on no answer, so it is known before any submission comes. What it
asks next depends on the modules that were built for it, and on nothing else: it is known as soon as
they are told of. Each frame makes judge and guest take turns on a core, which costs more than most
requests do.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from ..protocol import messages, wire
from ..protocol.frames import Buffer
from .packing import Parcel


@dataclass(frozen=True, slots=True)
class Part:
    """What one check asks in one frame.

    tensors: the first of its own among the frame's, and the first that is not. handles: those of
    the modules that it builds, in order.
    """

    check: str
    operations: tuple[messages.Operation, ...]
    tensors: tuple[int, int]
    handles: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Script:
    """One frame: what the checks of a name ask first, or next, in the order of the checks."""

    parts: tuple[Part, ...]
    seeds: tuple[int, ...]  # of all operations
    parcel: Parcel

    @property
    def operations(self) -> tuple[messages.Operation, ...]:
        """Those of all parts."""
        return tuple([each for part in self.parts for each in part.operations])

    def without(self, count: int) -> Script:
        """What is left of it without its first parts."""
        carried_out = sum(len(part.operations) for part in self.parts[:count])
        return Script(self.parts[count:], self.seeds[carried_out:], self.parcel)


@dataclass(slots=True)
class Foretold:
    """The answer to one part, for when its check comes to ask.

    handles: those of the part that its check has not used yet, the next one last. then: the answer
    to what the check asks next, where that is there as well.
    """

    part: Part
    parcel: Parcel  # of the script
    outcomes: tuple[messages.Outcome, ...]
    tensors: list[torch.Tensor]
    handles: list[int]
    then: Foretold | None = None

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

    @property
    def last(self) -> Foretold:
        """The answer to the last of what the check asks that is there."""
        return self if self.then is None else self.then.last

    @property
    def modules(self) -> Hashable:
        """All that it tells of modules; None where it tells of anything else."""
        told: list[Hashable] = []
        for outcome in self.outcomes:
            if isinstance(outcome, messages.Answer) and isinstance(outcome.value, wire.ModuleValue):
                told.append((outcome.value, outcome.notes, outcome.dropped))
            elif not isinstance(outcome, messages.Done):
                return None
        return tuple(told) or None

    def unused(self) -> Foretold:
        """The same once more, as it was before its check came."""
        then = None if self.then is None else self.then.unused()
        return replace(self, handles=[*reversed(self.part.handles)], then=then)


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


def join(known: dict[str, Foretold], told: Mapping[str, Foretold]) -> None:
    """Put answers to what is known by check; those to what a check asks next follow the others."""
    for check, answer in told.items():
        before = known.get(check)
        if before is None:
            known[check] = answer
        else:
            before.last.then = answer
