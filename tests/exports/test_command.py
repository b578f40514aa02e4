"""`autograder export`, from a gradebook to a file that a platform takes."""

import csv
import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner
from typer.testing import Result as Outcome

from autograder.assignment.assignment import load_assignment
from autograder.cli.main import app
from autograder.gradebook.adjustments import Adjustment
from autograder.gradebook.gradebook import Gradebook, Record
from autograder.results.grading_key import GradingKey
from autograder.results.result import Result
from autograder.submissions.downloads.handin import Origin
from autograder.submissions.roster import Person

SHEET = (
    "Student,ID,Section,Homework 1 (5567),Final Score\r\n"
    "    Points Possible,,,100,(read only)\r\n"
    '"Sample, Ada",4021,S,,\r\n'
    '"García Márquez, Gabriel",4022,S,,\r\n'
    '"Missing, Very",4023,S,5,\r\n'
)


@pytest.fixture
def graded(tmp_path: Path, grade: Callable[..., Result]) -> Path:
    """A folder that `grade` has written: two students of Canvas's, and one of nobody's."""
    with Gradebook(tmp_path / "results", create=True) as book:
        run = book.begin(load_assignment().folder, GradingKey(*"abcdefghi"), ())
        origins = {
            "ada": Origin("canvas", Person(name="sampleada", id="4021"), late=True),
            "gabo": Origin("canvas", Person(name="garcíamárquezgabriel", id="4022")),
        }
        book.remember(run, origins)
        for name in ("ada", "gabo", "=stranger"):
            book.add(run, Record(grade(name, 0.8)), reusable=True)
        book.finish(run, "finished")
    (tmp_path / "gradebook.csv").write_bytes(SHEET.encode())
    return tmp_path


def run(*args: str | Path) -> Outcome:
    return CliRunner().invoke(app, ["export", *map(str, args)])


