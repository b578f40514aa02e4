"""Canvas's gradebook: one column is filled in, and nothing else changes."""

import csv
import io
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.assignment.assignment import Late
from autograder.errors import UsageError
from autograder.exports.canvas import fill
from autograder.exports.filling import Filled, Wanted
from autograder.exports.final import Final, final_scores
from autograder.gradebook.adjustments import Adjusted
from autograder.results.result import Result
from autograder.submissions.downloads.handin import Origin
from autograder.submissions.roster import Person
from autograder.submissions.sheet import Sheet, written

Finals = Callable[..., tuple[Final, ...]]


def as_graded(result: Result) -> Adjusted:
    """A result that no teacher changed."""
    return Adjusted(result, result)


HEADER = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Essay (11),Homework 1 (5567),Current Score,"
    "Final Score\r\n"
)
POSSIBLE = "    Points Possible,,,,,5,{},(read only),(read only)\r\n"
MANUAL = ",,,,,Manual Posting,,,\r\n"
ROWS = (
    '"Sample, Ada",4021,s1,ada,Sec 1,3.50,,81,81\r\n'
    '"García Márquez, Gabriel ""Gabo""",4022,s2,gabo,"Sec 1, late",,7,,\r\n'
    '"Chen, Wei",4023,s3,cw1,Sec 1,,,,\r\n'
    '"Chen, Wei",4024,s4,cw2,Sec 1,,EX,,\r\n'
    '"Student, Test",9999,,x,Sec 1,,,,\r\n'
)
FILE = "\ufeff" + HEADER + POSSIBLE.format(100) + MANUAL + ROWS


def filled(text: str, finals: tuple[Final, ...], wanted: Wanted) -> tuple[str, Filled]:
    sheet = Sheet(text.encode(), "gradebook.csv")
    account = fill(sheet, finals, wanted)
    return sheet.encode().decode(), account


class TestTheColumn:
    def test_scores_come_into_it_and_every_other_byte_stays(
        self, finals: Finals, wanted: Wanted
    ) -> None:
        wanted = msgspec.structs.replace(wanted, column="Homework 1")
        after, account = filled(FILE, finals(ada=0.835, gabo=1.0, cw1=0.5), wanted)
        assert after == FILE.replace("3.50,,81", "3.50,83.5,81").replace(
            'late",,7,', 'late",,100,'
        ).replace("cw1,Sec 1,,,,", "cw1,Sec 1,,50,,")
        assert sorted(final.student for final in account.rows.values()) == ["ada", "cw1", "gabo"]

    @pytest.mark.parametrize("column", ["Homework 1", "homework 1 (5567)", "5567"])
    def test_it_is_found_by_header_title_or_number(
        self, finals: Finals, wanted: Wanted, column: str
    ) -> None:
        wanted = msgspec.structs.replace(wanted, column=column)
        assert "3.50,100,81" in filled(FILE, finals(ada=1.0), wanted)[0]

    def test_the_assignments_own_title_needs_no_telling(
        self, finals: Finals, wanted: Wanted
    ) -> None:
        text = FILE.replace("Homework 1", f'"{wanted.title}').replace("(5567)", '(5567)"')
        assert "3.50,100,81" in filled(text, finals(ada=1.0), wanted)[0]

    def test_the_only_one_needs_no_telling(self, finals: Finals, wanted: Wanted) -> None:
        text = "Student,ID,Section,HW (1),Final Score\nAda Sample,4021,S,,\n"
        assert filled(text, finals(**{"Ada Sample": 1.0}), wanted)[0].endswith("S,100,\n")

    def test_of_several_the_teacher_has_to_choose(self, finals: Finals, wanted: Wanted) -> None:
        with pytest.raises(UsageError, match=r"--column: Essay \(11\); Homework 1 \(5567\)"):
            filled(FILE, finals(ada=1.0), wanted)

    def test_read_only_columns_are_never_filled_in(self, finals: Finals, wanted: Wanted) -> None:
        wanted = msgspec.structs.replace(wanted, column="Final Score")
        with pytest.raises(UsageError, match="which column is the assignment's"):
            filled(FILE, finals(ada=1.0), wanted)

    def test_another_file_is_refused_with_its_header(self, finals: Finals, wanted: Wanted) -> None:
        with pytest.raises(UsageError, match="expected Student, ID, Section.*found name, score"):
            filled("name,score\nada,1\n", finals(ada=1.0), wanted)


