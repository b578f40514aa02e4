"""Moodle: `Ada Lovelace_123456_assignsubmission_file/hw1.ipynb`.

The number is the participant's number in this assignment, the same as in the grading worksheet.
Since 3.1 each participant has a folder, whose name ended in an underscore until 4.0; before that,
and if folders are switched off, the file's name follows directly. Text typed in is an
`onlinetext.html` under `assignsubmission_onlinetext`. Under blind marking the name is
`Participant`; a team has the team's name.
"""

import re
from collections import defaultdict
from collections.abc import Iterator

from autograder.submissions.downloads.handin import HandIn, Origin, Piece, spaced
from autograder.submissions.downloads.listing import Listing
from autograder.submissions.roster import Person

NAMED = re.compile(
    r"(?P<name>.*?)_(?P<id>\d+)_assignsubmission_(?P<kind>[a-z]+?)(?:_?/|_(?P<file>.+))",
    re.DOTALL,
)
BLIND = "Participant"


def hand_ins(listing: Listing) -> Iterator[HandIn]:
    """What was handed in, a student or team at a time."""
    found: dict[str, list[re.Match[str]]] = defaultdict(list)
    for name in listing.names():
        match = NAMED.fullmatch(name)
        if match:
            found[match["id"]].append(match)
    for number, parts in found.items():
        name = spaced(parts[0]["name"])
        blind = name in ("", BLIND)
        yield HandIn(
            label=f"{BLIND} {number}" if blind else name,
            pieces=tuple(
                Piece(
                    listing.prefix + part[0],
                    part["file"] or ("" if part["kind"] == "file" else part["kind"] + "/"),
                )
                for part in parts
            ),
            origin=Origin("moodle", said=Person(name="" if blind else name, id=number)),
            names=tuple(part[0] for part in parts),
        )
