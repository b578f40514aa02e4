"""Which platform a download comes from, and what was handed in."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from autograder.errors import UsageError
from autograder.submissions.downloads import (
    blackboard,
    brightspace,
    canvas,
    github,
    gradescope,
    moodle,
    nbgrader,
)
from autograder.submissions.downloads.handin import HandIn
from autograder.submissions.downloads.listing import FolderListing, Listing, ZipListing
from autograder.submissions.intake import clean_text

# Those with the most distinctive names first.
PLATFORMS: tuple[tuple[str, Callable[[Listing], Iterator[HandIn]]], ...] = (
    ("gradescope", gradescope.hand_ins),
    ("moodle", moodle.hand_ins),
    ("brightspace", brightspace.hand_ins),
    ("blackboard", blackboard.hand_ins),
    ("canvas", canvas.hand_ins),
    ("nbgrader", nbgrader.hand_ins),
    ("github", github.hand_ins),
)
# Any student's folders may look like these; within another folder a single one proves nothing.
UNTELLING = ("nbgrader", "github")


class Download(msgspec.Struct, frozen=True):
    """A bulk download: what was handed in, and which other names are in it."""

    platform: str
    source: Path
    hand_ins: tuple[HandIn, ...]
    others: tuple[str, ...]  # with a slash at the end of a folder's
    refused: tuple[str, ...] = ()  # names in a zip that lead out of it


def recognise(source: Path, passed_over: Callable[[str], bool]) -> Download | None:
    """Recognise a platform's bulk download by its names.

    At least half of the names must have the platform's form, since a student's own file may
    happen to have it. The download may lie in a folder of its own within the source.

    Args:
        source: A folder or a zip.
        passed_over: Which names a teacher may keep beside the work; they do not count.

    Returns:
        The download; None for a folder that is not one.

    Raises:
        UsageError: A zip that no platform made.
    """
    packed = not source.is_dir()
    listing: Listing = ZipListing(source) if packed else FolderListing(source)
    refused = listing.refused if isinstance(listing, ZipListing) else ()
    while True:
        names = [name for name in listing.names() if not passed_over(name.rstrip("/"))]
        for platform, hand_ins in PLATFORMS:
            found = tuple(hand_ins(listing))
            taken = {name for hand_in in found for name in hand_in.names}
            others = tuple(listing.prefix + name for name in names if name not in taken)
            telling = platform not in UNTELLING or not listing.prefix or len(found) > 1
            if found and telling and len(others) <= len(names) / 2:
                return Download(platform, source, _told_apart(found), others, refused)
        if len(names) != 1 or not names[0].endswith("/"):
            break
        listing = listing.inside(names[0])
    if packed:
        raise UsageError(
            f"{source}: not a bulk download of a known platform; unpack it and name the folder,"
            " which needs one file, folder or zip for each student"
        )
    return None


def _told_apart(found: tuple[HandIn, ...]) -> tuple[HandIn, ...]:
    """Add its number to each of several hand-ins with the same label."""
    apart = tuple(msgspec.structs.replace(each, label=_label(each.label)) for each in found)
    count = Counter(each.label.casefold() for each in apart)
    return tuple(
        each
        if count[each.label.casefold()] == 1
        else msgspec.structs.replace(each, label=f"{each.label} {_number(each)}")
        for each in apart
    )


def _label(label: str) -> str:
    return clean_text(label).replace("/", "_").strip() or "nameless"


def _number(hand_in: HandIn) -> str:
    said = hand_in.origin.said
    return said.id or said.login or said.number or hand_in.origin.attempt