@pytest.fixture
def homework(wanted: Wanted) -> Wanted:
    return msgspec.structs.replace(wanted, column="5567")


class TestWhoIsWho:
    def test_the_number_of_the_download_decides_between_namesakes(
        self, finals: Finals, homework: Wanted
    ) -> None:
        said = Origin("canvas", said=Person(name="chenwei", id="4023"))
        after, account = filled(FILE, finals(chenwei=(1.0, said)), homework)
        assert "cw1,Sec 1,,100,," in after
        assert account.strangers == []

    def test_moodles_number_is_nobodys_here(self, finals: Finals, homework: Wanted) -> None:
        said = Origin("moodle", said=Person(name="Ada Sample", id="4022"))
        after, _ = filled(FILE, finals(x=(0.5, said)), homework)
        assert after == FILE.replace("3.50,,81", "3.50,50,81")

    def test_without_it_namesakes_are_told_and_left(self, finals: Finals, homework: Wanted) -> None:
        after, account = filled(FILE, finals(**{"Wei Chen": 1.0}), homework)
        assert after == FILE
        assert account.strangers == [("Wei Chen", "several matching rows: lines 6, 7")]

    def test_whoever_is_not_in_the_file_is_told(self, finals: Finals, homework: Wanted) -> None:
        after, account = filled(FILE, finals(ada=1.0, stranger=0.5), homework)
        assert account.strangers == [("stranger", "no matching row")]
        assert "3.50,100,81" in after

    def test_rows_without_a_result_are_told_and_keep_their_score(
        self, finals: Finals, homework: Wanted
    ) -> None:
        after, account = filled(FILE, finals(ada=1.0), homework)
        assert ('García Márquez, Gabriel "Gabo"', "nothing graded") in account.left
        assert 'late",,7,' in after

    def test_excused_students_stay_excused(self, finals: Finals, homework: Wanted) -> None:
        after, account = filled(FILE, finals(cw2=1.0), homework)
        assert after == FILE
        assert ("cw2", "excused (EX)") in account.left

    def test_what_the_kit_failed_on_is_no_zero(self, finals: Finals, homework: Wanted) -> None:
        after, account = filled(FILE, finals(ada=None), homework)
        assert after == FILE
        assert ("ada", "the kit failed on the work") in account.left

    def test_everyone_of_a_group_gets_its_score(self, finals: Finals, homework: Wanted) -> None:
        team = Origin("canvas", people=(Person("gabo"), Person("cw1"), Person("gone")))
        after, account = filled(FILE, finals(**{"Team A": (0.9, team)}), homework)
        assert 'late",,90,' in after
        assert "cw1,Sec 1,,90,," in after
        assert account.strangers == [("gone (Team A)", "no matching row")]

    def test_two_results_of_one_student_are_told(self, finals: Finals, homework: Wanted) -> None:
        _, account = filled(FILE, finals(ada=1.0, **{"Ada Sample": 0.5}), homework)
        assert account.strangers == [("Ada Sample", "line 4 already has ada")]


class TestPoints:
    def test_other_points_scale_the_scores_and_say_so(
        self, finals: Finals, homework: Wanted
    ) -> None:
        text = FILE.replace(",5,100,", ",5,10,")
        after, account = filled(text, finals(ada=0.835), homework)
        assert "3.50,8.35,81" in after
        assert account.notes == [
            "Homework 1 (5567) has 10 points: the scores of 100 are scaled to that"
        ]

    def test_a_file_without_points_takes_them_as_they_are(
        self, finals: Finals, homework: Wanted
    ) -> None:
        assert "3.50,83.5,81" in filled(HEADER + ROWS, finals(ada=0.835), homework)[0]


