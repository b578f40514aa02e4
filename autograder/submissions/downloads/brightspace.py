"""Brightspace: `39786-640693 - Ada Lovelace - Oct 10, 2025 1022 AM/hw1.ipynb`, with `index.html`.

The same files may also lie flat, the file's name after another ` - `. Of several hand-ins of one
student the last one counts.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime

from autograder.submissions.downloads.handin import HandIn, Origin, Piece
from autograder.submissions.downloads.listing import Listing
from autograder.submissions.roster import Person

NAMED = re.compile(
    r"(?P<id>\d+)-(?P<folder>\d+) - (?P<name>.+?) - "
    r"(?P<when>[A-Za-z]{3} \d{1,2}, \d{4} \d{3,4} [AP]M)(?:/| - (?P<file>.+))",
    re.DOTALL,
)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def hand_ins(listing: Listing) -> Iterator[HandIn]:
    """What was handed in, a student at a time."""
    found: dict[str, list[tuple[datetime, re.Match[str]]]] = defaultdict(list)
    for name in listing.names():
        match = NAMED.fullmatch(name)
        when = _when(match["when"]) if match else None
        if match and when:
            found[match["id"]].append((when, match))
    for number, files in found.items():
        last = max(when for when, _ in files)
        counted = [match for when, match in files if when == last]
        before = len({when for when, _ in files}) - 1
        yield HandIn(
            label=counted[0]["name"],
            pieces=tuple(
                Piece(listing.prefix + match[0], match["file"] or "") for match in counted
            ),
            origin=Origin(
                "brightspace",
                said=Person(name=counted[0]["name"], id=number),
                submitted=last.strftime("%Y-%m-%d %H:%M:%S"),
                attempt=str(before + 1),
            ),
            names=tuple(match[0] for _, match in files),
            notes=(f"the last of {before + 1} hand-ins",) if before else (),
        )


def _when(text: str) -> datetime | None:
    """`Oct 10, 2025 1022 AM`, whatever language this machine speaks."""
    month, day, year, clock, half = text.replace(",", "").split()
    try:
        hour = int(clock[:-2]) % 12 + 12 * (half == "PM")
        return datetime(int(year), MONTHS.index(month.lower()) + 1, int(day), hour, int(clock[-2:]))
    except ValueError:
        return None
