"""`selfcheck.saves`: when a file was saved, and what was."""

import threading
import time
from pathlib import Path

import pytest

from selfcheck import saves
from selfcheck.course import Stage
from selfcheck.saves import checks_of, saved, settled, snapshot


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of two stages and a check, looked at instead of the template."""
    monkeypatch.setattr(saves, "ROOT", tmp_path)
    monkeypatch.setattr(saves, "TESTS", tmp_path / "tests")
    for name in ("attention/simplified.py", "attention/causal.py", "tests/test_1_simplified.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x = 1\n", "utf-8")
    (tmp_path / "attention" / "__init__.py").touch()
    return tmp_path


def ids(stages: list[Stage]) -> list[str]:
    return [stage.id for stage in stages]


def test_nothing_has_changed_where_nothing_was_saved(work: Path) -> None:
    before = snapshot()
    assert "attention/causal.py" in before
    assert saved(before, snapshot()) == []


def test_a_saved_file_names_its_stage(work: Path) -> None:
    before = snapshot()
    (work / "attention" / "causal.py").write_text("x = 22\n", "utf-8")
    assert ids(saved(before, snapshot())) == ["causal"]


def test_a_file_replaced_by_another_of_its_size_is_seen_by_its_time(work: Path) -> None:
    before = snapshot()
    beside = work / "attention" / "causal.py~"
    time.sleep(0.01)
    beside.write_text("x = 2\n", "utf-8")
    beside.replace(work / "attention" / "causal.py")
    assert ids(saved(before, snapshot())) == ["causal"]


def test_files_that_are_not_python_are_nobodys_stage(work: Path) -> None:
    before = snapshot()
    (work / "attention" / "causal.py.swp").write_text("x", "utf-8")
    assert snapshot() == before


def test_checks_are_told_apart_from_the_students_files(work: Path) -> None:
    before = snapshot()
    (work / "attention" / "causal.py").write_text("x = 22\n", "utf-8")
    assert checks_of(snapshot()) == checks_of(before)
    (work / "tests" / "test_1_simplified.py").write_text("x = 22\n", "utf-8")
    assert checks_of(snapshot()) != checks_of(before)


def test_a_folder_that_is_gone_is_an_empty_one(work: Path) -> None:
    (work / "tests" / "test_1_simplified.py").unlink()
    (work / "tests").rmdir()
    assert checks_of(snapshot()) == {}


@pytest.mark.parametrize("meanwhile", ["emptied", "taken away"])
def test_a_file_that_an_editor_is_writing_is_waited_for(
    work: Path, meanwhile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saves, "SETTLES", 100_000)  # a busy machine only takes longer
    file = work / "attention" / "causal.py"
    before = snapshot()
    file.write_text("", "utf-8") if meanwhile == "emptied" else file.unlink()
    writes = threading.Timer(0.2, lambda: file.write_text("x = 22\n", "utf-8"))
    writes.start()
    now = settled(before)
    writes.join()
    assert now["attention/causal.py"][1] == len("x = 22\n")


def test_a_file_that_stays_empty_is_not_waited_for_without_end(work: Path) -> None:
    before = snapshot()
    (work / "attention" / "causal.py").write_text("", "utf-8")
    assert settled(before)["attention/causal.py"][1] == 0
