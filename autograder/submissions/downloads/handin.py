"""What a platform's download says about one hand-in."""

import re
from collections.abc import Iterable

import msgspec

from autograder.submissions.roster import Person


class Piece(msgspec.Struct, frozen=True):
    """A file of a download, or a folder where `where` ends in a slash."""

    where: str  # within the download
    path: str  # within the hand-in; of a folder "" for the hand-in itself


class Origin(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where an entry came from: kept in the gradebook, for exports and the late policy.

    Attributes:
        platform: The platform's name; empty for an ordinary class folder.
        said: What the platform's names say about the student.
        people: Who that is in the roster: several for a group, nobody without a match.
        late: Whether the platform marked it as late.
        submitted: When it came in, as the platform wrote it, without an offset from UTC.
        attempt: The platform's number of the hand-in.
    """

    platform: str
    said: Person = Person()
    people: tuple[Person, ...] = ()
    late: bool = False
    submitted: str = ""
    attempt: str = ""


class HandIn(msgspec.Struct, frozen=True):
    """What one student or group handed in last.

    Attributes:
        label: What people call it; not necessarily unique.
        pieces: Its files.
        origin: Where it came from.
        names: All names in the listing that belong to it, older attempts included.
        notes: What the student should know about the reading.
    """

    label: str
    pieces: tuple[Piece, ...]
    origin: Origin
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()


def newest_of_each(versions: Iterable[tuple[str, tuple[int, ...], Piece]]) -> tuple[Piece, ...]:
    """The newest piece of each name.

    Args:
        versions: Triples of name, age and piece; the highest age is the newest.
    """
    kept: dict[str, tuple[tuple[int, ...], Piece]] = {}
    for name, age, piece in versions:
        known = kept.get(name)
        if known is None or age > known[0]:
            kept[name] = (age, piece)
    return tuple(piece for _, (_, piece) in sorted(kept.items()))


def spaced(name: str) -> str:
    """A name with spaces where its platform wrote underscores."""
    return re.sub(r"[_\s]+", " ", name).strip()
