"""What a platform's download tells of one hand-in."""

import re
from collections.abc import Iterable

import msgspec

from autograder.submissions.roster import Person


class Piece(msgspec.Struct, frozen=True):
    """A file of a download, or a folder where `where` ends in a slash."""

    where: str  # within the download
    path: str  # within the hand-in; of a folder "" for the hand-in itself


class Origin(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where an entry came from: kept in the gradebook, for exports and late policy.

    `said` is what the platform's names tell of the student, `people` who that is in the roster:
    several for a group, nobody where there was no roster or nothing in it fits. `late`: the
    platform said so. `submitted`: when, as the platform wrote it, without an offset.
    """

    platform: str
    said: Person = Person()
    people: tuple[Person, ...] = ()
    late: bool = False
    submitted: str = ""
    attempt: str = ""  # the platform's number of what was handed in


class HandIn(msgspec.Struct, frozen=True):
    """What one student or group handed in last."""

    label: str  # how people call it; not always different from others
    pieces: tuple[Piece, ...]
    origin: Origin
    names: tuple[str, ...]  # of the listing, all that are this hand-in's, older ones included
    notes: tuple[str, ...] = ()


def newest_of_each(versions: Iterable[tuple[str, tuple[int, ...], Piece]]) -> tuple[Piece, ...]:
    """Of the pieces of one name the newest one: `(name, age, piece)`, the highest age counts."""
    kept: dict[str, tuple[tuple[int, ...], Piece]] = {}
    for name, age, piece in versions:
        known = kept.get(name)
        if known is None or age > known[0]:
            kept[name] = (age, piece)
    return tuple(piece for _, (_, piece) in sorted(kept.items()))


def spaced(name: str) -> str:
    """A name whose platform wrote underscores for spaces."""
    return re.sub(r"[_\s]+", " ", name).strip()
