"""Each student of the example class gets the result that is kept in `tests/golden`, to the byte.

AUTOGRADER_WRITE_GOLDEN=1 writes the files anew: read the difference before it is committed.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from autograder.assignment.secret import PRACTICE, VARIABLE
from autograder.grading.executor import LocalExecutor
from autograder.grading.grading import Entry, Job, entries_of, grade_class
from autograder.grading.worker import Worker
from autograder.results.grading_key import grading_key
from autograder.results.result import Result, decode_result
from tests.conftest import ASSIGNMENT, ROOT

GOLDEN = Path(__file__).parent / "golden"
WRITE = "AUTOGRADER_WRITE_GOLDEN"
CLASS = entries_of(ROOT / "examples" / "submissions", Path("elsewhere"))
every_student = pytest.mark.parametrize("student", [entry.name for entry in CLASS])

Bytes = Mapping[str, bytes]


class Silent:
    """Nobody watches."""

    def begin(self, total: int) -> None:
        """A run begins."""

    def done(self, result: Result, *, again: bool) -> None:
        """One entry is done."""


def graded(entries: tuple[Entry, ...], out: Path, workers: int) -> Bytes:
    """The `result.json` of every student, by one or more workers."""
    job = Job(ASSIGNMENT, grading_key(ASSIGNMENT, PRACTICE), isolation="process")

    def start() -> LocalExecutor:
        return LocalExecutor(lambda: Worker(ASSIGNMENT.folder, job.isolation), workers)

    grade_class(entries, out, job, start, Silent())
    return {
        each.name: (out / "students" / each.name / "result.json").read_bytes() for each in entries
    }


@pytest.fixture(scope="module", autouse=True)
def _for_practice() -> Iterator[None]:
    """The golden results are those for practice."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(VARIABLE, raising=False)
        yield


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Bytes:
    """The class graded by two workers in its order."""
    first = graded(CLASS, tmp_path_factory.mktemp("two"), 2)
    if os.environ.get(WRITE) == "1":
        GOLDEN.mkdir(exist_ok=True)
        for path in GOLDEN.glob("*.json"):
            path.unlink()
        for name, data in first.items():
            (GOLDEN / f"{name}.json").write_bytes(data)
    return first


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Bytes:
    """The class graded by one worker alone, from its end."""
    return graded(CLASS[::-1], tmp_path_factory.mktemp("one"), 1)


@every_student
def test_the_result_is_the_golden_one(student: str, first: Bytes) -> None:
    path = GOLDEN / f"{student}.json"
    assert path.is_file(), f"write it with {WRITE}=1"
    assert first[student].decode() == path.read_bytes().decode()


@pytest.mark.proof
@every_student
def test_another_worker_and_another_order_give_the_same_bytes(
    student: str, first: Bytes, second: Bytes
) -> None:
    assert second[student] == first[student]


@every_student
def test_every_result_adds_up_and_gives_a_reason_for_each_lost_point(
    student: str, first: Bytes
) -> None:
    result = decode_result(first[student])
    assert result.submission == student
    assert result.score == sum(stage.score for stage in result.stages)
    assert result.stages or result.message
    for stage in result.stages:
        assert stage.score == sum(each.score for each in stage.criteria)
        for criterion in stage.criteria:
            assert criterion.score == sum(share.score for share in criterion.shares)
            assert bool(criterion.message) == (criterion.score < criterion.max_score)


def test_no_golden_result_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} <= {entry.name for entry in CLASS}
