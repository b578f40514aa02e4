"""Files are whole, old or new, whatever happens while they are written."""

from pathlib import Path

import pytest

from autograder.errors import MissingRequirement
from autograder.grading.result_files import write


def test_a_file_is_written_with_its_folders(tmp_path: Path) -> None:
    write(tmp_path / "students" / "ada" / "result.json", b"1")
    assert (tmp_path / "students" / "ada" / "result.json").read_bytes() == b"1"


def test_nothing_is_left_beside_it(tmp_path: Path) -> None:
    (tmp_path / "a.csv.new").write_bytes(b"half of a")  # of a run that was killed
    write(tmp_path / "a.csv", b"whole")
    assert [file.name for file in tmp_path.iterdir()] == ["a.csv"]


def test_what_cannot_be_written_leaves_the_old_content(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"old")
    (tmp_path / "a.csv.new").mkdir()  # in the way
    with pytest.raises(MissingRequirement, match=r"a\.csv: cannot be written"):
        write(tmp_path / "a.csv", b"new")
    assert (tmp_path / "a.csv").read_bytes() == b"old"


def test_a_full_disk_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv.new").symlink_to("/dev/full")
    with pytest.raises(MissingRequirement, match="No space left on device") as caught:
        write(tmp_path / "a.csv", b"new")
    assert "\n" not in str(caught.value)
