"""Terminals that are small, folders that cannot be written to, other ways to start it."""

import os
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from tests.test_selfcheck_submit import solved, submitted, template


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = template(tmp_path / "work")
    solved(folder)
    return folder


def test_a_heatmap_of_sixty_columns_has_all_its_keys(work: Path) -> None:
    lines = submitted(work, "show", "causal", COLUMNS="60").stdout.splitlines()
    heading = next(line for line in lines if "Your" in line and "journey" in line)
    assert heading.split() == ["Your", "journey", "starts", "with", "one", "step"]
    last = next(line for line in lines if line.strip().startswith("step"))
    assert last.count("0.1") == 6
    assert all(len(line) <= 60 for line in lines)


def test_the_list_of_all_names_fits_24_lines(work: Path) -> None:
    told = {key: value for key, value in os.environ.items() if "PYTEST" not in key}
    terminal: pexpect.spawn[str] = pexpect.spawn(
        sys.executable, ["-m", "selfcheck", "watch"], cwd=str(work),
        env=told | {"TERM": "xterm", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
        dimensions=(24, 80), encoding="utf-8", timeout=120,
    )  # fmt: skip
    try:
        terminal.expect("q quit")
        terminal.expect("saved files are checked at once")
        terminal.send("l")
        terminal.expect("gpt2_attention")
        shown = terminal.before.rpartition("Coding attention")[2]
        terminal.expect("q quit")
        assert "attention_scores" in shown
        assert (shown + terminal.before).count("\n") < 24
    finally:
        terminal.close(force=True)


@pytest.mark.parametrize("command", ["status", "submit", "show"])
def test_a_folder_that_cannot_be_written_to(work: Path, command: str) -> None:
    (work / "attention.zip").mkdir()  # what holds for every user, root included
    (work / "weights").write_text("in the way", "utf-8")
    (work / ".selfcheck").write_text("in the way", "utf-8")
    done = submitted(work, command, *(["causal"] if command == "show" else []))
    assert "Traceback" not in done.stderr
    assert done.returncode == (2 if command == "submit" else 0)


def test_it_is_started_as_a_folder_too(work: Path) -> None:
    done = subprocess.run(
        [sys.executable, "selfcheck", "submit"],
        cwd=work, capture_output=True, encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "What will be graded, 16 of 16 names" in done.stdout


@pytest.mark.parametrize("what", ["input()", "breakpoint()"])
@pytest.mark.parametrize("where", ["top", "body"])
def test_what_waits_for_an_answer_is_told_as_such(work: Path, what: str, where: str) -> None:
    file = work / "attention" / "simplified.py"
    text = file.read_text("utf-8")
    if where == "body":
        text = text.replace("    largest = ", f"    {what}\n    largest = ", 1)
    else:
        text += f"\n\n{what}\n"
    file.write_text(text, "utf-8")
    done = submitted(work, "status")
    assert done.returncode == 1
    assert f"{what} was called; nobody answers" in " ".join(done.stdout.split())
