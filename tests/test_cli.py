"""The door: exit codes, one line for whatever goes wrong, output for people and programs.

The worker is a stand-in here; `test_worker.py` and the example class have the real one.
"""

import json
import os
import shutil
import stat
import subprocess
import sys
import types
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner
from typer.testing import Result as Outcome

from autograder.assignment.assignment import load_assignment
from autograder.cli.main import app
from autograder.errors import InternalError, MissingRequirement
from autograder.gradebook.gradebook import Gradebook
from autograder.results.details import AttentionSeen, Details, HeadWeights
from autograder.results.result import CriterionResult, Result, StageResult, decode_result
from autograder.submissions.submission import Submission


class StandIn:
    """A worker that gives every submission the same result."""

    isolation = "landlock"
    error: BaseException | None = None
    details = b""

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
            details=self.details,
        )


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> type[StandIn]:
    class Fresh(StandIn):
        pass

    monkeypatch.setattr("autograder.grading.worker.Worker", Fresh)
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

    def test_show_adds_the_attention_weights(self, worker: type[StandIn], work: Path) -> None:
        head = HeadWeights(((0.7, 0.3), (0.5, 0.5)), ((1.0, 0.0), (0.4, 0.6)))
        seen = AttentionSeen("CausalAttention", "causal", ("one", "two"), (head,), causal=True)
        worker.details = msgspec.json.encode(Details(attention=(seen,)))
        told = "CausalAttention: how much each word (row) attends to each (column)"
        assert told not in run("check", work).stdout
        shown = run("check", work, "--show").stdout
        assert told in shown
        assert "1 weight on words that come later" in shown

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
        assert "no stage 'casual'" in outcome.stderr

    def test_unreadable_input_is_one_line(self, worker: type[StandIn], folder: Path) -> None:
        outcome = run("check", folder / "eve.zip")
        assert outcome.exit_code == 2
        assert outcome.stdout == ""
        assert outcome.stderr.startswith("autograder: eve.zip: not a zip archive")
        assert outcome.stderr.count("\n") == 1

    @pytest.mark.parametrize(
        ("error", "code", "told"),
        [
            (InternalError("the worker died"), 1, "autograder: the worker died\n"),
            (MissingRequirement("no isolation"), 3, "autograder: no isolation\n"),
            (KeyboardInterrupt(), 130, "autograder: interrupted; finished results are kept\n"),
            (ZeroDivisionError("x\x1b[2J\ny"), 1, "internal error: ZeroDivisionError: x"),
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
        worker.error = InternalError("the worker died")
        outcome = run("grade", folder, "--out", tmp_path / "out")
        assert outcome.exit_code == 1
        assert "the kit failed on 2 of 3 submissions (ada, bob)" in outcome.stderr
        assert "ungraded" in outcome.stdout
        assert "eve,0,0,0,0,0,error" in (tmp_path / "out" / "grades.csv").read_text()

    def test_a_roster_names_students_and_tells_who_fits_nobody(
        self, worker: type[StandIn], folder: Path, tmp_path: Path
    ) -> None:
        roster = tmp_path / "roster.csv"
        roster.write_text("student,login,name\na.sample,ada,Ada Sample\ncy,cy,Cy Sample\n")
        outcome = run("grade", folder, "--out", tmp_path / "out", "--roster", roster)
        assert outcome.exit_code == 0
        rows = [line.split() for line in outcome.stdout.splitlines()]
        assert ["a.sample", "–", "–", "3", "–", "3", "graded"] in rows
        told = [line.split() for line in outcome.stderr.splitlines()]
        assert ["bob", "bob.py"] in told
        assert ["eve", "eve.zip"] in told
        assert ["cy", "Cy", "Sample"] in told
        with Gradebook(tmp_path / "out") as book:
            run_ = book.last_run()
            assert run_ is not None
            assert book.origins(run_)["a.sample"].people[0].login == "ada"

    def test_a_roster_that_cannot_be_read_ends_with_2(
        self, worker: type[StandIn], folder: Path, tmp_path: Path
    ) -> None:
        outcome = run("grade", folder, "--out", tmp_path / "out", "--roster", "no.csv")
        assert outcome.exit_code == 2
        assert "no.csv: cannot be read" in outcome.stderr

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

        monkeypatch.setattr("autograder.submissions.entries.read_submission", interrupt)
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


def zipped(path: Path, *members: tuple[str, bytes], link: str = "") -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
        if link:
            info = zipfile.ZipInfo(link)
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, "/etc/passwd")


def encrypted(path: Path) -> None:
    zipped(path, ("a.py", b"x = 1"))
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)


