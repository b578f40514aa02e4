"""What `make bench` measures is the same work for everybody, and it is told as it was."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import torch
from torch import nn

from autograder.assignment.assignment import load_assignment
from autograder.checks.session import names_asked, other_names
from autograder.grading.exchange import Request
from autograder.grading.judge import Judge
from autograder.sandbox.host.guest_process import GuestProcess
from autograder.sandbox.host.room import Sandbox
from autograder.submissions.submission import read_submission
from bench import ours, stock, walled
from bench.__main__ import with_ratios
from bench.classroom import Member, as_cell, members, write_class
from bench.figure import figure, measured
from bench.floor import Timed
from bench.frames import MOST, counted
from bench.kernel_checks import CHECKS, call_of, source_of
from bench.notebooks import Cell, filled, read
from bench.table import STARTED, WHOLE, Bench, Goal, Row, median_interval, summary, text
from bench.unexplained import Spent
from tests.conftest import ROOT


def failing_checks(cells: tuple[str, ...]) -> list[str]:
    """The checks of a notebook that fail on its cells, all run in one namespace."""
    space: dict[str, object] = {"torch": torch, "nn": nn}
    for cell in cells:
        exec(cell, space)
    failed = []
    for check in CHECKS:
        try:
            exec(f"{source_of(check)}\n{call_of(check)}", space)
        except AssertionError:
            failed.append(check.__name__)
    return failed


class TestTheClass:
    def test_has_as_many_students_as_asked_for_under_names_of_their_own(self) -> None:
        assert len({student.name for student in members(45)}) == 45

    def test_has_a_few_that_never_end_where_that_is_wanted(self) -> None:
        names = [student.name for student in members(60, hanging=25)]
        assert [name for name in names if "hanging" in name] == ["hanging-25", "hanging-50"]

    def test_is_what_the_kit_reads(self, tmp_path: Path) -> None:
        write_class(members(20), tmp_path / "class")
        limits = load_assignment(ROOT).limits
        read = [read_submission(path, limits) for path in (tmp_path / "class").iterdir()]
        assert sorted(each.name for each in read) == sorted(each.name for each in members(20))

    @pytest.mark.parametrize("student", members(20), ids=lambda student: student.name)
    def test_is_told_right_from_wrong_by_the_checks_of_the_notebooks(self, student: Member) -> None:
        assert (failing_checks(student.cells) == []) is student.right


class TestANotebookAStage:
    """What stock nbgrader is given to be as much work as the kit's own notebooks are."""

    NOTEBOOKS = stock.stage_notebooks(load_assignment(ROOT))

    def test_there_are_as_many_as_the_kit_releases_with_the_same_texts(self) -> None:
        released = ROOT / "assignments" / "attention" / "nbgrader" / "source" / "attention"
        assert sorted(self.NOTEBOOKS) == sorted(path.stem for path in released.glob("*.ipynb"))
        for name, cells in self.NOTEBOOKS.items():
            wanted = [each for each in read(released / f"{name}.ipynb") if is_text(each)]
            assert [each for each in cells if is_text(each)] == wanted

    def test_they_ask_every_check_once(self) -> None:
        asked = [
            cell["id"]
            for cells in self.NOTEBOOKS.values()
            for cell in cells
            if cell["metadata"].get("nbgrader", {}).get("grade")
        ]
        assert sorted(asked) == sorted(check.__name__ for check in CHECKS)

    @pytest.mark.parametrize("student", members(20), ids=lambda student: student.name)
    def test_they_tell_right_from_wrong(self, student: Member) -> None:
        answers = stock.written_so_far(student)
        failed = [
            cell["id"]
            for cells in self.NOTEBOOKS.values()
            for cell in failing_cells(filled(cells, answers))
        ]
        assert (failed == []) is student.right


def is_text(cell: Cell) -> bool:
    return bool(cell["cell_type"] == "markdown")


def failing_cells(cells: list[Cell]) -> list[Cell]:
    """The cells of a notebook that fail a check, all run in one namespace as a kernel does."""
    space: dict[str, object] = {}
    failed = []
    for cell in cells:
        if is_text(cell):
            continue
        try:
            exec("".join(cell["source"]), space)
        except AssertionError:
            failed.append(cell)
    return failed


class TestACell:
    def test_drops_imports_from_the_other_stages_and_no_line(self) -> None:
        source = "import torch\nfrom .causal import (\n    CausalAttention,\n)\nx = 1\n"
        assert as_cell(source) == "import torch\n\n\n\nx = 1\n"

    def test_keeps_the_name_that_an_import_gave(self) -> None:
        assert as_cell("from attention.causal import A as B\n") == "B = A\n"

    def test_refuses_an_import_of_a_whole_stage(self) -> None:
        with pytest.raises(ValueError, match="line 1 imports a module"):
            as_cell("from . import causal\n")


def test_the_longest_search_ends_without_an_explanation(tmp_path: Path) -> None:
    result = tmp_path / "unexplained.json"
    command: list[str | Path] = [sys.executable, "-m", "bench.unexplained", result]
    subprocess.run(command, cwd=ROOT, check=True)
    spent = msgspec.json.decode(result.read_bytes(), type=Spent)
    assert spent.importing > 0
    assert spent.explaining > 0


