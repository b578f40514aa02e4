"""The course's secret: where it lies, who may read it, and what there is without one."""

import os
from pathlib import Path

import msgspec
import pytest

from autograder.assignment.assignment import Assignment, load_assignment
from autograder.assignment.secret import PRACTICE, VARIABLE, load_secret, secret_file
from autograder.errors import UsageError
from tests.conftest import ROOT

LONG_ENOUGH = b"sixteen bytes!!!"


@pytest.fixture
def assignment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Assignment:
    """The assignment as if it lay in a folder of its own, with nothing in the environment."""
    monkeypatch.delenv(VARIABLE, raising=False)
    folder = tmp_path / "course"
    folder.mkdir()
    return msgspec.structs.replace(load_assignment(ROOT), folder=folder)


def written(path: Path, secret: bytes = LONG_ENOUGH, mode: int = 0o600) -> Path:
    path.write_bytes(secret)
    path.chmod(mode)
    return path


def test_without_a_file_inputs_are_those_for_practice(assignment: Assignment) -> None:
    assert secret_file(assignment) is None
    assert load_secret(assignment) == PRACTICE


def test_a_file_beside_the_assignment_holds_the_secret(assignment: Assignment) -> None:
    path = written(assignment.folder / "secret")
    assert secret_file(assignment) == path
    assert load_secret(assignment) == LONG_ENOUGH


def test_a_file_named_in_the_environment_comes_first(
    assignment: Assignment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(assignment.folder / "secret")
    other = written(tmp_path / "elsewhere", b"another secret of the course")
    monkeypatch.setenv(VARIABLE, str(other))
    assert load_secret(assignment) == b"another secret of the course"


def test_an_empty_name_in_the_environment_names_nothing(
    assignment: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "")
    assert load_secret(assignment) == PRACTICE


def test_a_newline_at_the_end_is_no_part_of_it(assignment: Assignment) -> None:
    written(assignment.folder / "secret", LONG_ENOUGH + b"\n")
    assert load_secret(assignment) == LONG_ENOUGH


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601, 0o644, 0o666])
def test_a_file_that_is_open_to_others_is_refused(assignment: Assignment, mode: int) -> None:
    path = written(assignment.folder / "secret", mode=mode)
    with pytest.raises(UsageError, match=f"chmod 600 {path}"):
        load_secret(assignment)


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o700])
def test_a_file_that_is_the_owners_alone_is_taken(assignment: Assignment, mode: int) -> None:
    written(assignment.folder / "secret", mode=mode)
    assert load_secret(assignment) == LONG_ENOUGH


@pytest.mark.parametrize("secret", [b"", b"\n", b"fifteen bytes!!", b" " * 40])
def test_a_secret_that_could_be_guessed_is_refused(assignment: Assignment, secret: bytes) -> None:
    written(assignment.folder / "secret", secret)
    with pytest.raises(UsageError, match="fewer than 16 bytes"):
        load_secret(assignment)


def test_a_named_file_that_is_not_there_is_told_and_not_replaced_by_practice(
    assignment: Assignment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="nowhere cannot be read"):
        load_secret(assignment)


def test_a_folder_in_its_place_is_told(assignment: Assignment) -> None:
    (assignment.folder / "secret").mkdir()
    with pytest.raises(UsageError, match="cannot be read"):
        load_secret(assignment)


def test_no_message_holds_the_secret(assignment: Assignment) -> None:
    path = written(assignment.folder / "secret", b"short and secret"[:12], mode=0o600)
    with pytest.raises(UsageError) as caught:
        load_secret(assignment)
    assert "short and" not in str(caught.value)
    assert os.fspath(path) in str(caught.value)
