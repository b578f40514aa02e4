"""Work that never ends: the rest of it is graded, and nobody waits for it longer than agreed."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.assignment import Assignment, load_assignment
from autograder.exchange import Graded
from autograder.result import Result, StageResult, encode_result
from autograder.sandbox.room import NameSpec, Sandbox
from autograder.sandbox.student import StudentTimeout
from autograder.submission import SourceFile, Submission, read_submission
from autograder.worker import Worker

ROOT = Path(__file__).resolve().parents[1]
RIGHT = Path(__file__).parent / "variants" / "right"
ENDLESS = "while True: pass"
LIMITS = {
    "load_seconds = 8.0": "load_seconds = 2.0",
    "call_seconds = 2.0": "call_seconds = 0.5",
    "check_seconds = 4.0": "check_seconds = 2.0",
}


@pytest.fixture(scope="module")
def assignment(tmp_path_factory: pytest.TempPathFactory) -> Assignment:
    """The assignment with limits so small that hanging is cheap."""
    folder = tmp_path_factory.mktemp("assignments") / "attention"
    shutil.copytree(ROOT / "assignments" / "attention", folder)
    table = (folder / "assignment.toml").read_text("utf-8")
    for before, after in (LIMITS | {'"../../': f'"{ROOT.as_posix()}/'}).items():
        assert before in table
        table = table.replace(before, after)
    (folder / "assignment.toml").write_text(table, "utf-8")
    return load_assignment(folder)


@pytest.fixture(scope="module")
def worker(assignment: Assignment) -> Iterator[Worker]:
    with Worker(assignment.folder) as held:
        yield held


@pytest.fixture(scope="module")
def right(assignment: Assignment, worker: Worker) -> Graded:
    """What right work gets, and what it takes."""
    return worker.grade(read_submission(RIGHT / "book_style", assignment.limits))


def changed(assignment: Assignment, path: str, before: str, after: str) -> Submission:
    """Right work with one text of one file replaced."""
    submission = read_submission(RIGHT / "book_style", assignment.limits)
    files = []
    for file in submission.files:
        source = file.data.decode()
        if file.path == path:
            assert before in source
            source = source.replace(before, after)
        files.append(SourceFile(file.path, file.kind, source.encode(), file.cells))
    return Submission("endless", tuple(files), "endless")


def scores(result: Result) -> dict[str, float]:
    return {stage.id: stage.score for stage in result.stages}


def stage_of(result: Result, identifier: str) -> StageResult:
    return next(stage for stage in result.stages if stage.id == identifier)


def timeouts(result: Result) -> set[str]:
    """The names of which something timed out."""
    return {
        share.name
        for stage in result.stages
        for criterion in stage.criteria
        for share in criterion.shares
        if share.status == "timeout"
    }


class TestLoading:
    def test_a_statement_that_hangs_is_skipped_and_told_and_nothing_is_lost(
        self, assignment: Assignment, worker: Worker, right: Graded
    ) -> None:
        submission = changed(
            assignment, "attention/causal.py", "\n\ndef causal_mask", f"\n{ENDLESS}\n\n\ndef causal_mask"
        )
        graded = worker.grade(submission)
        assert scores(graded.result) == scores(right.result)
        assert graded.result.notes == (
            "attention/causal.py line 5 was skipped: it used up the time for loading",
        )

    def test_a_cell_that_hangs_is_skipped_and_the_other_cells_are_graded(
        self, assignment: Assignment, worker: Worker
    ) -> None:
        sources = [
            (RIGHT / "book_style" / "attention" / f"{stage.id}.py").read_text("utf-8")
            for stage in assignment.stages
        ]
        sources[3] = sources[3].replace("from .causal import CausalAttention", "")
        train = "for epoch in range(10**12):\n    loss = epoch"
        cells = (sources[0], train, *sources[1:], "text = input()\nwhile not text: pass")
        file = SourceFile("work.ipynb", "notebook", cells=cells)
        result = worker.grade(Submission("cells", (file,), "cells")).result
        assert result.score == 100
        assert result.notes == (
            "work.ipynb cell 2 line 1 was skipped: it used up the time for loading",
            "work.ipynb cell 6 raised EOFError; the rest ran",
            "work.ipynb cell 6 raised NameError: name 'text' is not defined; the rest ran",
        )

    def test_what_waits_is_skipped_like_what_works(
        self, assignment: Assignment, worker: Worker
    ) -> None:
        sleep = "\nimport time\ntime.sleep(10**6)\n\n\ndef causal_mask"
        submission = changed(assignment, "attention/causal.py", "\n\ndef causal_mask", sleep)
        result = worker.grade(submission).result
        assert result.score == 100
        assert "line 6 was skipped" in result.notes[0]

    def test_a_definition_behind_what_hangs_costs_its_own_name_alone(
        self, assignment: Assignment, worker: Worker, right: Graded
    ) -> None:
        """A decorator that never returns takes one function along."""
        slow = "def slow(function):\n    while True: pass\n\n\n@slow\ndef causal_mask"
        submission = changed(assignment, "attention/causal.py", "def causal_mask", slow)
        result = worker.grade(submission).result
        assert scores(result) == scores(right.result) | {"causal": 28.0}


class TestGrading:
    @pytest.mark.parametrize(
        ("path", "before", "kept", "hanging"),
        [
            pytest.param(
                "attention/causal.py",
                "    scores = scores",
                {},
                {"masked_weights"},
                id="a function",
            ),
        ],
    )
    def test_x(self, path: str, before: str, kept: dict[str, float], hanging: set[str]) -> None:
        pass
