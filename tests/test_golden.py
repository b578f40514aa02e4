"""Each student of the example class gets the result that is kept in `tests/golden`, to the byte.

AUTOGRADER_WRITE_GOLDEN=1 writes the files anew: read the difference before it is committed.
"""

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from autograder.assignment import load_assignment
from autograder.result import decode_result, encode_result
from autograder.submission import Submission, name_of, read_submission
from autograder.worker import Worker

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = Path(__file__).parent / "golden"
VARIABLE = "AUTOGRADER_WRITE_GOLDEN"
WRITES = os.environ.get(VARIABLE) == "1"
ASSIGNMENT = load_assignment(ROOT)
CLASS = {
    name_of(path): path
    for path in sorted((ROOT / "examples" / "submissions").iterdir())
    if path.name != "README.md" and not path.name.startswith((".", "_"))
}
every_student = pytest.mark.parametrize("student", CLASS)

Bytes = Mapping[str, bytes]


def graded(students: list[Submission]) -> Bytes:
    """What one worker, which lives through the whole list, makes of it."""
    with Worker(ASSIGNMENT.folder, "process") as worker:
        return {each.name: encode_result(worker.grade(each).result) for each in students}


@pytest.fixture(scope="module")
def twice() -> tuple[Bytes, Bytes]:
    """The class graded by two workers: by one in its order, by the other from its end."""
    students = [read_submission(path, ASSIGNMENT.limits) for path in CLASS.values()]
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(graded, (students, students[::-1]))
    if WRITES:
        GOLDEN.mkdir(exist_ok=True)
        for path in GOLDEN.glob("*.json"):
            path.unlink()
        for name, data in first.items():
            (GOLDEN / f"{name}.json").write_bytes(data)
    return first, second


@every_student
def test_the_result_is_the_golden_one(student: str, twice: tuple[Bytes, Bytes]) -> None:
    path = GOLDEN / f"{student}.json"
    assert path.is_file(), f"write it with {VARIABLE}=1"
    assert twice[0][student].decode() == path.read_text("utf-8")


@every_student
def test_another_worker_and_another_order_give_the_same_bytes(
    student: str, twice: tuple[Bytes, Bytes]
) -> None:
    assert twice[1][student] == twice[0][student]


def test_no_golden_result_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} <= set(CLASS)


@every_student
def test_a_golden_result_adds_up(student: str, twice: tuple[Bytes, Bytes]) -> None:
    result = decode_result(twice[0][student])
    assert result.submission == student
    assert result.score == sum(stage.score for stage in result.stages)
    for stage in result.stages:
        assert stage.score == sum(each.score for each in stage.criteria)
        for criterion in stage.criteria:
            assert criterion.score == sum(share.score for share in criterion.shares)
            assert bool(criterion.message) == (criterion.score < criterion.max_score)
