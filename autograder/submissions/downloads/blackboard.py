"""Blackboard: `HW2_al123_attempt_2021-07-20-21-02-38_hw2.ipynb`, flat.

Beside the files of an attempt lies a text file named like them but without their own names; it
says who the student is: `Name: Ada Lovelace (al123)`. Of several attempts the last one counts.
"""

import re
from collections import defaultdict
from collections.abc import Iterator

from autograder.submissions.downloads.handin import HandIn, Origin, Piece
from autograder.submissions.downloads.listing import Listing
from autograder.submissions.intake import clean_text
from autograder.submissions.roster import Person

NAMED = re.compile(
    r"(?P<work>.+)_(?P<login>[^_]+)_attempt_(?P<when>\d{4}(?:-\d\d){5})(?:_(?P<file>.+)|\.txt)",
    re.DOTALL,
)
TOLD = re.compile(r"^Name:\s*(?P<name>.*?)\s*\((?P<login>[^()]*)\)\s*$", re.MULTILINE)
TEXT = 4_000  # bytes of the text that are looked at


def hand_ins(listing: Listing) -> Iterator[HandIn]:
    """What was handed in, a student at a time."""
    found: dict[str, list[re.Match[str]]] = defaultdict(list)
    for name in listing.names():
        match = NAMED.fullmatch(name)
        if match and not name.endswith("/"):
            found[match["login"]].append(match)
    for login, files in found.items():
        last = max(file["when"] for file in files)
        counted = [file for file in files if file["when"] == last]
        texts = [file[0] for file in counted if file["file"] is None]
        name = next(filter(None, (_name(listing, text) for text in texts)), "")
        date, time = last[:10], last[11:].replace("-", ":")
        before = len({file["when"] for file in files}) - 1
        yield HandIn(
            label=login,
            pieces=tuple(
                Piece(listing.prefix + file[0], file["file"] or "attempt.txt") for file in counted
            ),
            origin=Origin(
                "blackboard",
                said=Person(login=login, name=name),
                submitted=f"{date} {time}",
                attempt=str(before + 1),
            ),
            names=tuple(file[0] for file in files),
            notes=(f"the last of {before + 1} attempts",) if before else (),
        )


def _name(listing: Listing, text: str) -> str:
    told = TOLD.search(listing.head(text, TEXT).decode("utf-8-sig", "replace"))
    return clean_text(told["name"]) if told else ""
