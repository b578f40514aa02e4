"""Folders: links, special files, odd names, depth."""

import os
from pathlib import Path

import pytest

from autograder.assignment.assignment import Limits
from autograder.submissions.folder import MAX_DEPTH, read_file, read_folder
from autograder.submissions.intake import Intake, Unreadable


def read(folder: Path) -> dict[str, bytes]:
    intake = Intake("ada", Limits())
    read_folder(folder, intake)
    return {member.path: member.data for member in intake.members()}


def test_files_are_read_at_any_depth(tmp_path: Path) -> None:
    (tmp_path / "attention" / "deep").mkdir(parents=True)
    (tmp_path / "attention" / "deep" / "a.py").write_bytes(b"a = 1\r\n")
    (tmp_path / "b.py").write_bytes(b"")
    assert read(tmp_path) == {"attention/deep/a.py": b"a = 1\r\n", "b.py": b""}


def test_ignored_folders_are_not_entered(tmp_path: Path) -> None:
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "bin" / "python").symlink_to("/usr/bin/python3")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "hook.py").write_text("1")
    (tmp_path / "a.py").write_text("1")
    assert list(read(tmp_path)) == ["a.py"]


@pytest.mark.parametrize("target", ["/etc/passwd", "nowhere", "."])
def test_a_link_is_refused_wherever_it_leads(tmp_path: Path, target: str) -> None:
    (tmp_path / "a.py").symlink_to(target)
    with pytest.raises(Unreadable, match="ada: a.py is a link; hand in the file itself"):
        read(tmp_path)


def test_a_special_file_is_refused_without_being_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.py")
    with pytest.raises(Unreadable, match="a.py is no ordinary file"):
        read(tmp_path)


def test_a_huge_sparse_file_is_left_out_without_being_read(tmp_path: Path) -> None:
    with (tmp_path / "a.py").open("wb") as file:
        file.truncate(10**12)
    (tmp_path / "b.py").write_text("1")
    assert list(read(tmp_path)) == ["b.py"]


def test_folders_without_end_are_refused(tmp_path: Path) -> None:
    (tmp_path / "/".join("a" * (MAX_DEPTH + 2))).mkdir(parents=True)
    with pytest.raises(Unreadable, match="more than 30 deep"):
        read(tmp_path)


def test_names_that_are_no_text_are_read(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9\x1b.py")).write_text("1")
    assert list(read(tmp_path)) == ["caf\N{REPLACEMENT CHARACTER}_.py"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    (tmp_path / "a.py").chmod(0)
    with pytest.raises(Unreadable, match="a.py cannot be read"):
        read(tmp_path)


def test_a_single_file_may_stand_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.py").write_text("1")
    (tmp_path / "link.py").symlink_to("real.py")
    intake = Intake("link.py", Limits())
    read_file(tmp_path / "link.py", "link.py", intake)
    assert [member.data for member in intake.members()] == [b"1"]
