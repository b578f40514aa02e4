"""nbgrader's `submitted/`: `ada/attention/attention.ipynb`, with a `timestamp.txt`.

Only folders that hold nothing but folders are read so, and only where one of them has a
timestamp or all of them are of one assignment: else they are hand-ins like any other.
"""

from collections import Counter
from collections.abc import Iterator

from autograder.errors import UsageError
from autograder.submissions.downloads.handin import HandIn, Origin, Piece
from autograder.submissions.downloads.listing import Listing
from autograder.submissions.intake import clean_text
from autograder.submissions.roster import Person

TIMESTAMP = "timestamp.txt"


def hand_ins(listing: Listing) -> Iterator[HandIn]:
    """What was handed in, student by student.

    Raises:
        UsageError: The folders hold several assignments.
    """
    students = {
        name: tuple(each for each in listing.inside(name).names() if not each.startswith("."))
        for name in listing.names()
        if name.endswith("/") and not name.startswith(".")
    }
    students = {
        name: inner
        for name, inner in students.items()
        if inner and all(each.endswith("/") for each in inner)
    }
    stamped = Counter(
        assignment
        for name, inner in students.items()
        for assignment in inner
        if TIMESTAMP in listing.inside(name).inside(assignment).names()
    )
    if not stamped:
        return
    if len(stamped) > 1:
        found = ", ".join(sorted(each.rstrip("/") for each in stamped))
        raise UsageError(
            f"{listing.source}: hand-ins of several nbgrader assignments ({found}); copy the"
            " folders of one of them into a folder of their own"
        )
    (assignment,) = stamped
    for name, inner in students.items():
        if assignment in inner:
            place = listing.inside(name).inside(assignment)
            stamp = place.head(TIMESTAMP, 100).decode("utf-8", "replace")
            student = clean_text(name.rstrip("/"))
            yield HandIn(
                label=student,
                pieces=(Piece(listing.prefix + name + assignment, ""),),
                names=(name,),
                origin=Origin(
                    "nbgrader", said=Person(student=student), submitted=clean_text(stamp.strip())
                ),
            )
