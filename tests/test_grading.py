"""A class from its folder to its results, whatever its entries are and whatever fails.

Grading itself is done by a stand-in: what is tested here is all that happens around it.
"""

import csv
import zipfile
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import msgspec
import pytest

from autograder.assignment.assignment import Assignment, load_assignment
from autograder.errors import InternalError, MissingRequirement, UsageError
from autograder.gradebook.gradebook import Gradebook
from autograder.grading.class_report import last_roster, report_class, stages_of
from autograder.grading.grading import Job, entries_of, grade_class, ungraded
from autograder.results.grading_key import GradingKey, grading_key
from autograder.results.result import Result, StageResult, decode_result
from autograder.submissions.downloads.handin import Origin
from autograder.submissions.roster import Person
from autograder.submissions.submission import Submission

OUT = Path("elsewhere")


class Graded(msgspec.Struct):
    """What a worker returns."""

    result: Result
    cpu_seconds: float = 0.1
    wall_seconds: float = 0.2
    isolation: str = "landlock"
    details: bytes = b""


class StandIn:
    """An executor that scores a submission by the bytes of its files, at once."""

    width = 2

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.isolation = "landlock"
        self.graded: list[str] = []
        self.failing: dict[str, BaseException] = {}
        self.starts = 0
        self.closed = 0

    def start(self) -> "StandIn":
        self.starts += 1
        return self

    def submit(self, submission: Submission, stages: tuple[str, ...] | None) -> "Future[Graded]":
        self.graded.append(submission.name)
        error = self.failing.get(submission.name)
        if isinstance(error, KeyboardInterrupt):
            raise error
        future: Future[Graded] = Future()
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(Graded(self._result(submission, stages or ())))
        return future

    def close(self) -> None:
        self.closed += 1

    def _result(self, submission: Submission, stages: tuple[str, ...]) -> Result:
        score = float(sum(len(file.data) for file in submission.files) % 10)
        results = tuple(
            StageResult(stage.id, stage.title, score, float(stage.points), ())
            for stage in stages_of(self.assignment, stages)
        )
        return Result(
            1,
            submission.name,
            submission.digest,
            self.assignment.id,
            sum(stage.score for stage in results),
            sum(stage.max_score for stage in results),
            results,
            submission.notes,
        )


class Silent:
    """Progress that nobody looks at, but a test."""

    def __init__(self) -> None:
        self.total = 0
        self.again: list[str] = []

    def begin(self, total: int) -> None:
        self.total = total

    def done(self, result: Result, *, again: bool) -> None:
        if again:
            self.again.append(result.submission)


@pytest.fixture(scope="module")
def assignment() -> Assignment:
    return load_assignment()


@pytest.fixture
def executor(assignment: Assignment) -> StandIn:
    return StandIn(assignment)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "class"
    (folder / "ada").mkdir(parents=True)
    (folder / "ada" / "causal.py").write_text("x = 1")
    (folder / "bob.py").write_text("y = 12")
    with zipfile.ZipFile(folder / "zoë.zip", "w") as archive:
        archive.writestr("attention/causal.py", "z = 123")
    (folder / "eve.zip").write_text("no archive")
    return folder


Run = Callable[..., tuple[Result, ...]]


@pytest.fixture
def run(folder: Path, tmp_path: Path, assignment: Assignment, executor: StandIn) -> Run:
    def run(*, secret: bytes = b"", progress: Silent | None = None, **options: object) -> object:
        job = msgspec.structs.replace(
            Job(assignment, grading_key(assignment, secret)),
            **options,
        )
        return grade_class(
            entries_of(folder, OUT), tmp_path / "out", job, executor.start, progress or Silent()
        )

    return run  # type: ignore[return-value]


def files(out: Path) -> dict[str, bytes]:
    """Everything that a run wrote, apart from the gradebook."""
    return {
        str(file.relative_to(out)): file.read_bytes()
        for file in sorted(out.rglob("*"))
        if file.is_file() and not file.name.startswith(("gradebook", ".lock"))
    }


