"""Canvas: `lovelaceada_LATE_4021_998877_hw1.ipynb`, all of them side by side.

First comes the sortable name in lower case, or the group's name if a group hands in; then LATE if
it was late, the user's number, the attachment's number, the file's name. Anonymous assignments
have `anon_` and a random word instead of name and number. Text typed in is a `..._text.html`, a
web address a `..._link.html`.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from autograder.submissions.downloads.handin import HandIn, Origin, Piece, newest_of_each
from autograder.submissions.downloads.listing import Listing
from autograder.submissions.intake import listed
from autograder.submissions.roster import Person

NAMED = re.compile(
    r"(?P<name>.+?)_(?:(?P<late>LATE)_)?(?P<id>\d+)_(?:(?P<attachment>\d+)_(?P<file>.+)"
    r"|(?P<typed>(?:text|link)\.html))",
    re.DOTALL,
)
ANONYMOUS = re.compile(
    r"(?:(?P<late>LATE)_)?anon_(?P<id>[^_]+)_(?:(?P<attachment>\d+)_(?P<file>.+)"
    r"|(?P<typed>(?:text|link)\.html))",
    re.DOTALL,
)
# What Canvas adds to the name of a file that is handed in again: -1 to -7, then a random word.
AGAIN = re.compile(
    r"(?P<stem>.+)-(?:\d{1,2}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?P<suffix>\.[^.]+)?"
)


def hand_ins(listing: Listing) -> Iterator[HandIn]:
    """What was handed in, a student or group at a time."""
    found: dict[tuple[bool, str], list[re.Match[str]]] = defaultdict(list)
    for name in listing.names():
        anonymous = ANONYMOUS.fullmatch(name)
        match = anonymous if anonymous is not None else NAMED.fullmatch(name)
        if match is not None and not name.endswith("/"):
            found[anonymous is not None, match["id"]].append(match)
    for (unnamed, user), files in found.items():
        pieces = _newest(listing, files)
        kept = {piece.where for piece in pieces}
        counted = [file for file in files if listing.prefix + file[0] in kept]
        left = [file["file"] or file["typed"] for file in files if file not in counted]
        name = f"anonymous {user}" if unnamed else files[0]["name"]
        numbers = [int(file["attachment"]) for file in counted if file["attachment"]]
        yield HandIn(
            label=name,
            pieces=pieces,
            origin=Origin(
                platform="canvas",
                said=Person() if unnamed else Person(name=name, id=user),
                late=any(file["late"] for file in counted),
                attempt=str(max(numbers, default="")),
            ),
            names=tuple(file[0] for file in files),
            notes=(f"handed in again since, so not read: {listed(left)}",) if left else (),
        )


def _newest(listing: Listing, files: Iterable[re.Match[str]]) -> tuple[Piece, ...]:
    """The files that count, under the names that the student gave them.

    `hw1-1.ipynb` is `hw1.ipynb` handed in again where that is there too. Where it is not, it may
    as well be one of `part-1.py` and `part-2.py`; then all are kept, and a lone one gets its name
    back, without which nothing could import it.
    """
    versions = []
    whole: dict[str, set[str]] = defaultdict(set)
    for file in files:
        name = file["file"] or file["typed"]
        whole[_original(name)].add(name)
    for file in files:
        name = file["file"] or file["typed"]
        original = _original(name)
        others = whole[original]
        if original in others or len(others) == 1:
            name = original
        age = (int(file["attachment"]),) if file["attachment"] else (0,)
        versions.append((name, age, Piece(listing.prefix + file[0], name)))
    return newest_of_each(versions)


def _original(name: str) -> str:
    again = AGAIN.fullmatch(name)
    return again["stem"] + (again["suffix"] or "") if again else name
