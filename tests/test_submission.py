"""From a hand-in of any shape to a `Submission`, or to one clear line."""

import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.assignment.assignment import Limits
from autograder.errors import UsageError
from autograder.submissions.submission import (
    SourceFile,
    Submission,
    Unreadable,
    name_of,
    read_submission,
)

LIMITS = Limits()


def notebook(*sources: str) -> str:
    cells = [{"cell_type": "code", "source": source, "outputs": []} for source in sources]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4})


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "ada" / "attention"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "causal.py").write_text("x = 1\n")
    return tmp_path / "ada"


def zipped(folder: Path, prefix: str = "") -> Path:
    target = folder.with_suffix(".zip")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, prefix + file.relative_to(folder).as_posix())
    return target


def paths(submission: Submission) -> list[str]:
    return [file.path for file in submission.files]


class TestShapes:
    def test_a_package_folder(self, package: Path) -> None:
        submission = read_submission(package, LIMITS)
        assert submission.name == "ada"
        assert submission.files == (
            SourceFile("attention/__init__.py", "module", b""),
            SourceFile("attention/causal.py", "module", b"x = 1\n"),
        )
        assert submission.notes == ()

    def test_a_single_file(self, tmp_path: Path) -> None:
        (tmp_path / "ada.py").write_text("x = 1")
        submission = read_submission(tmp_path / "ada.py", LIMITS)
        assert submission.name == "ada"
        assert submission.files == (SourceFile("ada.py", "module", b"x = 1"),)

    def test_a_single_file_is_read_whatever_it_is_called(self, tmp_path: Path) -> None:
        (tmp_path / "test_ada.py").write_text("x = 1")
        assert paths(read_submission(tmp_path / "test_ada.py", LIMITS)) == ["test_ada.py"]

    def test_a_notebook(self, tmp_path: Path) -> None:
        (tmp_path / "ada.ipynb").write_text(notebook("x = 1", "!pip list"))
        submission = read_submission(tmp_path / "ada.ipynb", LIMITS)
        assert submission.files == (
            SourceFile("ada.ipynb", "notebook", cells=("x = 1", "!pip list")),
        )

    def test_a_zip_gives_what_its_folder_gives(self, package: Path) -> None:
        folder = read_submission(package, LIMITS)
        archive = read_submission(zipped(package), LIMITS)
        assert archive == folder

    def test_a_zip_with_a_top_folder_gives_the_same(self, package: Path) -> None:
        folder = read_submission(package, LIMITS)
        assert read_submission(zipped(package, "hand-in 1/ada/"), LIMITS) == folder

    def test_a_folder_with_nothing_but_a_zip_is_read_as_that_zip(self, package: Path) -> None:
        digest = read_submission(package, LIMITS).digest
        bulk = package.parent / "bulk"
        bulk.mkdir()
        shutil.move(zipped(package), bulk / "hw1.zip")
        submission = read_submission(bulk, LIMITS)
        assert submission.digest == digest
        assert submission.notes == ("read from hw1.zip",)

    def test_a_git_checkout(self, package: Path) -> None:
        git = ["git", "-C", str(package), "-c", "user.name=a", "-c", "user.email=a@example.org"]
        if shutil.which("git") is None:
            pytest.skip("no git here")
        subprocess.run([*git, "init", "--quiet"], check=True)
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "--quiet", "-m", "work"], check=True)
        assert paths(read_submission(package, LIMITS)) == [
            "attention/__init__.py",
            "attention/causal.py",
        ]

    def test_the_folder_where_one_stands(
        self, package: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(package)
        assert read_submission(Path(), LIMITS).name == "ada"

    def test_data_beside_the_work_is_kept(self, package: Path) -> None:
        (package / "verdict.txt").write_text("It was a dark and stormy night.")
        kinds = {file.path: file.kind for file in read_submission(package, LIMITS).files}
        assert kinds["verdict.txt"] == "data"

    def test_a_broken_notebook_costs_nothing_beside_other_work(self, package: Path) -> None:
        (package / "demo.ipynb").write_text("{")
        submission = read_submission(package, LIMITS)
        assert paths(submission) == ["attention/__init__.py", "attention/causal.py"]
        assert submission.notes[0].startswith("demo.ipynb is left out: not a notebook")


class TestDigest:
    def test_it_changes_with_a_byte(self, package: Path) -> None:
        before = read_submission(package, LIMITS).digest
        (package / "attention" / "causal.py").write_text("x = 2\n")
        assert read_submission(package, LIMITS).digest != before

    def test_it_changes_with_a_path(self, package: Path) -> None:
        before = read_submission(package, LIMITS).digest
        (package / "attention" / "causal.py").rename(package / "attention" / "mask.py")
        assert read_submission(package, LIMITS).digest != before

    def test_what_is_ignored_does_not_change_it(self, package: Path) -> None:
        before = read_submission(package, LIMITS)
        (package / "conftest.py").write_text("import os")
        after = read_submission(package, LIMITS)
        assert after.digest == before.digest
        assert after.notes == ("ignored, being no part of the work: conftest.py",)

    def test_content_cannot_be_moved_between_name_and_bytes(self, tmp_path: Path) -> None:
        digests = set()
        for name, data in (("a.py", "b.py1"), ("a.pyb.py", "1")):
            folder = tmp_path / name.replace(".", "-")
            folder.mkdir()
            (folder / name).write_text(data)
            digests.add(read_submission(folder, LIMITS).digest)
        assert len(digests) == 2


class TestUnreadable:
    def line(self, path: Path) -> str:
        with pytest.raises(Unreadable) as caught:
            read_submission(path, LIMITS)
        assert isinstance(caught.value, UsageError)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    def test_no_such_path(self, tmp_path: Path) -> None:
        assert self.line(tmp_path / "nobody").startswith("no such file or folder: ")

    def test_a_path_that_cannot_be(self) -> None:
        assert "cannot be read" in self.line(Path("x" * 5000))

    def test_an_empty_folder(self, tmp_path: Path) -> None:
        (tmp_path / "ada").mkdir()
        assert self.line(tmp_path / "ada") == (
            "ada: no .py file and no notebook in it; hand in your work"
        )

    def test_a_folder_of_tests_alone_says_what_was_ignored(self, tmp_path: Path) -> None:
        for name in ("test_all.py", "test_more.py"):
            (tmp_path / name).write_text("1")
        assert "ignored, being no part of the work: test_all.py, test_more.py" in self.line(
            tmp_path
        )

    def test_a_zip_within_a_zip_is_not_opened(self, package: Path) -> None:
        inner = zipped(package)
        outer = package.parent / "outer.zip"
        with zipfile.ZipFile(outer, "w") as archive:
            archive.write(inner, "inner.zip")
        assert "archives within the hand-in are not opened: inner.zip" in self.line(outer)

    @pytest.mark.parametrize("name", ["ada.rar", "ada.tar.gz", "ada.pdf", "ada"])
    def test_other_kinds_of_file(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).write_text("x")
        assert "is not read; hand in a .py, a notebook, a .zip or a folder" in self.line(
            tmp_path / name
        )

    def test_a_notebook_that_is_none(self, tmp_path: Path) -> None:
        (tmp_path / "ada.ipynb").write_text("import torch")
        assert self.line(tmp_path / "ada.ipynb").startswith("ada.ipynb: not a notebook (")

    def test_a_notebook_that_is_too_large(self, tmp_path: Path) -> None:
        with (tmp_path / "ada.ipynb").open("wb") as file:
            file.truncate(200_000_000)
        assert "too large to read: ada.ipynb (200 MB, at most 100 MB)" in self.line(
            tmp_path / "ada.ipynb"
        )

    def test_a_special_file(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "ada.py")
        assert "no ordinary file" in self.line(tmp_path / "ada.py")


@given(data=st.binary(max_size=120), suffix=st.sampled_from([".py", ".ipynb", ".zip", "", ".txt"]))
def test_any_bytes_are_a_submission_or_one_line(
    data: bytes, suffix: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("any") / f"ada{suffix}"
    file.write_bytes(data)
    try:
        assert read_submission(file, LIMITS).name == "ada"
    except Unreadable as error:
        assert "\n" not in str(error)


def test_a_notebook_of_a_hundred_megabytes_of_outputs_is_read(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "source": "x = 1", "outputs": [{"text": "y" * 99_900_000}]}
    (tmp_path / "ada.ipynb").write_text(json.dumps({"cells": [cell]}))
    assert read_submission(tmp_path / "ada.ipynb", LIMITS).files[0].cells == ("x = 1",)


@pytest.mark.parametrize(
    ("entry", "name"),
    [("ada.py", "ada"), ("ada.IPYNB", "ada"), ("hw.v2.zip", "hw.v2"), ("ada.pdf", "ada.pdf")],
)
def test_a_name_is_the_entrys_name_without_what_says_its_kind(entry: str, name: str) -> None:
    assert name_of(Path(entry)) == name


def test_a_folders_name_is_kept_whole(tmp_path: Path) -> None:
    (tmp_path / "ada.py").mkdir()
    assert name_of(tmp_path / "ada.py") == "ada.py"
