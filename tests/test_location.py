"""`assignment.location`: which `assignment.toml` is meant, from wherever one starts."""

from pathlib import Path

import pytest

from autograder.assignment import location
from autograder.assignment.location import find_assignment
from autograder.errors import UsageError

OURS = Path(__file__).resolve().parents[1] / "assignments" / "attention" / "assignment.toml"


def write_empty(folder: Path) -> Path:
    folder.mkdir(parents=True)
    file = folder / "assignment.toml"
    file.touch()
    return file


def test_a_folder_or_its_file_can_be_named(tmp_path: Path) -> None:
    file = write_empty(tmp_path / "small")
    assert find_assignment(file) == find_assignment(file.parent) == file


def test_a_folder_without_one_is_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nor a folder that holds one"):
        find_assignment(tmp_path)


def test_the_nearest_one_upward_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_empty(tmp_path / "course" / "assignments" / "small")
    inside = tmp_path / "course" / "week" / "three"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    assert find_assignment() == file
    monkeypatch.chdir(file.parent)
    assert find_assignment() == file


def test_several_are_told_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_empty(tmp_path / "assignments" / "one")
    write_empty(tmp_path / "assignments" / "two")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"\(one, two\); name one"):
        find_assignment()


def test_elsewhere_the_checkout_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_assignment() == OURS


def test_an_installed_package_brings_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "autograder"
    file = write_empty(package / "_assignments" / "small")
    monkeypatch.setattr(location, "PACKAGE", package)
    monkeypatch.chdir(tmp_path)
    assert find_assignment() == file


def test_where_there_is_none_the_option_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(location, "PACKAGE", tmp_path / "site" / "autograder")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="--assignment"):
        find_assignment()
