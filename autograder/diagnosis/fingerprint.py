"""Fingerprints of wrong outputs that nothing explains.

By them students who share an unknown mistake are reported together. A fingerprint holds, for each
input that all students of a run got, the shape of what came back and a few of its numbers, rounded.
Two programs that make the same mistake in another order of operations, or on another processor,
differ in the last digits: fingerprints are matched by
distance, never by equality. Pure functions; a fingerprint is plain data that goes into a
gradebook's teacher details and comes back from there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from torch import Tensor

#: Numbers kept of each output, spread evenly over it.
KEPT = 12

#: Digits kept of each number, relative to the output's largest.
DIGITS = 4

#: Two outputs are the same where no number differs by more than this share of the largest.
NEAR = 5e-3


class Trace(msgspec.Struct, frozen=True):
    """What came back for one input.

    shape: of the tensor; empty where an exception came. numbers: some of its numbers as shares of
    `size`, None where one is none (nan or infinite). size: the largest number, in absolute value.
    raised: the type of the exception.
    """

    shape: tuple[int, ...] = ()
    numbers: tuple[float | None, ...] = ()
    size: float = 0.0
    raised: str = ""


#: One trace for each input, in the order in which the checks asked.
Fingerprint = tuple[Trace, ...]


class Shared(msgspec.Struct, frozen=True):
    """Students whose outputs of one name are wrong in the same unknown way."""

    name: str
    students: tuple[str, ...]


def trace_of(value: Tensor | None, exception: str = "") -> Trace:
    """The trace of one output, or of the exception ("type: text") that came in its place."""
    if value is None:
        return Trace(raised=exception.partition(":")[0])
    import torch  # who reads fingerprints, to tell a class, has no other use for it

    flat = value.detach().double().flatten()
    size = float(flat[torch.isfinite(flat)].abs().max()) if torch.isfinite(flat).any() else 0.0
    size = _rounded(size)
    places = [number * len(flat) // KEPT for number in range(KEPT)] if len(flat) > KEPT else None
    chosen = flat if places is None else flat[places]
    shares = chosen / size if size else chosen
    numbers = tuple(
        round(float(each), DIGITS) + 0.0 if math.isfinite(float(each)) else None for each in shares
    )
    return Trace(tuple(value.shape), numbers, size)


def _rounded(number: float) -> float:
    """A number to so many digits that its last one never decides."""
    return float(f"{number:.{DIGITS - 1}e}")


def distance(one: Fingerprint, other: Fingerprint) -> float:
    """How far two fingerprints are apart, as a share of the outputs' size; infinite for others."""
    if len(one) != len(other):
        return math.inf
    return max((_apart(*pair) for pair in zip(one, other, strict=True)), default=0.0)


def _apart(one: Trace, other: Trace) -> float:
    if (one.shape, one.raised, len(one.numbers)) != (other.shape, other.raised, len(other.numbers)):
        return math.inf
    size = max(one.size, other.size)
    if size == 0.0:
        return 0.0 if one.numbers == other.numbers else math.inf
    apart = 0.0
    for ours, theirs in zip(one.numbers, other.numbers, strict=True):
        if ours is None or theirs is None:
            if ours is not theirs:
                return math.inf
            continue
        apart = max(apart, abs(ours * one.size - theirs * other.size) / size)
    return apart


def groups(
    fingerprints: Mapping[str, Fingerprint], near: float = NEAR
) -> tuple[tuple[str, ...], ...]:
    """Students whose fingerprints are near, of one name; those who stand alone are left out.

    Who is near somebody of a group belongs to it. The largest group comes first, the students of
    a group in the order of their names, whatever order they are given in.
    """
    rest = set(fingerprints)
    found = []
    while rest:
        group = _around(min(rest), rest, fingerprints, near)
        rest -= group
        if len(group) > 1:
            found.append(tuple(sorted(group)))
    return tuple(sorted(found, key=lambda group: (-len(group), group)))


def _around(
    first: str, among: set[str], fingerprints: Mapping[str, Fingerprint], near: float
) -> set[str]:
    group, waiting = {first}, [first]
    while waiting:
        here = fingerprints[waiting.pop()]
        reached = {other for other in among - group if distance(here, fingerprints[other]) <= near}
        group |= reached
        waiting += sorted(reached)
    return group


def shared_mistakes(details: Mapping[str, bytes]) -> tuple[Shared, ...]:
    """Who shares an unknown mistake, by name, from the teacher details of a class.

    details: by student, as the gradebook keeps them (JSON; empty where there are none).
    """
    by_name: dict[str, dict[str, Fingerprint]] = {}
    for student, data in details.items():
        for name, fingerprint in fingerprints_in(data):
            by_name.setdefault(name, {})[student] = fingerprint
    return tuple(Shared(name, group) for name in sorted(by_name) for group in groups(by_name[name]))


class _Details(msgspec.Struct):
    """The part of a teacher's details that is read here."""

    fingerprints: dict[str, Fingerprint] = {}


def fingerprints_in(details: bytes) -> Iterator[tuple[str, Fingerprint]]:
    """The fingerprints in one student's details, by name."""
    if details:
        yield from msgspec.json.decode(details, type=_Details).fingerprints.items()


def plain(fingerprint: Sequence[Trace]) -> list[dict[str, object]]:
    """A fingerprint as it is kept in the details."""
    return [msgspec.to_builtins(trace) for trace in fingerprint]
