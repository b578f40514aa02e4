"""The door: exit codes, one line for whatever goes wrong, output for people and programs.

The worker is a stand-in here; `test_worker.py` and the example class have the real one.
"""

import json
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner
from typer.testing import Result as Outcome

from autograder.cli import app
from autograder.errors import KitFault, SurroundingsLack
from autograder.result import CriterionResult, Result, StageResult, decode_result
from autograder.submission import Submission


class StandIn:
    """A worker that gives every submission the same result."""

    isolation = "landlock"
    error: BaseException | None = None

    def __init__(self, assignment: Path, isolation: str | None = None) -> None:
        assert assignment.exists()
        self.isolation = isolation or type(self).isolation

    def __enter__(self) -> "StandIn":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def kill(self) -> None:
        pass

    def grade(self, submission: Submission, stages: tuple[str, ...] | None) -> Any:
        if self.error is not None:
            raise self.error
        criterion = CriterionResult("masking", "No peeking", 3.0, 9.0, "failed", "Mask.", (), ())
        stage = StageResult("causal", "Causal attention", 3.0, 30.0, (criterion,))
        result = Result(1, submission.name, submission.digest, "attention", 3.0, 30.0, (stage,), ())
        return types.SimpleNamespace(
            result=result,
            cpu_seconds=0.1,
            wall_seconds=0.1,
            isolation=self.isolation,
            details=b"",
        )


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[StandIn]]:
    class Fresh(StandIn):
        pass

    monkeypatch.setattr("autograder.worker.Worker", Fresh)
    return Fresh


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "ada.py").write_text("x = 1")
    return tmp_path / "ada.py"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "class"
    folder.mkdir()
    for name in ("ada.py", "bob.py"):
        (folder / name).write_text(name)
    (folder / "eve.zip").write_text("no archive")
    return folder


def run(*args: str | Path) -> Outcome:
    return CliRunner().invoke(app, [str(each) for each in args])


class TestCheck:
    def test_it_prints_a_table(self, worker: type[StandIn], work: Path) -> None:
        outcome = run("check", work)
        assert outcome.exit_code == 0
        assert "ada: 3 of 30" in outcome.stdout
        assert "masking  3 of 9  No peeking  wrong" in outcome.stdout

    def test_json_is_result_json_and_nothing_else(self, worker: type[StandIn], work: Path) -> None:
        worker.isolation = "process"  # warned about, but not here
        outcome = run("check", work, "--json")
        assert decode_result(outcome.stdout_bytes).submission == "ada"
        assert list(json.loads(outcome.stdout))[:2] == ["schema", "submission"]

    def test_weak_isolation_is_warned_about_unless_asked_for(
        self, worker: type[StandIn], work: Path
    ) -> None:
        worker.isolation = "process"
        assert "separate process only" in run("check", work).stderr
        assert run("check", work, "--isolation", "process").stderr == ""

    def test_a_stage_that_is_none_is_wrong_use(self, worker: type[StandIn], work: Path) -> None:
        outcome = run("check", work, "--stage", "casual")
        assert outcome.exit_code == 2
        assert "no stage is called 'casual'" in outcome.stderr

    def test_unreadable_input_is_one_line(self, worker: type[StandIn], folder: Path) -> None:
        outcome = run("check", folder / "eve.zip")
        assert outcome.exit_code == 2
        assert outcome.stdout == ""
        assert outcome.stderr.startswith("autograder: eve.zip: not a zip archive")
        assert outcome.stderr.count("\n") == 1

    @pytest.mark.parametrize(
        ("error", "code", "told"),
        [
            (KitFault("the worker died"), 1, "autograder: the worker died\n"),
            (SurroundingsLack("no isolation"), 3, "autograder: no isolation\n"),
            (KeyboardInterrupt(), 130, "autograder: interrupted; what was finished is kept\n"),
            (ZeroDivisionError("x\x1b[2J\ny"), 1, "a fault of the kit: ZeroDivisionError: x"),
        ],
    )
    def test_whatever_goes_wrong_is_one_line_and_a_code(
        self, worker: type[StandIn], work: Path, error: BaseException, code: int, told: str
    ) -> None:
        worker.error = error
        outcome = run("check", work)
        assert outcome.exit_code == code
        assert told in outcome.stderr
        assert outcome.stderr.count("\n") == 1
        assert "\x1b" not in outcome.stderr


