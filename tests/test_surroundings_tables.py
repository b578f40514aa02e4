"""Tables as they come: separators, workbooks, numbers, headings, time zones."""

import io
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import openpyxl
import pytest

from autograder.assignment.assignment import Late, load_assignment
from autograder.errors import UsageError
from autograder.exports import canvas, moodle
from autograder.exports.filling import Wanted, number
from autograder.exports.grades import encoded
from autograder.exports.late import Handed, lateness, read_times, zone_of
from autograder.submissions.downloads.handin import Origin
from autograder.submissions.roster import Person, people_of, read_roster
from autograder.submissions.sheet import Sheet

HERE = Path(__file__).parent / "surroundings"
ASSIGNMENT = load_assignment(HERE.parents[1])
BERLIN = zone_of("Europe/Berlin")


def workbook(*rows: tuple[object, ...]) -> bytes:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    packed = io.BytesIO()
    book.save(packed)
    return packed.getvalue()


class TestSeparators:
    def test_excels_own_line_is_no_row(self) -> None:
        roster = read_roster(HERE / "roster" / "sep.csv")
        assert [(each.student, each.number) for each in roster.people] == [
            ("ada", "00123"),
            ("jörg", "00124"),
        ]

    def test_it_stays_in_the_file(self) -> None:
        data = (HERE / "roster" / "sep.csv").read_bytes()
        sheet = Sheet(data, "sep.csv")
        assert sheet.encode() == data
        assert sheet.line(1) == 3

    @pytest.mark.parametrize("delimiter", [",", ";", "\t"])
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
    def test_any_separator_in_any_encoding(self, delimiter: str, encoding: str) -> None:
        text = "student;name\njörg;Jörg Müller\n".replace(";", delimiter)
        sheet = Sheet(text.encode(encoding), "roster.csv")
        (person,) = people_of(sheet).values()
        assert (person.student, person.name) == ("jörg", "Jörg Müller")

    def test_german_headings(self) -> None:
        (person,) = read_roster(HERE / "roster" / "german.csv").people
        assert (person.number, person.name, person.email) == ("00123", "Sample, Ada", "ada@x.org")