def words(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


class TestCanvas:
    def test_the_platforms_file_is_filled_in_place(self, graded: Path) -> None:
        outcome = run("canvas", graded / "results", "--into", graded / "gradebook.csv")
        assert outcome.exit_code == 0
        assert outcome.stdout == f"written: {graded / 'gradebook.csv'} (2 scores)\n"
        assert (graded / "gradebook.csv").read_bytes().decode() == SHEET.replace(
            "4021,S,", "4021,S,80"
        ).replace("4022,S,", "4022,S,80")

    def test_nobody_is_dropped_in_silence(self, graded: Path) -> None:
        outcome = run("canvas", graded / "results", "--into", graded / "gradebook.csv")
        told = words(outcome.stderr)
        assert ["=stranger", "no", "matching", "row"] in told
        assert ["Missing,", "Very", "nothing", "graded"] in told

    def test_out_leaves_the_file_as_it_is(self, graded: Path) -> None:
        args = ("--into", graded / "gradebook.csv", "--out", graded / "filled.csv")
        assert run("canvas", graded / "results", *args).exit_code == 0
        assert (graded / "gradebook.csv").read_bytes() == SHEET.encode()
        assert b"4021,S,80" in (graded / "filled.csv").read_bytes()

    def test_lateness_is_taken_off_and_told_beside_the_raw_score(self, graded: Path) -> None:
        (graded / "times.csv").write_text(
            "student,submitted_at\nada,2026-10-02 12:00\nvery,2026-10-02 12:00\n"
        )
        outcome = run(
            *("canvas", graded / "results", "--into", graded / "gradebook.csv"),
            *("--times", graded / "times.csv", "--due", "2026-10-01T12:00+02:00"),
        )
        assert outcome.exit_code == 0
        assert b"4021,S,72" in (graded / "gradebook.csv").read_bytes()
        assert ["ada", "80", "-", "10%", "=", "72", "1", "d", "late"] in words(outcome.stderr)
        assert ["very"] in words(outcome.stderr)

    def test_run_again_it_gives_the_same_file(self, graded: Path) -> None:
        args = ("canvas", graded / "results", "--into", graded / "gradebook.csv", "--by-stage")
        run(*args)
        before = (graded / "gradebook.csv").read_bytes()
        assert run(*args).exit_code == 0
        assert (graded / "gradebook.csv").read_bytes() == before


class TestMoodle:
    def test_worksheet_and_feedback(self, graded: Path) -> None:
        (graded / "sheet.csv").write_text(
            "Identifier,Full name,Email address,Grade,Maximum grade\n"
            "Participant 4021,Ada Sample,a@x,,100\n"
        )
        outcome = run(
            *("moodle", graded / "results", "--into", graded / "sheet.csv"),
            *("--feedback", graded / "feedback.zip"),
        )
        assert outcome.exit_code == 0
        assert "Ada Sample,a@x,80,100" in (graded / "sheet.csv").read_text()
        with zipfile.ZipFile(graded / "feedback.zip") as archive:
            (name,) = archive.namelist()
            assert name == "Ada Sample_4021_assignfeedback_file/feedback.html"
            assert "80" in archive.read(name).decode()


class TestOthers:
    def test_csv_goes_to_standard_output_without_a_file(self, graded: Path) -> None:
        rows = list(csv.DictReader(io.StringIO(run("csv", graded / "results").stdout)))
        assert [row["student"] for row in rows] == ["'=stranger", "ada", "gabo"]
        assert [row["score"] for row in rows] == ["80", "80", "80"]

    def test_junit_into_a_file(self, graded: Path) -> None:
        assert run("junit", graded / "results", "--into", graded / "j.xml").exit_code == 0
        root = ElementTree.parse(graded / "j.xml").getroot()
        assert [suite.get("name") for suite in root] == ["=stranger", "ada", "gabo"]

    def test_nbgraders_own_gradebook_is_never_written_over(self, graded: Path) -> None:
        (graded / "gradebook.db").write_bytes(b"SQLite format 3\0")
        for form in ("csv", "junit"):
            args = (form, graded / "results", "--into", graded / "gradebook.db")
            outcome = run(*args)
            assert outcome.exit_code == 2
            assert "nbgrader's gradebook" in outcome.stderr
        assert (graded / "gradebook.db").read_bytes() == b"SQLite format 3\0"


class TestChangesByHand:
    def test_they_count_and_the_graded_score_stands_beside_them(self, graded: Path) -> None:
        with Gradebook(graded / "results") as book:
            book.adjust(Adjustment("ada", "causal", "projections", 30.0, "said so well"))
        (row,) = [
            row
            for row in csv.DictReader(io.StringIO(run("csv", graded / "results").stdout))
            if row["student"] == "ada"
        ]
        assert (row["causal"], row["raw_score"], row["adjusted_score"]) == ("30", "80", "86")
        run("canvas", graded / "results", "--into", graded / "gradebook.csv")
        assert b"4021,S,86" in (graded / "gradebook.csv").read_bytes()


class TestWrongUse:
    @pytest.mark.parametrize(
        ("args", "told"),
        [
            (("excel", "results"), "unknown format 'excel'; choose from canvas, moodle"),
            (("canvas", "results"), "name the file that Canvas exported with --into"),
            (("canvas", "results", "--into", "no.csv"), "no.csv: cannot be read"),
            (("csv", "nowhere"), "no gradebook.sqlite in it"),
            (("csv", "results", "--feedback", "x.zip"), "--feedback works with moodle only"),
            (("csv", "results", "--times", "t.csv"), "no due date .* --due"),
            (("csv", "results", "--due", "soon"), "--due: expected a time with its offset"),
            (("csv", "results", "--due", "2026-10-01 12:00"), "--due: .* offset"),
        ],
    )
    def test_it_ends_with_2_and_one_line(
        self, graded: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], told: str
    ) -> None:
        monkeypatch.chdir(graded)
        (graded / "t.csv").write_text("student,submitted_at\nada,2026-10-02T12:00Z\n")
        outcome = run(*args)
        assert outcome.exit_code == 2
        assert len(outcome.stderr.splitlines()) == 1
        assert re.search(told, outcome.stderr)

    def test_a_folder_that_was_never_graded_into(self, tmp_path: Path) -> None:
        Gradebook(tmp_path, create=True).close()
        outcome = run("csv", tmp_path)
        assert outcome.exit_code == 2
        assert "nothing has been graded into this folder" in outcome.stderr
