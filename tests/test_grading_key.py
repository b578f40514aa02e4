"""The grading key changes with whatever a result depends on."""

import shutil
from pathlib import Path

import msgspec
import pytest

from autograder.assignment.assignment import Assignment, load_assignment
from autograder.results import grading_key as module
from autograder.results.grading_key import grading_key


@pytest.fixture(scope="module")
def assignment() -> Assignment:
    return load_assignment()


def test_the_same_surroundings_give_the_same_key(assignment: Assignment) -> None:
    assert grading_key(assignment).digest == grading_key(assignment).digest


def test_it_changes_with_the_secret(assignment: Assignment) -> None:
    first, second = grading_key(assignment, b"one"), grading_key(assignment, b"two")
    assert first.changed(second) == ("secret",)
    assert first.digest != second.digest


def test_it_does_not_hold_the_secret(assignment: Assignment) -> None:
    assert b"hush" not in msgspec.json.encode(grading_key(assignment, b"hush"))


def test_it_changes_with_the_limits(assignment: Assignment) -> None:
    limits = msgspec.structs.replace(assignment.limits, call_seconds=99.0)
    other = msgspec.structs.replace(assignment, limits=limits)
    assert grading_key(assignment).changed(grading_key(other)) == ("limits",)


def test_it_changes_with_a_solution(assignment: Assignment, tmp_path: Path) -> None:
    shutil.copytree(assignment.solutions, tmp_path / "attention")
    other = msgspec.structs.replace(assignment, solutions=tmp_path / "attention")
    assert grading_key(assignment) == grading_key(other)
    (tmp_path / "attention" / "causal.py").write_text("")
    assert grading_key(assignment).changed(grading_key(other)) == ("solutions",)


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("scoring/scoring.py", ("kit",)),
        ("sandbox/protocol/wire.py", ("kit",)),
        ("feedback/pages.py", ()),
        ("cli/check.py", ()),
        ("gradebook/history.py", ()),
    ],
)
def test_it_changes_with_the_part_of_the_kit_that_changed(
    assignment: Assignment,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    changed: tuple[str, ...],
) -> None:
    monkeypatch.setattr(module, "PACKAGE", tmp_path)
    before = grading_key(assignment)
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("x = 1")
    assert before.changed(grading_key(assignment)) == changed


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("checks/causal.py", ("checks",)),
        ("checks/shared_by_stages.py", ("checks",)),
        ("chain.py", ("checks",)),
        ("misconceptions/causal.py", ("misconceptions",)),
        ("misconceptions/texts.toml", ("misconceptions",)),
        ("__pycache__/chain.cpython-311.pyc", ()),
    ],
)
def test_it_changes_with_what_lies_beside_the_assignment(
    assignment: Assignment, tmp_path: Path, file: str, changed: tuple[str, ...]
) -> None:
    stages = tuple(
        msgspec.structs.replace(
            stage,
            checks=f"beside.checks.{stage.module}",
            misconceptions=f"beside.misconceptions.{stage.module}",
        )
        for stage in assignment.stages
    )
    shutil.copyfile(assignment.folder / "assignment.toml", tmp_path / "assignment.toml")
    own = msgspec.structs.replace(assignment, folder=tmp_path, stages=stages, subject="beside")
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "__init__.py").write_text("")
    before = grading_key(own)
    (tmp_path / "beside" / file).parent.mkdir(exist_ok=True)
    (tmp_path / "beside" / file).write_text("x = 1")
    assert before.changed(grading_key(own)) == changed