class TestWorkbooks:
    def test_a_workbook_is_a_roster_whatever_its_name(self, tmp_path: Path) -> None:
        rows = (
            ("student", "name", "number"),
            ("ada", "Ada Sample", 4021.0),
            ("jörg", "Jörg", None),
        )
        for name in ("roster.xlsx", "roster.csv"):
            (tmp_path / name).write_bytes(workbook(*rows))
            people = read_roster(tmp_path / name).people
            assert [(each.student, each.number) for each in people] == [
                ("ada", "4021"),
                ("jörg", ""),
            ]

    def test_times_in_a_workbook(self, tmp_path: Path) -> None:
        when = datetime(2026, 10, 1, 20, 0)
        (tmp_path / "t.xlsx").write_bytes(workbook(("student", "submitted_at"), ("ada", when)))
        times = read_times(tmp_path / "t.xlsx", UTC)
        found = times.of(times.people)
        assert found is not None
        assert found[1].submitted == when.replace(tzinfo=UTC)

    def test_one_that_is_damaged_is_one_line(self) -> None:
        with pytest.raises(UsageError, match="a damaged workbook"):
            read_roster(HERE / "roster" / "xlsx.csv")

    def test_an_old_one_says_what_to_do(self, tmp_path: Path) -> None:
        (tmp_path / "roster.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 100)
        with pytest.raises(UsageError, match=r"an old workbook .* save it as .xlsx or CSV"):
            read_roster(tmp_path / "roster.xls")

    def test_a_zip_that_is_no_workbook_is_refused(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "roster.xlsx", "w") as packed:
            packed.writestr("ada.py", "x = 1")
        with pytest.raises(UsageError, match="a workbook that cannot be read"):
            read_roster(tmp_path / "roster.xlsx")

    def test_an_export_goes_into_no_workbook(self, tmp_path: Path) -> None:
        (tmp_path / "gradebook.xlsx").write_bytes(workbook(("Student", "ID", "Section")))
        with pytest.raises(UsageError, match="name the CSV file"):
            Sheet.read(tmp_path / "gradebook.xlsx")


@pytest.mark.parametrize(
    ("text", "delimiter", "value"),
    [
        ("1,500.00", ",", 1500.0),
        ("1.500,00", ";", 1500.0),
        ("1,500", ",", 1500.0),
        ("15,000", ";", 15.0),
        ("15,00", ",", 15.0),
        ("15.5", ",", 15.5),
        ("1,234,567.5", ",", 1234567.5),
        ("1 500,5", ";", 1500.5),
        ("1\u202f500,5", ";", 1500.5),
        ("1'500.5", ",", 1500.5),
        ("95%", ",", 95.0),
        ("", ",", None),
        ("(read only)", ",", None),
        ("EX", ",", None),
        ("12 of 15", ",", None),
        ("nan", ",", None),
    ],
)
def test_numbers_of_several_countries(text: str, delimiter: str, value: float | None) -> None:
    assert number(text, delimiter) == value


class FullMarks:
    """What a student with all points gets handed on."""

    student = "Sample, Ada"
    origin = Origin("canvas")
    score = 100.0

    def people(self, platform: str) -> list[tuple[Person, ...]]:
        return [(Person(id="1001"),)]


def test_a_column_of_other_points_is_scaled_and_told() -> None:
    sheet = Sheet.read(HERE / "thousands_separator" / "gradebook.csv")
    wanted = Wanted("Project", "attention", ASSIGNMENT.stages)
    filled = canvas.fill(sheet, [FullMarks()], wanted)  # type: ignore[list-item]
    column = sheet.column("Project (778)")
    assert [sheet.text(row, column) for row in filled.rows] == ["1500"]
    assert filled.notes == ["Project (778) has 1500 points: the scores of 100 are scaled to that"]


def test_a_german_worksheet_is_filled_in() -> None:
    sheet = Sheet.read(HERE / "german_moodle" / "worksheet.csv")
    wanted = Wanted("Project", "attention", ASSIGNMENT.stages)

    class Ada(FullMarks):
        def people(self, platform: str) -> list[tuple[Person, ...]]:
            return [(Person(name="Ada Sample"),)]

    filled = moodle.fill(sheet, [Ada()], wanted)  # type: ignore[list-item]
    (row,) = filled.rows
    assert sheet.text(row, sheet.column("Bewertung")) == "15"
    assert filled.notes == ["the worksheet has 15 points: the scores of 100 are scaled to that"]


def test_grades_open_with_their_accents() -> None:
    assert encoded("student\nada\n") == b"student\nada\n"
    assert encoded("student\njörg\n").startswith(b"\xef\xbb\xbfstudent\n")


class TestTimeZones:
    def late(self, **values: object) -> Late:
        return msgspec.convert({"percent_per_day": 10.0, **values}, Late)

    def test_nobody_is_late_over_the_end_of_summer_time(self) -> None:
        due = datetime(2026, 10, 25, 23, 59, tzinfo=BERLIN)
        policy = msgspec.structs.replace(self.late(), due=due)
        times = read_times(HERE / "dst" / "t_dst.csv", BERLIN)
        assert len(times.people) == 4
        for person in times.people:
            found = times.of([person])
            assert found is not None
            assert lateness(policy, Origin(""), found[1]).percent == 0, person.student

    def test_a_second_beyond_is_late(self) -> None:
        due = datetime(2026, 10, 25, 23, 59, tzinfo=BERLIN)
        policy = msgspec.structs.replace(self.late(), due=due)
        handed = Handed(datetime(2026, 10, 25, 22, 59, 1, tzinfo=UTC))
        assert lateness(policy, Origin(""), handed).percent == 10

    def test_days_are_counted_in_hours_that_passed(self) -> None:
        """From 23:59 to 23:59 over the change are 25 hours, so a second day has begun."""
        due = datetime(2026, 10, 24, 23, 59, tzinfo=BERLIN)
        policy = msgspec.structs.replace(self.late(), due=due)
        handed = Handed(datetime(2026, 10, 25, 23, 59, tzinfo=BERLIN))
        assert lateness(policy, Origin(""), handed).percent == 20

    def test_an_extension_of_a_day_ends_at_the_same_hour(self) -> None:
        due = datetime(2026, 10, 24, 23, 59, tzinfo=BERLIN)
        policy = msgspec.structs.replace(self.late(), due=due)
        handed = Handed(datetime(2026, 10, 25, 23, 59, tzinfo=BERLIN), timedelta(days=1))
        assert lateness(policy, Origin(""), handed).percent == 0

    def test_a_zone_that_is_none_is_told(self) -> None:
        for name in ("Berlin", "../../etc/passwd", ""):
            with pytest.raises(UsageError, match="such as Europe/Berlin"):
                zone_of(name)