class TestStages:
    def test_new_columns_stand_behind_the_assignments(
        self, finals: Finals, homework: Wanted
    ) -> None:
        wanted = msgspec.structs.replace(homework, by_stage=True)
        rows = list(csv.reader(filled(FILE, finals(ada=0.8), wanted)[0].splitlines()))
        assert rows[0][6:12] == [
            "Homework 1 (5567)",
            "Homework 1: simplified",
            "Homework 1: trainable",
            "Homework 1: causal",
            "Homework 1: multi_head",
            "Current Score",
        ]
        assert rows[1][6:12] == ["100", "15", "25", "30", "30", "(read only)"]
        assert rows[3][6:12] == ["80", "12", "20", "24", "24", "81"]

    def test_columns_that_are_there_are_filled_in(self, finals: Finals, homework: Wanted) -> None:
        wanted = msgspec.structs.replace(homework, by_stage=True)
        first, _ = filled(FILE, finals(ada=0.8), wanted)
        again, _ = filled(first, finals(ada=0.4, gabo=1.0), wanted)
        rows = list(csv.reader(again.splitlines()))
        assert rows[0] == next(csv.reader(first.splitlines()))
        assert rows[3][6:11] == ["40", "6", "10", "12", "12"]
        assert rows[4][6:11] == ["100", "15", "25", "30", "30"]


@pytest.mark.parametrize(
    ("delimiter", "encoding"), [(";", "utf-8"), (",", "utf-8-sig"), (";", "cp1252")]
)
def test_delimiter_and_encoding_are_kept(
    finals: Finals, homework: Wanted, delimiter: str, encoding: str
) -> None:
    rows = [list(row) for row in csv.reader((HEADER + ROWS).splitlines())]
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows(rows)
    data = text.getvalue().encode(encoding)
    sheet = Sheet(data, "gradebook.csv")
    fill(sheet, finals(ada=1.0), homework)
    rows[1][6] = "100"
    again = csv.reader(sheet.encode().decode(encoding).splitlines(), delimiter=delimiter)
    assert list(again) == rows
    assert sheet.encode().startswith(data[:6])


words = st.text(
    st.characters(categories=("L", "M", "Nd", "P", "S", "Zs"), exclude_characters="\0"),
    min_size=1,
    max_size=12,
).filter(lambda text: any(each.isalnum() for each in text))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(words, words), min_size=1, max_size=6), st.data())
def test_any_class_round_trips(
    grade: Callable[..., Result],
    wanted: Wanted,
    names: list[tuple[str, str]],
    data: st.DataObject,
) -> None:
    """Whatever the names, each score lands in its own row, and all else stays."""
    rows = [["Student", "ID", "SIS Login ID", "Section", "HW (1)", "Final Score"]]
    rows += [
        [f"{last}, {first}", str(4000 + number), f"l{number}", "S", "", "x"]
        for number, (last, first) in enumerate(names)
    ]
    missing = data.draw(st.sets(st.integers(0, len(names) - 1)))
    present = [number for number in range(len(names)) if number not in missing]
    results = [grade(f"name {number}", number / 10) for number in present]
    origins = {
        f"name {number}": Origin("canvas", said=Person(id=str(4000 + number))) for number in present
    }
    extra = grade("an extra student", 1.0)
    sheet = Sheet(written(rows).encode(), "x")
    account = fill(sheet, final_scores(map(as_graded, [*results, extra]), origins, Late()), wanted)
    for number in present:
        rows[number + 1][4] = f"{10 * number}"
    assert sheet.encode() == written(rows).encode()
    assert account.strangers == [("an extra student", "no matching row")]
    assert len(account.left) == len(missing)
