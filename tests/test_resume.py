"""A run that is killed and started again ends as if nothing had happened, with real workers."""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

VARIANTS = Path(__file__).parent / "variants" / "right"
OPTIONS = ("--jobs", "1", "--stage", "simplified")
Moment = Callable[["subprocess.Popen[str]", Path], None]
CLASS = ("einsum", "fused", "where", "own_softmax")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in CLASS:
        shutil.copytree(VARIANTS / name, tmp_path / "class" / name)
    return tmp_path / "class"


def grade(folder: Path, out: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "autograder.cli.main", "grade", folder, "--out", out, *OPTIONS],
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


def opened(process: "subprocess.Popen[str]", out: Path) -> None:
    """The gradebook is there, and nothing is graded yet."""
    while not (out / "gradebook.sqlite").exists():
        assert process.poll() is None
        time.sleep(0.01)


def told(number: int) -> Moment:
    """So many results are known, and the next submission is being graded."""

    def moment(process: "subprocess.Popen[str]", out: Path) -> None:
        assert process.stderr is not None
        lines = [process.stderr.readline() for _ in range(number)]
        assert lines[-1].startswith(f"[{number}/4] ")

    return moment


def begun(process: "subprocess.Popen[str]", out: Path) -> None:
    """A process that grades has been started."""
    while process.pid not in parents():
        assert process.poll() is None
        time.sleep(0.01)


def parents() -> set[int]:
    """Every process that has children."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has just ended
            found.add(int(path.read_text("utf-8", "replace").rpartition(")")[2].split()[1]))
    return found


def half_written(process: "subprocess.Popen[str]", out: Path) -> None:
    """The files of the third student are being written."""
    while len(list((out / "students").glob("*/"))) < 3:
        assert process.poll() is None
        time.sleep(0.001)


# Where a moment was reached before, it comes again at once, with what is known told as unchanged.
MOMENTS = (
    opened,
    begun,
    opened,
    told(1),
    told(1),
    told(2),
    begun,
    half_written,
    told(3),
    told(4),
)


@pytest.mark.parametrize(
    "moments",
    [
        pytest.param((told(2), told(4)), id="twice"),
        pytest.param(MOMENTS, id="ten times", marks=pytest.mark.proof),
    ],
)
def test_a_run_that_is_killed_ends_in_the_same_bytes(
    moments: tuple[Moment, ...], folder: Path, tmp_path: Path
) -> None:
    whole = grade(folder, tmp_path / "whole")
    _, errors = whole.communicate()
    assert whole.returncode == 0, errors
    for moment in moments:
        process = grade(folder, tmp_path / "out")
        moment(process, tmp_path / "out")
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    process = grade(folder, tmp_path / "out")
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    assert errors.count("(unchanged)") == len(CLASS)
    assert files(tmp_path / "out") == files(tmp_path / "whole")
    assert len(files(tmp_path / "out")) == 2 + 2 * len(CLASS)
