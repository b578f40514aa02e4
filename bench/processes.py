"""Commands and how long they take; what the system says of a process and all that it started."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from bench.classroom import ROOT

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
_MEGABYTE = 1024.0  # of the kilobytes that the system counts in


def run(command: Sequence[str | Path], **environment: str) -> float:
    """Run a command to its end; the wall seconds. Raises with its output where it fails."""
    begun = time.perf_counter()
    ended = subprocess.run(
        [str(part) for part in command],
        env=os.environ | environment,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - begun
    if ended.returncode:
        shown = " ".join(str(part) for part in command)
        raise RuntimeError(f"{shown}: exit status {ended.returncode}\n{ended.stderr[-2000:]}")
    return seconds


def children_cpu(command: Sequence[str | Path]) -> float:
    """Run a command to its end; its CPU seconds."""
    before = os.times()
    run(command)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


def tree(root: int) -> list[int]:
    """A process and its descendants."""
    children: dict[int, list[int]] = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                children.setdefault(int(_stat(int(folder.name))[1]), []).append(int(folder.name))
    found = [root]
    for pid in found:
        found.extend(children.get(pid, ()))
    return found


def _stat(pid: int) -> list[str]:
    """The fields of its `stat` after the name, which may hold anything: state, parent, ..."""
    text = (_PROC / str(pid) / "stat").read_text("utf-8", "replace")
    return text.rpartition(")")[2].split()


def cpu_seconds(root: int) -> float:
    """CPU time of a tree of processes, those included that have ended and were waited for."""
    ticks = 0
    for pid in tree(root):
        with suppress(OSError):
            ticks += sum(int(field) for field in _stat(pid)[11:15])
    return ticks / _TICKS


def proportional_megabytes(pid: int) -> float | None:
    """The memory of one process, shared pages divided among those that share them (PSS)."""
    try:
        for line in (_PROC / str(pid) / "smaps_rollup").read_text("ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / _MEGABYTE
    except OSError:
        pass  # it has just ended, or is not ours to look at
    return None


class MemoryWatch:
    """Looks at a tree of processes again and again, and keeps the largest sum that it saw.

    pause: seconds between two looks, or more where a look takes long: the system walks through
    all pages for it, on a core that what is measured has no use of meanwhile. share: of the time
    of one core that looking may take.
    """

    def __init__(self, root: int, pause: float = 0.02, share: float = 1.0) -> None:
        self.most = 0.0
        self.processes = 0  # at that moment
        self._root = root
        self._pause, self._share = pause, share
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while not self._over.is_set():
            begun = time.perf_counter()
            sizes = [size for pid in tree(self._root) if (size := proportional_megabytes(pid))]
            if sum(sizes) > self.most:
                self.most, self.processes = sum(sizes), len(sizes)
            took = time.perf_counter() - begun
            self._over.wait(max(self._pause, took * (1 / self._share - 1)))

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()
