"""Downloads as a platform gives them: as a zip, and as a teacher unpacks it."""

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from autograder.assignment.assignment import Limits
from autograder.submissions.entries import Entry, entries_of
from autograder.submissions.submission import Submission

Make = Callable[[Mapping[str, bytes]], Path]


@pytest.fixture(params=["folder", "zip"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Lays files out, names to bytes, and returns the folder or the zip they are in."""

    def folder(files: Mapping[str, bytes]) -> Path:
        place = tmp_path / "download"
        for name, data in files.items():
            path = place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return place

    def packed(files: Mapping[str, bytes]) -> Path:
        place = tmp_path / "download.zip"
        with zipfile.ZipFile(place, "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        return place

    return folder if request.param == "folder" else packed


@pytest.fixture
def entries(make: Make, tmp_path: Path) -> Callable[[Mapping[str, bytes]], dict[str, Entry]]:
    """The entries of a download by name."""

    def read(files: Mapping[str, bytes]) -> dict[str, Entry]:
        found = entries_of(make(files), tmp_path / "results")
        return {entry.name: entry for entry in found}

    return read


@pytest.fixture
def read() -> Callable[[Entry], Submission]:
    """A submission as it is graded."""
    return lambda entry: entry.read(Limits())