class TestGrade:
    def test_it_prints_the_class_and_writes_the_files(
        self, worker: type[StandIn], folder: Path, tmp_path: Path
    ) -> None:
        outcome = run("grade", folder, "--out", tmp_path / "out")
        assert outcome.exit_code == 0
        rows = [line.split() for line in outcome.stdout.splitlines()]
        assert ["ada", "–", "–", "3", "–", "3", "graded"] in rows
        assert ["eve", "–", "–", "–", "–", "0", "error"] in rows
        assert (tmp_path / "out" / "grades.csv").is_file()

    def test_progress_goes_to_standard_error_line_by_line(
        self, worker: type[StandIn], folder: Path, tmp_path: Path
    ) -> None:
        lines = run("grade", folder, "--out", tmp_path / "out").stderr.splitlines()
        assert len(lines) == 3
        assert "[1/3] eve: 0 of 100 (error)" in lines
        again = run("grade", folder, "--out", tmp_path / "out").stderr.splitlines()
        assert "[1/3] ada: 3 of 30 (unchanged)" in again

    def test_a_fault_of_the_kit_ends_with_1_after_all_others(
        self, worker: type[StandIn], folder: Path, tmp_path: Path
    ) -> None:
        worker.error = KitFault("the worker died")
        outcome = run("grade", folder, "--out", tmp_path / "out")
        assert outcome.exit_code == 1
        assert "the kit failed on 2 of 3 submissions (ada, bob)" in outcome.stderr
        assert "ungraded" in outcome.stdout
        assert "eve,0,0,0,0,0,error" in (tmp_path / "out" / "grades.csv").read_text()

    def test_weak_isolation_ends_with_3(
        self, worker: type[StandIn], folder: Path, tmp_path: Path
    ) -> None:
        worker.isolation = "process"
        assert run("grade", folder, "--out", tmp_path / "out").exit_code == 3
        allowed = ("--isolation", "process")
        assert run("grade", folder, "--out", tmp_path / "out", *allowed).exit_code == 0

    def test_an_interruption_ends_with_130(
        self, worker: type[StandIn], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupt(*args: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("autograder.grading.read_submission", interrupt)
        assert run("grade", folder, "--out", tmp_path / "out").exit_code == 130

    @pytest.mark.parametrize(
        ("args", "told"),
        [
            (("nowhere", "--out", "out"), "no such folder"),
            ((".", "--out", "class/ada.py"), "a file, not a folder"),
        ],
    )
    def test_wrong_use_ends_with_2(
        self,
        worker: type[StandIn],
        folder: Path,
        args: tuple[str, ...],
        told: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.chdir(folder.parent)
        outcome = run("grade", *args)
        assert outcome.exit_code == 2
        assert told in outcome.stderr


class TestReport:
    def test_it_prints_what_grade_printed(
        self, worker: type[StandIn], folder: Path, tmp_path: Path
    ) -> None:
        graded = run("grade", folder, "--out", tmp_path / "out")
        assert run("report", tmp_path / "out").stdout == graded.stdout

    def test_a_folder_without_gradebook_ends_with_2(self, tmp_path: Path) -> None:
        assert run("report", tmp_path).exit_code == 2


class TestRelease:
    def test_it_builds_the_template(self, tmp_path: Path) -> None:
        outcome = run("release", "template", "--out", tmp_path / "template")
        assert outcome.exit_code == 0
        assert str(tmp_path / "template" / "attention" / "causal.py") in outcome.stdout

    def test_what_is_not_known_is_wrong_use(self) -> None:
        outcome = run("release", "everything")
        assert outcome.exit_code == 2
        assert "nothing is called 'everything'" in outcome.stderr


@pytest.mark.parametrize("args", [["--help"], ["check", "--help"], ["grade", "--help"]])
def test_help_is_there(args: list[str]) -> None:
    outcome = run(*args)
    assert outcome.exit_code == 0
    assert "Usage:" in outcome.stdout


@pytest.mark.parametrize("args", [["check"], ["grade", "x"], ["chekc"], ["grade", "x", "--jobs=0"]])
def test_wrong_arguments_end_with_2(args: list[str]) -> None:
    assert run(*args).exit_code == 2


def test_a_broken_assignment_is_told_with_its_file(tmp_path: Path, work: Path) -> None:
    (tmp_path / "assignment.toml").write_text("schema = 2")
    outcome = run("check", work, "--assignment", tmp_path)
    assert outcome.exit_code == 2
    assert str(tmp_path / "assignment.toml") in outcome.stderr


def test_the_command_line_imports_nothing_heavy() -> None:
    program = (
        "import sys, autograder.cli, autograder.grading, autograder.worker;"
        "print([name for name in ('torch', 'numpy', 'IPython', 'pytest') if name in sys.modules])"
    )
    heavy = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert heavy.stdout == "[]\n"


def test_a_reader_who_has_seen_enough_is_no_error() -> None:
    program = "import sys; sys.argv[1:] = ['--help']; from autograder.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate()
    assert b"Traceback" not in errors
