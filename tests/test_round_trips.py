"""An invented class goes out of a platform and back into it: every score in its own row.

The download is read with the platform's gradebook as the roster, each student gets a score of their
own, and the gradebook is filled in. One student handed nothing in, one is in no gradebook.
"""

import csv
import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from autograder.assignment.assignment import Late, Limits
from autograder.exports import canvas, gradescope, moodle
from autograder.exports.filling import Filled, Wanted
from autograder.exports.final import Final, final_scores
from autograder.gradebook.adjustments import Adjusted
from autograder.results.result import Result
from autograder.submissions.entries import Entry, absentees, entries_of, strangers
from autograder.submissions.roster import read_roster
from autograder.submissions.sheet import Sheet, written
from tests.conftest import ASSIGNMENT


def as_graded(result: Result) -> Adjusted:
    """A result that no teacher changed."""
    return Adjusted(result, result)


WANTED = Wanted(ASSIGNMENT.title, ASSIGNMENT.id, ASSIGNMENT.stages)
CLASS = [  # first name, last name
    ("Ada", "Sample"),
    ("Gabriel", "García Márquez"),
    ("小明", "王"),
    ('Siobhán "Shiv"', "O'Example-Ní"),
    ("Ngũgĩ wa", "Probe, Jr."),
    ("Éloïse Anne-Marie", "de la Test"),
    ("नमूना", "छात्र"),
    ("=2+3", "@Formula"),
    ("Ada", "Sample"),  # a namesake
]
ABSENT = ("Never", "Handed")
STRANGER = ("Some", "Stranger")
Row = Callable[[int, str, str], list[str]]
Member = Callable[[int, str, str], str]


def squeezed(name: str) -> str:
    """As Canvas makes a file's name of it."""
    kept = re.sub(r"[^\w\u0900-\u097f]", "", name.lower())
    return re.sub(r"_(\d+)_", r"\1", kept)


class Platform(msgspec.Struct, frozen=True):
    """How a platform writes a student down."""

    header: list[str]
    row: Row
    member: Member
    score: int  # the column
    fill: Callable[[Sheet, tuple[Final, ...], Wanted], Filled]
    metadata: str = ""


CANVAS = Platform(
    ["Student", "ID", "SIS Login ID", "Section", "Homework (1)", "Final Score"],
    lambda n, first, last: [f"{last}, {first}", str(4000 + n), f"l{n}", "S, 1", "", ""],
    lambda n, first, last: f"{squeezed(last + first)}_{4000 + n}_{9000 + n}_hw1.py",
    4,
    canvas.fill,
)
MOODLE = Platform(
    ["Identifier", "Full name", "Email address", "Status", "Grade", "Maximum grade"],
    lambda n, first, last: [
        f"Participant {4000 + n}",
        f"{first} {last}",
        f"l{n}@x.org",
        "Submitted",
        "",
        "100.00",
    ],
    lambda n, first, last: f"{first} {last}_{4000 + n}_assignsubmission_file/hw1.py",
    4,
    moodle.fill,
)
GRADESCOPE = Platform(
    ["First Name", "Last Name", "SID", "Email", "Total Score", "Max Points"],
    lambda n, first, last: [first, last, f"s{n}", f"l{n}@x.org", "", "100.0"],
    lambda n, first, last: f"submission_{n}/hw1.py",
    4,
    gradescope.fill,
    "submission_{n}:\n  :submitters:\n  - :name: {name}\n    :sid: s{n}\n    :email: l{n}@x.org\n",
)


@pytest.mark.parametrize(
    "platform", [CANVAS, MOODLE, GRADESCOPE], ids=["canvas", "moodle", "gradescope"]
)
def test_every_score_comes_back_into_its_own_row(platform: Platform, tmp_path: Path) -> None:
    rows = [platform.row(n, *name) for n, name in enumerate([*CLASS, ABSENT])]
    gradebook = tmp_path / "gradebook.csv"
    before = ("\ufeff" + written([platform.header, *rows]).replace("\n", "\r\n")).encode()
    gradebook.write_bytes(before)
    download = _download(platform, tmp_path / "download.zip")

    roster = read_roster(gradebook)
    entries = entries_of(download, tmp_path / "results", roster)
    assert len(entries) == len(CLASS) + 1
    assert len(strangers(entries)) == 1
    assert len(absentees(entries, roster)) == 1
    results = tuple(_graded(entry) for entry in entries)
    origins = {entry.name: entry.origin for entry in entries if entry.origin}
    sheet = Sheet(before, "gradebook.csv")
    filled = platform.fill(sheet, final_scores(map(as_graded, results), origins, Late()), WANTED)

    for n in range(len(CLASS)):
        rows[n][platform.score] = str(n + 1)
    after = ("\ufeff" + written([platform.header, *rows]).replace("\n", "\r\n")).encode()
    assert sheet.encode() == after
    assert [reason for _, reason in filled.strangers] == ["no matching row"]
    assert [reason for _, reason in filled.left] == ["nothing graded"]
    assert list(csv.reader(io.StringIO(after.decode("utf-8-sig"), newline="")))[1:] == rows


def _download(platform: Platform, file: Path) -> Path:
    """Each student's file says which score it is to get."""
    metadata = ""
    with zipfile.ZipFile(file, "w") as archive:
        for n, (first, last) in enumerate([*CLASS, STRANGER]):
            number = n if n < len(CLASS) else 77  # a number that nobody has
            archive.writestr(platform.member(number, first, last), f"score = {n + 1}\n")
            name = '"' + f"{first} {last}".replace('"', '\\"') + '"'
            metadata += platform.metadata.replace("{n}", str(number)).replace("{name}", name)
        if metadata:
            archive.writestr("submission_metadata.yml", metadata)
    return file


def _graded(entry: Entry) -> Result:
    (file,) = entry.read(Limits()).files
    score = float(file.data.split()[-1])
    return Result(1, entry.name, "d", "attention", score, 100.0, (), ())
