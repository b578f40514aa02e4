"""Gradescope's CSV of grades."""

from collections.abc import Callable

import msgspec
import pytest

from autograder.errors import UsageError
from autograder.exports.filling import Wanted
from autograder.exports.final import Final
from autograder.exports.gradescope import fill
from autograder.submissions.sheet import Sheet

Finals = Callable[..., tuple[Final, ...]]
FILE = (
    "First Name,Last Name,SID,Email,Sections,Total Score,Max Points,Status,Submission ID\n"
    'Ada,Sample,s1,ada@x.org,"A, B",,100.0,Missing,\n'
    "Gabriel,García Márquez,s2,gabo@x.org,A,7.0,50.0,Graded,9\n"
)


def test_total_scores_come_in_scaled_to_each_rows_points(finals: Finals, wanted: Wanted) -> None:
    sheet = Sheet(FILE.encode(), "g.csv")
    account = fill(sheet, finals(**{"ada@x.org": 0.835, "gabriel garcía márquez": 1.0}), wanted)
    assert sheet.encode().decode() == FILE.replace(",,100.0", ",83.5,100.0").replace("7.0", "50")
    assert account.strangers == []


def test_stages_stand_at_the_end(finals: Finals, wanted: Wanted) -> None:
    sheet = Sheet(FILE.encode(), "g.csv")
    fill(sheet, finals(s1=0.8), msgspec.structs.replace(wanted, by_stage=True))
    assert sheet.header[-4:] == (
        "simplified (15 pts)",
        "trainable (25 pts)",
        "causal (30 pts)",
        "multi_head (30 pts)",
    )
    assert [sheet.text(1, column) for column in range(9, 13)] == ["12", "20", "24", "24"]


def test_what_the_kit_failed_on_is_told(finals: Finals, wanted: Wanted) -> None:
    sheet = Sheet(FILE.encode(), "g.csv")
    account = fill(sheet, finals(s1=None), wanted)
    assert sheet.encode().decode() == FILE
    assert ("s1", "the kit failed on the work") in account.left


def test_another_file_is_refused(finals: Finals, wanted: Wanted) -> None:
    with pytest.raises(UsageError, match="g.csv: line 1: expected a column Total Score"):
        fill(Sheet(b"SID,Email\ns1,a\n", "g.csv"), finals(s1=1.0), wanted)