def test_the_floor_scores_as_the_wall_does(tmp_path: Path) -> None:
    students = members(2)
    write_class(students, tmp_path / "class")
    command: list[str | Path] = [sys.executable, "-m", "bench.floor"]
    command += [tmp_path / "class", tmp_path / "floor.json"]
    subprocess.run(command, cwd=ROOT, check=True)
    graded = msgspec.json.decode((tmp_path / "floor.json").read_bytes(), type=list[Timed])
    assert {each.name: each.score for each in graded} == {
        "book-style-1": 100.0,
        "simplified-softmax-over-queries-1": 97.0,
    }


class TestTheTable:
    ROWS = with_ratios(
        [
            Row("ours", WHOLE, 0.5, "s"),
            Row("ours", STARTED, 0.1, "ms"),
            Row("nbgrader", WHOLE, 4.0, "s"),
            Row("nbgrader", STARTED, 3.5, "ms"),
            Row("otter", WHOLE, 9.0, "s"),
        ]
    )

    def test_tells_others_as_so_many_times_ours(self) -> None:
        assert [row.ratio for row in self.ROWS] == [
            None,
            None,
            pytest.approx(8),
            pytest.approx(35),
            pytest.approx(18),
            pytest.approx(90),
        ]
        assert "35.00 times ours after start  at least 30 times: met" in text(self.ROWS)

    def test_tells_nbgrader_with_the_kit_beside_each_way_of_its_own(self) -> None:
        rows = [
            Row("nbgrader", WHOLE, 4.0, "s"),
            Row(stock.STAGED, WHOLE, 10.0, "s"),
            Row(walled.PART, WHOLE, 1.5, "s"),
        ]
        told = text(with_ratios(rows))
        assert f"0.15 times {stock.STAGED}" in told
        assert "0.38 times nbgrader, one notebook" in told
        assert "at most 0.333333 times: met" in told
        assert "at most 0.333333 times: NOT met" in told

    def test_tells_what_the_wall_adds_as_the_median_of_differences(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A load that comes for one submission slows both levels and is no cost of the wall."""
        weak = (0.100, 0.900, 0.200)
        best = [Timed("ada", 1.0, each + 0.004, each + 0.007) for each in weak]
        graded = [best, [Timed("ada", 1.0, each, each) for each in weak]]
        monkeypatch.setattr(ours, "submissions", lambda *args: ())
        monkeypatch.setattr(ours, "_graded", lambda levels, work: graded)
        told = text(ours.wall(tmp_path, lambda line: None))
        assert "added by the wall, wall a submission    4 ms" in told
        assert "added by the wall, CPU a submission     7 ms" in told
        assert told.count("at most 10 ms: met") == 2

    def test_says_in_its_last_line_which_goal_was_not_met(self) -> None:
        row = Row("memory", "PSS", 800.0, "MB", goal=Goal("at most", 768, "value"))
        line = summary(Bench(1, 20, 2, 0.0, 1.0, (row,), ("otter",)))
        assert line.endswith("memory 800 MB (at most 768 MB, goal not met); otter FAILED")
        assert "\n" not in line

    def test_takes_the_median_of_ends_that_come_in_clusters(self) -> None:
        assert median_interval([0.0, 0.1, 2.0, 2.1, 4.0, 4.1], width=2) == pytest.approx(1.0)

    def test_cannot_tell_an_interval_of_one_end(self) -> None:
        with pytest.raises(ValueError, match="too few"):
            median_interval([1.0])


class TestFrames:
    def test_a_frame_is_counted_with_its_questions_and_nothing_is_left_behind(self) -> None:
        ask_each = GuestProcess.ask_each
        assignment = load_assignment(ROOT)
        names, parameters = names_asked(assignment), other_names(assignment)
        submission = read_submission(assignment.solutions, assignment.limits)
        with (
            Sandbox(assignment.limits, names, "process", parameters=parameters) as sandbox,
            counted() as parts,
        ):
            Judge(assignment, sandbox, b"").grade(Request(submission))
        assert parts[0] == 1  # loading
        assert len(parts) <= MOST
        assert max(parts) > 50
        assert GuestProcess.ask_each is ask_each


class TestTheFigure:
    ROWS = (
        Row("sizes", "class of 100, wall a submission", 0.2, "ms"),
        Row("sizes", "class of 100, PSS of everything at its most", 700.0, "MB"),
        Row("sizes", "class of 10, wall a submission", 0.6, "ms"),
        Row("sizes", "class of 10, PSS of everything at its most", 690.0, "MB"),
        Row("memory", "PSS of worker, zygote and guest", 381.0, "MB"),
    )

    def test_shows_milliseconds_and_megabytes_by_class_size(self) -> None:
        assert measured(self.ROWS, "ms") == {10: 600.0, 100: 200.0}
        assert measured(self.ROWS, "MB") == {10: 690.0, 100: 700.0}

    def test_is_the_same_at_every_drawing_and_has_no_script(self) -> None:
        drawn = figure(self.ROWS)
        assert drawn == figure(self.ROWS)
        assert "<script" not in drawn
        assert ">600<" in drawn

    def test_needs_measured_sizes(self) -> None:
        with pytest.raises(ValueError, match="--only sizes"):
            figure(self.ROWS[-1:])
