"""A run that is killed and started again ends as if nothing had happened, with real workers."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

VARIANTS = Path(__file__).parent / "variants" / "right"
OPTIONS = ("--jobs", "1", "--stage", "simplified")
CLASS = ("einsum", "fused", "where", "own_softmax")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in CLASS:
        shutil.copytree(VARIANTS / name, tmp_path / "class" / name)
    return tmp_path / "class"


def grade(folder: Path, out: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "autograder.cli", "grade", folder, "--out", out, *OPTIONS],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def files(out: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(out)): file.read_bytes()
        for file in sorted(out.rglob("*"))
        if file.is_file() and not file.name.startswith(("gradebook", ".lock"))
    }


def test_a_run_killed_after_each_result_ends_in_the_same_bytes(
    folder: Path, tmp_path: Path
) -> None:
    whole = grade(folder, tmp_path / "whole")
    _, told = whole.communicate()
    assert whole.returncode == 0, told
    for number in (1, 2):
        process = grade(folder, tmp_path / "out")
        assert process.stderr is not None
        lines = [process.stderr.readline() for _ in range(number)]
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert lines[-1].startswith(f"[{number}/4] ")
    process = grade(folder, tmp_path / "out")
    _, told = process.communicate()
    assert process.returncode == 0, told
    assert told.count("(unchanged)") >= 2
    assert files(tmp_path / "out") == files(tmp_path / "whole")
    assert len(files(tmp_path / "out")) == 2 + 2 * len(CLASS)