def linked(path: Path) -> None:
    path.mkdir()
    (path / "a.py").symlink_to("/etc/passwd")


def piped(path: Path) -> None:
    path.mkdir()
    os.mkfifo(path / "a.py")


#: What cannot be read: the entry's name, how it comes to be, and a part of the line about it.
BAD_INPUT: dict[str, tuple[Callable[[Path], object], str]] = {
    "no_archive.zip": (lambda path: path.write_bytes(b"hello"), "not a zip archive"),
    "cut_off.zip": (lambda path: path.write_bytes(b"PK\x03\x04" + bytes(40)), "a damaged one"),
    "encrypted.zip": (encrypted, "the archive is encrypted; zip it again without a password"),
    "climbing.zip": (lambda path: zipped(path, ("../a.py", b"")), "leads out of the hand-in"),
    "absolute.zip": (lambda path: zipped(path, ("/tmp/a.py", b"")), "an absolute name"),
    "linking.zip": (lambda path: zipped(path, link="a.py"), "a.py is a link"),
    "bomb.zip": (lambda path: zipped(path, ("a.py", bytes(9_000_000))), "times its size"),
    "links": (linked, "a.py is a link; hand in the file itself"),
    "pipe": (piped, "a.py is no ordinary file"),
    "python.ipynb": (lambda path: path.write_bytes(b"import torch"), "not a notebook"),
    "empty": (Path.mkdir, "no .py file and no notebook in it; hand in your work"),
    "essay.pdf": (lambda path: path.write_bytes(b"%PDF"), "this kind of file is not read"),
}


