"""`python -m selfcheck watch` in a real terminal: from stubs to all stages done."""

import io
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

pexpect = pytest.importorskip("pexpect", reason="a terminal is played on POSIX systems")

SOLUTIONS = ROOT / "solutions" / "attention"
GAP = r"(?:\s|\x1b\[[0-9;]*m)+"
COLOUR = re.compile(r"\x1b\[(?:\d+;)*[34][0-8][;m]")
PATIENCE = 120  # seconds; nothing is measured, a busy machine only takes longer


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(ROOT / "student_template", folder, ignore=ignored)
    return folder


@pytest.fixture
def terminal(work: Path) -> Iterator[Any]:
    # The size is the terminal's own, not that of the one in which the tests run.
    sizes = ("LINES", "COLUMNS")
    surroundings = {
        key: value for key, value in os.environ.items() if "PYTEST" not in key and key not in sizes
    }
    child = pexpect.spawn(
        sys.executable,
        ["-m", "selfcheck", "watch"],
        cwd=work,
        env=surroundings | {"TERM": "xterm", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
        dimensions=(40, 80),
        encoding="utf-8",
        timeout=PATIENCE,
    )
    child.logfile_read = io.StringIO()
    yield child
    child.close(force=True)
    assert COLOUR.search(child.logfile_read.getvalue()) is None  # NO_COLOR is set


def save(work: Path, module: str, old: str = "", new: str = "") -> None:
    """Save a stage as the solution has it, or with something else in it."""
    text = (SOLUTIONS / f"{module}.py").read_text("utf-8")
    assert old in text
    beside = work / "attention" / f"{module}.tmp"
    beside.write_text(text.replace(old, new) if old else text, "utf-8")
    beside.replace(work / "attention" / f"{module}.py")  # as many editors save


def expect(terminal: Any, words: str) -> None:
    """Wait for words, wherever the terminal breaks its lines and makes letters bold."""
    terminal.expect(GAP.join(map(re.escape, words.split())))


def test_from_stubs_to_all_stages_done_with_a_hint_and_a_mistake_on_the_way(
    work: Path, terminal: Any
) -> None:
    expect(terminal, "0 of 109 checks passed")
    expect(terminal, "Next: attention_scores, attention/simplified.py:")
    expect(terminal, "h hint · n next · l list · q quit")
    terminal.send("h")
    expect(terminal, "attention_scores: hint 1 of 3")
    expect(terminal, "One more: press h")
    terminal.send("h")
    expect(terminal, "attention_scores: hint 2 of 3")
    terminal.send("n")
    expect(terminal, "Next: softmax, attention/simplified.py:")

    save(work, "simplified", "dim=-1, keepdim=True", "dim=0, keepdim=True")
    expect(terminal, "✗ softmax not right yet")
    expect(terminal, "This looks like: softmax over the queries.")
    terminal.send("l")
    expect(terminal, "MultiHeadAttentionWrapper not written yet")
    terminal.send("l")

    save(work, "simplified")
    expect(terminal, "24 of 24 done")
    expect(terminal, "Next: SelfAttention_v1, attention/trainable.py:")

    save(work, "trainable", "return torch.softmax", "while True: return torch.softmx")
    expect(terminal, "AttributeError: module 'torch' has no attribute 'softmx'")
    save(work, "trainable")
    expect(terminal, "28 of 28 done")

    save(work, "causal")
    expect(terminal, "Next: MultiHeadAttentionWrapper")
    save(work, "multi_head")
    expect(terminal, "109 of 109 checks passed")
    expect(terminal, "All public checks passed. Well done.")
    terminal.send("q")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0


def test_quitting_at_once_leaves_work_to_do(terminal: Any) -> None:
    expect(terminal, "checking ...")
    terminal.send("q")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 1