class TestEntries:
    def test_a_file_a_folder_and_a_zip_are_each_a_student(self, folder: Path) -> None:
        assert [entry.name for entry in entries_of(folder, OUT)] == ["ada", "bob", "eve", "zoë"]

    def test_what_a_teacher_keeps_beside_them_is_nobody(self, folder: Path) -> None:
        for name in ("README.md", "roster.csv", ".DS_Store", "course.toml"):
            (folder / name).touch()
        (folder / "__MACOSX").mkdir()
        assert len(entries_of(folder, OUT)) == 4

    @pytest.mark.parametrize("name", ["ada.py", "ada.zip", "ADA.ipynb"])
    def test_two_entries_of_one_name_are_wrong_use(self, folder: Path, name: str) -> None:
        (folder / name).touch()
        with pytest.raises(UsageError, match="both belong to .*; keep one of them"):
            entries_of(folder, OUT)

    def test_a_folder_that_is_not_there_is_wrong_use(self, folder: Path) -> None:
        with pytest.raises(UsageError, match="no such folder"):
            entries_of(folder / "nowhere", OUT)

    def test_results_in_the_class_folder_are_no_entry(self, folder: Path) -> None:
        (folder / "results").mkdir()
        names = [entry.name for entry in entries_of(folder, folder / "results")]
        assert names == ["ada", "bob", "eve", "zoë"]

    def test_results_cannot_lie_among_the_entries(self, folder: Path) -> None:
        with pytest.raises(UsageError, match="a folder of their own"):
            entries_of(folder, folder)

    def test_an_empty_class_is_wrong_use(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="no submissions found"):
            entries_of(tmp_path, OUT)


class TestRun:
    def test_everybody_has_a_result(self, run: Run) -> None:
        scores = {result.submission: result.score for result in run()}
        assert scores == {"ada": 20.0, "bob": 24.0, "eve": 0.0, "zoë": 28.0}

    def test_an_unreadable_entry_is_that_students_error(self, run: Run) -> None:
        eve = next(result for result in run() if result.submission == "eve")
        assert eve.status == "error"
        assert eve.message is not None
        assert eve.message.startswith("eve.zip: not a zip archive")

    def test_a_link_in_the_class_folder_is_not_followed(self, run: Run, folder: Path) -> None:
        (folder / "mallory").symlink_to("ada")
        mallory = next(result for result in run() if result.submission == "mallory")
        assert (mallory.status, mallory.score) == ("error", 0.0)

    def test_the_files_are_written(self, run: Run, tmp_path: Path) -> None:
        results = run()
        out = files(tmp_path / "out")
        assert set(out) == {
            "class.html",
            "grades.csv",
            *(f"students/{name}/result.json" for name in ("ada", "bob", "eve", "zoë")),
            *(f"students/{name}/feedback.html" for name in ("ada", "bob", "eve", "zoë")),
        }
        assert decode_result(out["students/ada/result.json"]) == results[0]
        rows = list(csv.DictReader(out["grades.csv"].decode().splitlines()))
        assert [row["status"] for row in rows] == ["graded", "graded", "error", "graded"]
        assert rows[0]["causal"] == "5"

    def test_one_stage_alone(self, run: Run) -> None:
        ada = run(stages=("causal",))[0]
        assert [stage.id for stage in ada.stages] == ["causal"]
        assert ada.max_score == 30.0

    def test_the_executor_is_closed(self, run: Run, executor: StandIn) -> None:
        run()
        assert (executor.starts, executor.closed) == (1, 1)


class TestAgain:
    def test_a_second_run_grades_nothing_and_starts_nothing(
        self, run: Run, executor: StandIn
    ) -> None:
        run()
        executor.graded.clear()
        run()
        assert executor.graded == []
        assert executor.starts == 1

    def test_only_what_changed_is_graded_again(
        self, run: Run, executor: StandIn, folder: Path
    ) -> None:
        run()
        executor.graded.clear()
        (folder / "bob.py").write_text("y = 2")
        progress = Silent()
        run(progress=progress)
        assert executor.graded == ["bob"]
        assert progress.again == ["ada", "zoë"]

    def test_another_key_grades_everything(self, run: Run, executor: StandIn) -> None:
        run()
        executor.graded.clear()
        run(secret=b"another")
        assert executor.graded == ["ada", "bob", "zoë"]

    def test_fresh_grades_everything(self, run: Run, executor: StandIn) -> None:
        run()
        executor.graded.clear()
        run(fresh=True)
        assert executor.graded == ["ada", "bob", "zoë"]

    def test_every_run_is_kept(self, run: Run, folder: Path, tmp_path: Path) -> None:
        run()
        (folder / "bob.py").write_text("y = 2")
        run()
        with Gradebook(tmp_path / "out") as book:
            scores = [
                [record.result.score for record in book.records(book.run(number))]
                for number in (1, 2)
            ]
        assert scores == [[20.0, 24.0, 0.0, 28.0], [20.0, 20.0, 0.0, 28.0]]

    def test_who_has_left_is_in_no_table(self, run: Run, folder: Path, tmp_path: Path) -> None:
        run()
        (folder / "bob.py").unlink()
        assert [result.submission for result in run()] == ["ada", "eve", "zoë"]
        assert b"bob" not in (tmp_path / "out" / "grades.csv").read_bytes()