class TestBadInput:
    """One clear line and the agreed exit code, and nothing that was graded is lost."""

    @pytest.mark.parametrize("name", BAD_INPUT)
    def test_a_submission_that_cannot_be_read_is_one_line_and_2(
        self, name: str, worker: type[StandIn], tmp_path: Path
    ) -> None:
        make, told = BAD_INPUT[name]
        make(tmp_path / name)
        self.is_one_line(run("check", tmp_path / name), 2, f"autograder: {name}: ", told)

    def test_a_submission_that_is_not_there_is_one_line_and_2(
        self, worker: type[StandIn], tmp_path: Path
    ) -> None:
        outcome = run("check", tmp_path / "nobody")
        self.is_one_line(outcome, 2, "autograder: no such file or folder: ", "nobody")

    def test_in_a_class_each_is_its_students_error_and_the_others_are_graded(
        self, worker: type[StandIn], tmp_path: Path
    ) -> None:
        (tmp_path / "class").mkdir()
        for name, (make, _) in BAD_INPUT.items():
            make(tmp_path / "class" / name)
        (tmp_path / "class" / "zoe.py").write_text("x = 1")
        assert run("grade", tmp_path / "class", "--out", tmp_path / "out").exit_code == 0
        results = {
            file.parent.name: decode_result(file.read_bytes())
            for file in (tmp_path / "out" / "students").glob("*/result.json")
        }
        assert results.pop("zoe").score == 3.0
        assert len(results) == len(BAD_INPUT)
        for name, (_, told) in BAD_INPUT.items():
            result = results[name.removesuffix(".zip").removesuffix(".ipynb")]
            assert (result.status, result.score) == ("error", 0.0)
            assert result.message is not None
            assert told in result.message
            assert "\n" not in result.message

    def test_two_entries_of_one_name_are_one_line_and_2_and_nothing_is_graded(
        self, worker: type[StandIn], folder: Path, tmp_path: Path
    ) -> None:
        (folder / "ada.zip").touch()
        outcome = run("grade", folder, "--out", tmp_path / "out")
        self.is_one_line(outcome, 2, "autograder: ", "ada.py and ada.zip both belong to ada")
        assert not (tmp_path / "out").exists()

    def test_an_empty_class_is_one_line_and_2(self, worker: type[StandIn], tmp_path: Path) -> None:
        (tmp_path / "class").mkdir()
        outcome = run("grade", tmp_path / "class", "--out", tmp_path / "out")
        self.is_one_line(outcome, 2, "autograder: ", "no submissions found")

    @pytest.mark.parametrize(
        ("old", "new", "told"),
        [
            ("schema = 1", "schema = ", "line 7"),
            ("points = 100", "points = 90", "adds up to 100 points, the assignment has 90"),
            ("load_seconds = 8.0", "load_second = 8.0", "load_second"),
            ("title = ", "titel = ", "titel"),
        ],
    )
    def test_a_broken_assignment_is_one_line_and_2(
        self, old: str, new: str, told: str, work: Path, tmp_path: Path
    ) -> None:
        source = load_assignment().folder
        shutil.copytree(source, tmp_path / "attention")
        table = (tmp_path / "attention" / "assignment.toml").read_text("utf-8")
        table = table.replace('"../../', f'"{source.parents[1].as_posix()}/')
        assert old in table
        (tmp_path / "attention" / "assignment.toml").write_text(table.replace(old, new, 1))
        outcome = run("check", work, "--assignment", tmp_path / "attention")
        self.is_one_line(outcome, 2, "autograder: ", "assignment.toml: ", told)

    def test_a_folder_that_is_in_use_is_one_line_and_3(
        self, worker: type[StandIn], folder: Path, tmp_path: Path
    ) -> None:
        run("grade", folder, "--out", tmp_path / "out")
        with Gradebook(tmp_path / "out"):
            for args in (
                ("grade", folder, "--out", tmp_path / "out"),
                ("report", tmp_path / "out"),
            ):
                self.is_one_line(run(*args), 3, "autograder: ", "in use by another run")
        assert run("grade", folder, "--out", tmp_path / "out").exit_code == 0

    def test_a_folder_that_cannot_be_written_is_one_line_and_3(
        self, worker: type[StandIn], folder: Path
    ) -> None:
        self.is_one_line(
            run("grade", folder, "--out", "/proc/out"),
            3,
            "autograder: /proc/out: cannot be written",
        )

    def test_a_full_disk_is_one_line_and_3_and_the_next_run_goes_on(self, tmp_path: Path) -> None:
        (tmp_path / "class").mkdir()
        for number in range(30):
            (tmp_path / "class" / f"student_{number:02}.py").write_text(f"x = {number}")
        full = graded_with_little_room(tmp_path, room=120_000)
        assert full.returncode == 3, full.stderr
        *progress, last = full.stderr.splitlines()
        assert last.startswith("autograder: ")
        assert "finished results are" in last
        assert 0 < len(progress) < 30
        rest = graded_with_little_room(tmp_path, room=-1)
        assert rest.returncode == 0, rest.stderr
        assert rest.stderr.count("(unchanged)") >= len(progress)
        assert len(list((tmp_path / "out" / "students").glob("*/result.json"))) == 30

    @staticmethod
    def is_one_line(outcome: Outcome, code: int, start: str, *parts: str) -> None:
        """Standard error has one line, standard output none."""
        assert outcome.exit_code == code
        assert outcome.stdout == ""
        assert outcome.stderr.startswith(start)
        assert outcome.stderr.count("\n") == 1
        for part in parts:
            assert part in outcome.stderr


def graded_with_little_room(folder: Path, room: int) -> "subprocess.CompletedProcess[str]":
    """Grade `folder/class`, by the stand-in, where no file can grow beyond `room` bytes."""
    program = f"""
import importlib.util, resource, sys
import autograder.grading.worker
from autograder.cli.main import main
spec = importlib.util.spec_from_file_location("tests_of_cli", {__file__!r})
module = sys.modules["tests_of_cli"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
autograder.grading.worker.Worker = module.StandIn
resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, -1))
sys.argv[1:] = ["grade", {str(folder / "class")!r}, "--out", {str(folder / "out")!r}]
main()
"""
    # What is measured in `make proof` could not be written either.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=kept)


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
        assert "cannot build 'everything'" in outcome.stderr


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
        "import sys, autograder.cli.main, autograder.grading.grading, autograder.grading.worker;"
        "print([name for name in ('torch', 'numpy', 'IPython', 'pytest') if name in sys.modules])"
    )
    heavy = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert heavy.stdout == "[]\n"


def test_a_reader_who_has_seen_enough_is_no_error() -> None:
    program = "import sys; sys.argv[1:] = ['--help']; from autograder.cli.main import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate()
    assert b"Traceback" not in errors
