"""Part `kills`: `autograder grade` is killed with SIGKILL at random moments and begun again.

Each time in a folder of its own: killed once, run to its end, and compared with a run that nobody
killed. The moments are drawn from the seed, spread over what the whole run took.
"""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

Tell = Callable[[str], None]

VARIANTS = Path(__file__).resolve().parents[1] / "variants" / "right"
CLASS = ("einsum", "fused", "where", "own_softmax", "book_style", "float_mask")
_PR_SET_CHILD_SUBREAPER = 36
_GONE_WITHIN = 30.0  # seconds, on a machine that is busy


def soak(seed: int, count: int, isolation: str | None, tell: Tell) -> int:
    """So many runs that are killed; the number of failures."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # strays come to us
    drawn = random.Random(f"{seed}:kills")
    failures = 0
    with tempfile.TemporaryDirectory(prefix="soak-") as scratch:
        top = Path(scratch)
        for name in CLASS:
            shutil.copytree(VARIANTS / name, top / "class" / name)
        begun = time.monotonic()
        _to_the_end(top, "whole", isolation)
        whole = time.monotonic() - begun
        expected = _files(top / "whole")
        tell(f"kills: a whole run took {whole:.1f} s and wrote {len(expected)} files")
        for number in range(1, count + 1):
            moment = drawn.random() * whole
            wrong = _one(top, f"out-{number}", moment, isolation, expected)
            failures += wrong is not None
            told = "the same bytes" if wrong is None else f"FAILED: {wrong}"
            tell(f"kills: {number} of {count}, after {moment:.2f} s: {told}")
    return failures


def _one(
    top: Path, out: str, moment: float, isolation: str | None, expected: dict[str, bytes]
) -> str | None:
    """Kill a run at a moment and go on with it; what is wrong with how it ended."""
    process = _begin(top, out, isolation)
    try:
        process.wait(timeout=moment)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    process.communicate()
    left = _left_behind()
    try:
        _to_the_end(top, out, isolation)
    except RuntimeError as error:
        return str(error)
    found = _files(top / out)
    shutil.rmtree(top / out)
    differing = [name for name in expected.keys() | found if expected.get(name) != found.get(name)]
    if differing:
        return f"other bytes in {', '.join(sorted(differing)[:5])}"
    return None if not left else f"{left} processes of a killed run are left"


def _begin(top: Path, out: str, isolation: str | None) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-m", "autograder.cli.main", "grade", str(top / "class")]
    command += ["--out", str(top / out), "--jobs", "2", "--stage", "simplified"]
    command += [] if isolation is None else ["--isolation", isolation]
    return subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )


def _to_the_end(top: Path, out: str, isolation: str | None) -> None:
    process = _begin(top, out, isolation)
    _, errors = process.communicate()
    if process.returncode:
        raise RuntimeError(f"exit status {process.returncode}: {errors.strip()[-500:]}")


def _files(out: Path) -> dict[str, bytes]:
    """Everything that a run writes for people. The gradebook itself holds times."""
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and not path.name.startswith(("gradebook", ".lock"))
    }


def _left_behind() -> int:
    """How many processes of a killed run do not end by themselves; they are ended then."""
    end = time.monotonic() + _GONE_WITHIN
    while True:
        while _reaped():
            pass
        strays = _children()
        if not strays or time.monotonic() > end:
            break
        time.sleep(0.1)
    for pid in strays:
        os.kill(pid, signal.SIGKILL)
    return len(strays)


def _reaped() -> bool:
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


def _children() -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            told = path.read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:
            continue
        if told[0] != "Z" and int(told[1]) == os.getpid():
            found.append(int(path.parent.name))
    return found
