"""How long a student waits: `python -m bench.selfcheck`.

Whole runs are compared with a bare `import torch`, in turn. `watch` runs in a real terminal: files
are saved with a mistake and without it, and the time is that from the save to the verdict on the
screen. Every wait has a bound (`--patience`); what did not come is told, and the rest is measured.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path

import pexpect

from autograder.grading.executor import cores
from bench.processes import cpu_seconds
from bench.table import Goal, Row, Tell, compared, goals, load, text

ROOT = Path(__file__).resolve().parents[1]
WATCH = "watch"
MOST_OF_IMPORT = 1.6  # times `import torch`, a whole run
MOST_SECONDS = 0.3  # from a save to its verdict

#: Stages, and an edit that makes a mistake in each which the self-check knows.
MISTAKES = (
    ("simplified", "dim=-1, keepdim=True", "dim=0, keepdim=True"),
    ("trainable", " / key_size**0.5", ""),
    ("causal", " / keys.shape[-1] ** 0.5", ""),
    ("multi_head", " / keys.shape[-1] ** 0.5", ""),
)
SHOWN = r"q quit\s+\((?:saved files|the other stages)"  # the last line of every screen
ALL_SHOWN = r"q quit\s+\(saved files"
WRONG, RIGHT = "This looks like:", r"(\d+) of \1 done"
QUIET = 0.3  # seconds without work, after which the process that waits for a save is ready


class DidNotCome(Exception):
    """What was waited for did not come in time; the text says what, and what was seen instead."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print a table and a line that sums it up; exit 1 where something did not come."""
    parser = argparse.ArgumentParser(prog="python -m bench.selfcheck", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="whole runs of each kind")
    parser.add_argument("--saves", type=int, default=10, help="saved files")
    parser.add_argument("--patience", type=float, default=120, help="seconds to wait for anything")
    options = parser.parse_args(arguments)

    def tell(line: str) -> None:
        print(line, flush=True)

    before = load()
    rows: list[Row] = []
    failed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        parts: dict[str, Callable[[], None]] = {
            "whole runs": lambda: whole(rows, Path(scratch), options.runs, options.patience, tell),
            WATCH: lambda: watched(rows, Path(scratch), options.saves, options.patience, tell),
        }
        for part, measure in parts.items():
            tell(f"--- {part}")
            try:
                measure()
            except DidNotCome as error:
                failed.append(part)
                tell(f"{part}: {error}")
    tell(f"\n{text(rows)}\n" if rows else "")
    told = [*goals(rows), *(f"{part} FAILED" for part in failed)]
    loads = f"load {before:.1f} to {load():.1f} on {cores()} cores"
    tell(f"bench.selfcheck: {loads}; {'; '.join(told)}")
    if failed:
        raise SystemExit(1)


def student_folder(folder: Path, solved: bool) -> Path:
    """The template in a new folder, with the solutions in it or the stubs."""
    shutil.copytree(
        ROOT / "student_template", folder, ignore=shutil.ignore_patterns("__pycache__", ".*")
    )
    if solved:
        for file in (ROOT / "solutions" / "attention").glob("*.py"):
            shutil.copy(file, folder / "attention")
    return folder


