"""A judge that a platform's process keeps: warm while it is asked, gone after a rest."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.assignment import load_assignment
from autograder.errors import WrongUse
from autograder.platforms.names import criteria_of, results_of
from autograder.platforms.warm import WarmJudge

ROOT = Path(__file__).resolve().parents[1]
ATTENTION = load_assignment(ROOT)
EXAMPLE = ROOT / "examples" / "submissions" / "farid"


@pytest.fixture(scope="module")
def judge() -> Iterator[WarmJudge]:
    judge = WarmJudge(ATTENTION, "process")
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
    told = results_of(result, ATTENTION)
    assert list(told) == list(criteria_of(ATTENTION))
    assert {each.message for each in told.values()} == {result.message}
    assert "no .py file and no notebook" in (result.message or "")


def test_after_a_rest_its_worker_is_gone_and_comes_back_when_asked() -> None:
    judge = WarmJudge(ATTENTION, "process", rest_seconds=0.01)
    judge.grade(EXAMPLE, "farid")
    while judge.is_awake:
        time.sleep(0.01)
    assert judge.grade(EXAMPLE, "other").score == 95.0
    judge.close()
    assert not judge.is_awake


def test_what_cannot_start_is_told_and_costs_nobody_a_point() -> None:
    judge = WarmJudge(ATTENTION, "moat")
    with pytest.raises(WrongUse, match="no isolation level 'moat'"):
        judge.grade(EXAMPLE, "farid")
    assert not judge.is_awake
