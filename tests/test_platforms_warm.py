"""A judge that a platform's process keeps: warm while it is asked, gone after a rest."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.errors import InternalError, MissingRequirement, UsageError
from autograder.grading.exchange import Graded
from autograder.platforms import warm
from autograder.platforms.warm import WarmJudge, unreadable
from autograder.results.criterion_keys import criteria_of, results_of
from autograder.submissions.submission import Submission
from tests.conftest import ASSIGNMENT, ROOT

EXAMPLE = ROOT / "examples" / "submissions" / "farid"


@pytest.fixture(scope="module")
def judge() -> Iterator[WarmJudge]:
    judge = WarmJudge(ASSIGNMENT, "process")
    yield judge
    judge.close()


def test_the_same_work_is_graded_once(judge: WarmJudge) -> None:
    first = judge.grade(EXAMPLE, "farid")
    assert judge.grade(EXAMPLE, "farid") is first
    assert first.score == 95.0


def test_the_same_work_of_another_student_bears_that_students_name(judge: WarmJudge) -> None:
    assert judge.grade(EXAMPLE, "another").submission == "another"


def test_work_that_cannot_be_read_earns_nothing_and_says_why(
    judge: WarmJudge, tmp_path: Path
) -> None:
    result = judge.grade(tmp_path, "empty")
    assert (result.status, result.score) == ("error", 0.0)
    told = results_of(result, ASSIGNMENT)
    assert list(told) == list(criteria_of(ASSIGNMENT))
    assert {each.message for each in told.values()} == {result.message}
    assert "no .py file and no notebook" in (result.message or "")


class FakeWorker:
    """Grades at once, or fails; writes down for whom."""

    isolation = "bubblewrap"

    def __init__(self, folder: Path, isolation: str | None) -> None:
        self.asked: list[str] = []
        self.failures = 0
        self.killed = False

    def grade(self, submission: Submission, stages: None) -> Graded:
        self.asked.append(submission.name)
        if self.failures:
            self.failures -= 1
            raise InternalError("the worker died")
        result = unreadable(ASSIGNMENT, submission.name, submission.digest)
        return Graded(result, 0.0, 0.0, self.isolation)

    def kill(self) -> None:
        self.killed = True

    def __enter__(self) -> "FakeWorker":
        return self

    def __exit__(self, *error: object) -> None:
        self.killed = True


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[WarmJudge, FakeWorker]]:
    """A judge whose worker is always the same fake one."""
    worker = FakeWorker(ASSIGNMENT.folder, None)
    monkeypatch.setattr(warm, "Worker", lambda *settings: worker)
    judge = WarmJudge(ASSIGNMENT)
    yield judge, worker
    judge.close()


class TestWorkThatIsBegunAhead:
    def test_is_graded_once_and_told_when_asked_for(
        self, fake: tuple[WarmJudge, FakeWorker]
    ) -> None:
        judge, worker = fake
        judge.begin(EXAMPLE, "farid")
        assert judge.grade(EXAMPLE, "farid").submission == "farid"
        judge.begin(EXAMPLE, "farid")
        assert worker.asked == ["farid"]

    def test_is_graded_again_where_it_has_changed_in_between(
        self, fake: tuple[WarmJudge, FakeWorker], tmp_path: Path
    ) -> None:
        judge, worker = fake
        place = shutil.copytree(EXAMPLE, tmp_path / "farid")
        judge.begin(place, "farid")
        (place / "late.py").write_text("x = 1\n")
        late = judge.grade(place, "farid").message
        assert worker.asked == ["farid", "farid"]
        assert late != judge.grade(EXAMPLE, "farid").message  # the fake one's is the digest

    def test_that_cannot_be_read_says_nothing_before_it_is_asked_for(
        self, fake: tuple[WarmJudge, FakeWorker], tmp_path: Path
    ) -> None:
        judge, worker = fake
        judge.begin(tmp_path / "gone", "nobody")
        assert judge.grade(tmp_path / "gone", "nobody").status == "error"
        assert worker.asked == []

    def test_that_the_kit_failed_on_is_told_once_and_then_tried_again(
        self, fake: tuple[WarmJudge, FakeWorker]
    ) -> None:
        judge, worker = fake
        worker.failures = 2  # an executor tries twice
        judge.begin(EXAMPLE, "farid")
        with pytest.raises(InternalError, match="the worker died"):
            judge.grade(EXAMPLE, "farid")
        assert judge.grade(EXAMPLE, "farid").submission == "farid"

    def test_is_not_run_where_nothing_holds_it(
        self, fake: tuple[WarmJudge, FakeWorker], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        judge, worker = fake
        monkeypatch.setattr(worker, "isolation", "process")
        judge.begin(EXAMPLE, "farid")
        with pytest.raises(MissingRequirement, match="no isolation but a separate process"):
            judge.grade(EXAMPLE, "farid")
        assert worker.asked == []
        assert worker.killed
        assert not judge.is_awake


def test_after_a_rest_its_worker_is_gone_and_comes_back_when_asked() -> None:
    judge = WarmJudge(ASSIGNMENT, "process", rest_seconds=0.01)
    judge.grade(EXAMPLE, "farid")
    while judge.is_awake:
        time.sleep(0.01)
    assert judge.grade(EXAMPLE, "other").score == 95.0
    judge.close()
    assert not judge.is_awake


def test_what_cannot_start_is_told_and_costs_nobody_a_point() -> None:
    judge = WarmJudge(ASSIGNMENT, "moat")
    with pytest.raises(UsageError, match="no isolation level 'moat'"):
        judge.grade(EXAMPLE, "farid")
    assert not judge.is_awake
