"""`selfcheck.worker`: what the process that waits for a save has done before, and reads after."""

import json
import os
import py_compile
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

SOLUTIONS = ROOT / "solutions" / "attention"
STAGES = ["simplified", "trainable", "causal", "multi_head"]

Event = dict[str, Any]


class Spare:
    """A worker that has said that it is ready."""

    def __init__(self, folder: Path) -> None:
        surroundings = {key: value for key, value in os.environ.items() if "PYTEST" not in key}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "selfcheck.worker", "spare"],
            cwd=folder,
            env=surroundings,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        assert self._process.stdout is not None
        assert json.loads(self._process.stdout.readline()) == {"kind": "ready"}

    def order(self, *stages: str) -> list[Event]:
        """Everything that it tells of these stages."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = {"stages": stages, "seconds": 60, "weights": False}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return [json.loads(line) for line in self._process.stdout]

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A student's folder with all stages written."""
    folder = tmp_path / "work"
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(ROOT / "student_template", folder, ignore=ignored)
    for file in SOLUTIONS.glob("*.py"):
        shutil.copy(file, folder / "attention")
    return folder


@pytest.fixture
def spare(work: Path) -> Iterator[Callable[[], Spare]]:
    """Starts one in the student's folder."""
    started: list[Spare] = []

    def start() -> Spare:
        started.append(Spare(work))
        return started[-1]

    yield start
    for each in started:
        each.end()


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")


def finished(events: list[Event]) -> list[str]:
    return [event["stage"] for event in events if event["kind"] == "finished"]


def failed(events: list[Event]) -> set[str]:
    return {
        event["name"]
        for event in events
        if event["kind"] == "outcome" and event["status"] == "failed"
    }


def test_checks_are_read_before_the_order_and_the_students_files_after_it(
    work: Path, spare: Callable[[], Spare]
) -> None:
    waiting = spare()
    for file in (work / "tests").glob("*.py"):
        file.write_text("this is not Python", "utf-8")
    change(work / "attention" / "simplified.py", "dim=-1, keepdim=True", "dim=0, keepdim=True")
    events = waiting.order("simplified")
    assert finished(events) == ["simplified"]
    assert failed(events) == {"softmax", "attention_weights", "context_vectors"}


def test_stages_are_looked_at_in_the_order_that_was_asked_for(
    spare: Callable[[], Spare],
) -> None:
    events = spare().order("causal", "simplified", "trainable", "multi_head")
    assert finished(events) == ["causal", "simplified", "trainable", "multi_head"]
    assert failed(events) == set()
    last = next(n for n, each in enumerate(events) if each["kind"] == "finished")
    assert {each["stage"] for each in events[: last + 1]} == {"causal"}


def test_a_file_is_read_itself_and_never_what_was_compiled_of_it(
    work: Path, spare: Callable[[], Spare]
) -> None:
    file = work / "attention" / "simplified.py"
    py_compile.compile(str(file))
    before = file.stat()
    change(file, "return inputs @ query", "return query @ inputs")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size  # so to Python it is the same file
    assert "attention_scores" in failed(spare().order("simplified"))


def test_a_helper_of_the_students_own_is_read_and_leaves_nothing_behind(
    work: Path, spare: Callable[[], Spare]
) -> None:
    (work / "attention" / "own.py").write_text("def score(a, b):\n    return a @ b\n", "utf-8")
    file = work / "attention" / "simplified.py"
    change(file, "import torch\n", "import torch\n\nfrom .own import score\n")
    change(file, "return inputs @ query", "return score(inputs, query)")
    events = spare().order("simplified")
    assert finished(events) == ["simplified"]
    assert failed(events) == set()
    assert not (work / "attention" / "__pycache__").exists()


def test_checks_that_import_names_instead_of_modules_are_read_after_the_order(
    work: Path, spare: Callable[[], Spare]
) -> None:
    checks = work / "tests" / "test_1_simplified.py"
    text = checks.read_text("utf-8").replace("simplified.softmax(", "softmax(")
    old = "from attention import simplified\n"
    assert old in text
    checks.write_text(
        text.replace(old, old + "from attention.simplified import softmax\n"), "utf-8"
    )
    events = spare().order(*STAGES)
    assert finished(events) == STAGES
    assert failed(events) == set()


def test_checks_that_cannot_be_read_cost_their_stage_alone(
    work: Path, spare: Callable[[], Spare]
) -> None:
    (work / "tests" / "test_1_simplified.py").write_text("import nothing_of_this_name", "utf-8")
    events = spare().order(*STAGES)
    (problem,) = (event for event in events if event["kind"] == "problem")
    assert problem["stage"] == "simplified"
    assert "tests/test_1_simplified.py cannot be read" in problem["message"]
    assert "nothing_of_this_name" in problem["message"]
    assert finished(events) == STAGES[1:]


def test_a_stage_whose_module_fails_leaves_the_checks_of_later_ones_their_own(
    work: Path, spare: Callable[[], Spare]
) -> None:
    (work / "attention" / "trainable.py").write_text("def (", "utf-8")
    events = spare().order(*STAGES)
    (problem,) = (event for event in events if event["kind"] == "problem")
    assert re.match(r"attention/trainable\.py:1 is not Python yet", problem["message"])
    assert finished(events) == ["simplified", "causal", "multi_head"]


def test_exit_outside_of_a_check_ends_no_other_stage(
    work: Path, spare: Callable[[], Spare]
) -> None:
    file = work / "attention" / "simplified.py"
    change(file, "import torch\n", "import torch\nimport sys\n")
    change(file, "return inputs @ query", "return sys.exit(3)")
    events = spare().order("simplified", "trainable")
    assert "attention_scores" in failed(events)
    assert finished(events) == ["simplified", "trainable"]
