"""What counts as work, what may be read, and names that can be shown anywhere."""

import os

import pytest

from autograder.assignment.assignment import Limits
from autograder.submissions.intake import Intake, Unreadable, clean_path, listed, shown


@pytest.fixture
def intake() -> Intake:
    return Intake("ada.zip", Limits(max_files=3, max_file_mb=1, max_total_mb=2, max_notebook_mb=1))


class TestIgnores:
    @pytest.mark.parametrize(
        "path",
        [
            "tests/checks.py",
            "Tests/checks.py",
            "attention/tests/deep/down.py",
            "test_causal.py",
            "test_data/x.py",
            "conftest.py",
            "attention/conftest.py",
            "setup.py",
            "selfcheck/status.py",
            ".git/config",
            ".ipynb_checkpoints/attention-checkpoint.ipynb",
            ".DS_Store",
            "__MACOSX/attention/._causal.py",
            "._causal.py",
            "__pycache__/causal.cpython-311.pyc",
            "venv/lib/python3.11/site-packages/torch/nn/modules/activation.py",
            ".venv/bin/activate.py",
            "node_modules/x/index.py",
        ],
    )
    def test_what_is_no_work_of_the_students_is_ignored(self, intake: Intake, path: str) -> None:
        assert intake.ignores(path)

    @pytest.mark.parametrize(
        "path",
        ["attention/causal.py", "latest.py", "contest.py", "tests.py", "my tests/a.py", "venv.py"],
    )
    def test_names_that_only_look_alike_are_kept(self, intake: Intake, path: str) -> None:
        assert not intake.ignores(path)

    def test_a_note_names_the_folder_and_not_each_file_in_it(self, intake: Intake) -> None:
        for name in ("tests/a.py", "tests/b.py", "conftest.py"):
            intake.ignores(name)
        assert list(intake.notes()) == [
            "ignored, being no part of the work: conftest.py, tests/",
        ]

    def test_caches_and_hidden_files_are_not_worth_a_note(self, intake: Intake) -> None:
        for name in (".git/config", "__pycache__/a.pyc", "__MACOSX/._a.py", ".DS_Store"):
            intake.ignores(name)
        assert list(intake.notes()) == []


class TestRoom:
    def test_a_file_that_fits_may_be_read_whole(self, intake: Intake) -> None:
        assert intake.room_for("causal.py", 1_000_000) == 1_000_000

    def test_a_file_that_is_too_large_is_left_out_with_a_note(self, intake: Intake) -> None:
        assert intake.room_for("causal.py", 1_000_001) == 0
        assert list(intake.notes()) == ["too large to read: causal.py (1 MB, at most 1 MB)"]

    def test_too_many_files_end_the_reading(self, intake: Intake) -> None:
        for number in range(3):
            intake.room_for(f"{number}.py", 1)
            intake.add(f"{number}.py", b"x")
        with pytest.raises(Unreadable, match="ada.zip: more than 3 files"):
            intake.room_for("4.py", 1)

    def test_too_much_in_all_ends_the_reading(self, intake: Intake) -> None:
        intake.room_for("a.py", 900_000)
        intake.room_for("b.py", 900_000)
        with pytest.raises(Unreadable, match="more than 2 MB in all"):
            intake.room_for("c.py", 900_000)

    def test_large_data_is_left_out_and_small_data_kept(self) -> None:
        intake = Intake("ada", Limits())
        assert intake.room_for("verdict.txt", 20_000) == 20_000
        assert intake.room_for("model.pth", 12_000_000) == 0
        assert list(intake.notes()) == ["too large to read: model.pth (12 MB, at most 1 MB)"]

    def test_data_is_bounded_in_all_and_the_rest_still_read(self) -> None:
        intake = Intake("ada", Limits())
        kept = [intake.room_for(f"{number}.csv", 900_000) for number in range(10)]
        assert kept == [900_000] * 8 + [0, 0]
        assert intake.room_for("causal.py", 100) == 100

    def test_archives_within_are_noted_and_not_read(self, intake: Intake) -> None:
        assert intake.room_for("old/version.zip", 10) == 0
        assert list(intake.notes()) == [
            "archives within the hand-in are not opened: old/version.zip"
        ]

    def test_compiled_code_is_ignored(self, intake: Intake) -> None:
        assert intake.room_for("causal.so", 10) == 0
        assert list(intake.notes()) == ["ignored, being no part of the work: causal.so"]


class TestMembers:
    def paths(self, *paths: str) -> list[str]:
        intake = Intake("ada", Limits())
        for path in paths:
            intake.add(path, b"")
        return [member.path for member in intake.members()]

    def test_members_come_sorted(self) -> None:
        assert self.paths("b.py", "a.py") == ["a.py", "b.py"]

    def test_folders_that_only_wrap_the_work_are_dropped(self) -> None:
        assert self.paths("work/final/attention/a.py", "work/final/notes.txt") == [
            "attention/a.py",
            "notes.txt",
        ]

    def test_a_top_folder_that_is_a_package_stays(self) -> None:
        assert self.paths("attention/__init__.py", "attention/a.py") == [
            "attention/__init__.py",
            "attention/a.py",
        ]

    def test_a_top_folder_that_cannot_be_a_package_is_dropped(self) -> None:
        assert self.paths("hw1-ada/a.py", "hw1-ada/b.ipynb") == ["a.py", "b.ipynb"]

    def test_of_two_members_with_one_name_the_later_counts(self) -> None:
        intake = Intake("ada", Limits())
        intake.add("a.py", b"old")
        intake.add("a.py", b"new")
        assert [member.data for member in intake.members()] == [b"new"]
        assert list(intake.notes()) == ["there twice under one name, the later one was read: a.py"]

    def test_names_that_differ_in_case_alone_are_noted(self) -> None:
        intake = Intake("ada", Limits())
        for path in ("Causal.py", "causal.py"):
            intake.add(path, b"")
        assert list(intake.notes()) == [
            "names that differ only in case, all were read: Causal.py, causal.py"
        ]


class TestCleanPath:
    @pytest.mark.parametrize(
        ("name", "clean"),
        [
            ("./attention//causal.py", "attention/causal.py"),
            ("cafe\u0301.py", "caf\u00e9.py"),
            ("a\x1b[31m\n.py", "a_[31m_.py"),
            ("evil\u202eyp.txt", "evil_yp.txt"),
            (os.fsdecode(b"caf\xe9.py"), "caf\N{REPLACEMENT CHARACTER}.py"),
            ("a\ud800.py", "a?.py"),
        ],
    )
    def test_a_name_becomes_one_that_can_be_shown(self, name: str, clean: str) -> None:
        assert clean_path(name) == clean

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("/etc/passwd", "absolute"),
            ("C:/Windows/x.py", "absolute"),
            ("a/../../b.py", "leads out"),
            ("..", "leads out"),
            ("x" * 1001, "1001 characters"),
        ],
    )
    def test_a_name_that_points_elsewhere_is_refused(self, name: str, reason: str) -> None:
        with pytest.raises(ValueError, match=reason):
            clean_path(name)


def test_a_long_name_is_shortened_in_messages() -> None:
    assert len(shown("x" * 500)) < 100


def test_a_long_list_of_names_is_counted() -> None:
    assert listed(f"{number}.py" for number in range(9)).endswith("5.py and 3 more")