def whole(rows: list[Row], scratch: Path, runs: int, patience: float, tell: Tell) -> None:
    """Whole runs on stubs and on finished work beside an import of torch, in turn: medians."""
    stubs = student_folder(scratch / "stubs", solved=False)
    solved = student_folder(scratch / "solved", solved=True)
    commands = {
        "import torch": (stubs, ("-c", "import torch")),
        "selfcheck on stubs": (stubs, ("-m", "selfcheck")),
        "selfcheck, all written": (solved, ("-m", "selfcheck")),
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for number in range(runs + 1):
        for name, (folder, command) in commands.items():
            taken[name].append(timed(name, folder, command, patience))
        tell(f"run {number} of {runs}" if number else "warmed up")
    for place, kind in enumerate(("wall", "CPU")):
        base, *others = (
            Row(name, kind, statistics.median(pair[place] for pair in pairs[1:]), "s")
            for name, pairs in taken.items()
        )
        goal = Goal("at most", MOST_OF_IMPORT, "ratio") if kind == "wall" else None
        rows += [base, *(compared(row, base, base.part, goal) for row in others)]


def timed(name: str, folder: Path, command: Sequence[str], patience: float) -> tuple[float, float]:
    """Wall and CPU seconds of a Python with these arguments."""
    before, begun = os.times(), time.perf_counter()
    try:
        subprocess.run(
            [sys.executable, *command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=patience,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        told = (late.stdout or b"").decode(errors="replace").strip().splitlines()
        last = told[-1] if told else "nothing"
        raise DidNotCome(f"{name} did not end within {patience:g} s; it said: {last}") from None
    wall, after = time.perf_counter() - begun, os.times()
    return wall, sum(after[2:4]) - sum(before[2:4])


def watched(rows: list[Row], scratch: Path, saves: int, patience: float, tell: Tell) -> None:
    """From a save to its verdict on the screen, and to that on all stages: smallest and median."""
    folder = student_folder(scratch / "watched", solved=True)
    terminal = Terminal(folder, patience)
    wall: list[float] = []
    work: list[float] = []
    everything: list[float] = []
    try:
        terminal.see(ALL_SHOWN, "the first screen")
        edits = cycle(each for mistake in MISTAKES for each in ((mistake, True), (mistake, False)))
        for number, ((stage, right, wrong), mistaken) in zip(range(saves), edits, strict=False):
            terminal.be_quiet()
            file = folder / "attention" / f"{stage}.py"
            source = (ROOT / "solutions" / "attention" / file.name).read_text("utf-8")
            beside = file.with_suffix(".tmp")
            beside.write_text(source.replace(right, wrong) if mistaken else source, "utf-8")
            what = f"{stage} {'with a mistake' if mistaken else 'put right'}"
            cpu, begun = cpu_seconds(terminal.pid), time.perf_counter()
            beside.replace(file)
            terminal.see(WRONG if mistaken else RIGHT, f"the verdict on {what}")
            terminal.see(SHOWN, f"the screen with {what}")
            wall.append(time.perf_counter() - begun)
            work.append(cpu_seconds(terminal.pid) - cpu)
            terminal.see_all(f"all stages with {what}")
            everything.append(time.perf_counter() - begun)
            tell(f"save {number + 1} of {saves}, {what}: {wall[-1] * 1000:.0f} ms")
    finally:
        terminal.end()
        if everything:
            goal = Goal("at most", MOST_SECONDS, "value")
            median = statistics.median(wall)
            rows += [
                Row(
                    WATCH, f"save to verdict, wall, median of {len(wall)}", median, "ms", goal=goal
                ),
                Row(WATCH, "save to verdict, wall, smallest", min(wall), "ms"),
                Row(WATCH, "save to verdict, wall, largest", max(wall), "ms"),
                Row(WATCH, "save to verdict, CPU, median", statistics.median(work), "ms"),
                Row(WATCH, "save to verdict, CPU, smallest", min(work), "ms"),
                Row(WATCH, "save to all stages, wall, median", statistics.median(everything), "ms"),
                Row(WATCH, "save to all stages, wall, smallest", min(everything), "ms"),
            ]


class Terminal:
    """`watch` in a terminal of its own, and what it shows."""

    def __init__(self, folder: Path, patience: float) -> None:
        self._patience = patience
        self._child: pexpect.spawn[str] = pexpect.spawn(
            sys.executable,
            ["-m", "selfcheck", "watch"],
            cwd=folder,
            env=os.environ | {"TERM": "xterm", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
            dimensions=(40, 80),
            encoding="utf-8",
            timeout=patience,
        )
        self.pid: int = self._child.pid

    def see(self, pattern: str, what: str) -> str:
        """Wait until something is shown; what was shown up to there."""
        try:
            self._child.expect(pattern)
        except (pexpect.TIMEOUT, pexpect.EOF) as error:
            how = (
                "ended" if isinstance(error, pexpect.EOF) else f"{self._patience:g} s have gone by"
            )
            last = " / ".join((self._child.before or "").split("\n")[-3:]).strip()
            raise DidNotCome(f"{what} did not come: {how}; shown last: {last!r}") from None
        return str(self._child.after)

    def see_all(self, what: str) -> None:
        """Wait for the screen that tells of all stages, if that was not it."""
        if "saved files" not in str(self._child.after):
            self.see(ALL_SHOWN, what)

    def be_quiet(self) -> None:
        """Wait until the process that waits for the next save has nothing left to do."""
        end = time.monotonic() + self._patience
        time.sleep(1.0)  # it is being started
        spent = cpu_seconds(self.pid)
        while True:
            time.sleep(QUIET)
            earlier, spent = spent, cpu_seconds(self.pid)
            if spent - earlier < QUIET / 10:
                return
            if time.monotonic() > end:
                raise DidNotCome(f"the waiting process is busy still after {self._patience:g} s")

    def end(self) -> None:
        """End it and its processes."""
        self._child.close(force=True)


if __name__ == "__main__":
    main()