class TestFailures:
    def test_a_fault_of_the_kit_leaves_one_score_open_and_grades_the_rest(
        self, run: Run, executor: StandIn, tmp_path: Path
    ) -> None:
        executor.failing["ada"] = InternalError("the worker died")
        fault = ungraded(run())
        assert "failed on 1 of 4 submissions (ada)" in str(fault)
        rows = list(csv.DictReader((tmp_path / "out" / "grades.csv").open()))
        assert [(row["score"], row["status"]) for row in rows] == [
            ("", "ungraded"),
            ("24", "graded"),
            ("0", "error"),
            ("28", "graded"),
        ]
        result = decode_result((tmp_path / "out/students/ada/result.json").read_bytes())
        assert result.score is None

    def test_it_is_tried_again_by_the_next_run(self, run: Run, executor: StandIn) -> None:
        executor.failing["ada"] = ValueError("unexpected")
        assert run()[0].score is None
        executor.failing.clear()
        executor.graded.clear()
        results = run()
        assert results[0].score == 20.0
        assert ungraded(results) is None
        assert executor.graded == ["ada"]

    def test_what_the_surroundings_lack_ends_the_run(self, run: Run, executor: StandIn) -> None:
        executor.failing["bob"] = MissingRequirement("no isolation")
        with pytest.raises(MissingRequirement):
            run()
        assert executor.closed == 1

    def test_weak_isolation_is_refused_unless_asked_for(self, run: Run, executor: StandIn) -> None:
        executor.isolation = "process"
        with pytest.raises(MissingRequirement, match="accept it with --isolation process"):
            run()
        assert executor.graded == []
        assert len(run(isolation="process")) == 4

    def test_an_interruption_keeps_what_was_finished(
        self, run: Run, executor: StandIn, tmp_path: Path
    ) -> None:
        executor.failing["zoë"] = KeyboardInterrupt()
        with pytest.raises(KeyboardInterrupt):
            run()
        assert executor.closed == 1
        executor.failing.clear()
        executor.graded.clear()
        run()
        assert executor.graded == ["zoë"]
        with Gradebook(tmp_path / "out") as book:
            last = book.last_run()
            assert last is not None
            assert (last.id, last.outcome) == (1, "finished")

    def test_a_run_that_was_broken_off_ends_in_the_same_files(
        self, run: Run, executor: StandIn, tmp_path: Path
    ) -> None:
        run()
        whole = files(tmp_path / "out")
        (tmp_path / "out").rename(tmp_path / "whole")
        for name in ("ada", "bob", "zoë"):
            executor.failing = {name: KeyboardInterrupt()}
            with pytest.raises(KeyboardInterrupt):
                run()
        executor.failing.clear()
        run()
        assert files(tmp_path / "out") == whole

    def test_a_folder_that_cannot_be_written_loses_nothing(
        self, run: Run, executor: StandIn, tmp_path: Path
    ) -> None:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "students").touch()  # where a folder has to be
        with pytest.raises(MissingRequirement, match="finished results are in the gradebook"):
            run()
        graded = list(executor.graded)
        (tmp_path / "out" / "students").unlink()
        executor.graded.clear()
        run()
        assert sorted(graded + executor.graded) == ["ada", "bob", "zoë"]


class TestReport:
    def test_it_writes_the_same_files_from_the_gradebook_alone(
        self, run: Run, tmp_path: Path
    ) -> None:
        out = tmp_path / "out"
        run()
        before = files(out)
        for name in before:
            (out / name).unlink()
        results, stages = report_class(out)
        assert files(out) == before
        assert len(results) == 4
        assert [stage.id for stage in stages] == ["simplified", "trainable", "causal", "multi_head"]

    def test_it_has_the_stages_of_the_last_run(self, run: Run, tmp_path: Path) -> None:
        run()
        run(stages=("causal",))
        assert [stage.id for stage in report_class(tmp_path / "out")[1]] == ["causal"]

    def test_without_a_run_it_is_wrong_use(self, tmp_path: Path) -> None:
        Gradebook(tmp_path / "out", create=True).close()
        with pytest.raises(UsageError, match="nothing has been graded into this folder"):
            report_class(tmp_path / "out")


def test_a_run_remembers_whom_its_entries_were_matched_with(tmp_path: Path) -> None:
    ada = Person("ada", "Ada Sample")
    with Gradebook(tmp_path, create=True) as book:
        run = book.begin(load_assignment().folder, GradingKey(*"abcdefghi"), ())
        book.remember(run, {"ada": Origin("canvas", people=(ada,)), "x": Origin("canvas")})
    roster = last_roster(tmp_path)
    assert roster is not None
    assert roster.people == (ada,)
