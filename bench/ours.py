"""The kit's own parts: the class by its command, the floor, CPU, memory, one check, the wall."""

from __future__ import annotations

import statistics
import sys
from contextlib import ExitStack
from pathlib import Path

import msgspec

from autograder.assignment.assignment import load_assignment
from autograder.grading.executor import cores
from autograder.grading.worker import Worker
from autograder.submissions.submission import Submission
from bench.classroom import ROOT, members, write_class
from bench.floor import Timed, submissions, timed
from bench.processes import MemoryWatch, children_cpu, cpu_seconds, run
from bench.table import STARTED, WHOLE, Goal, Row, Tell, median_interval
from bench.unexplained import Spent

PROGRAM = Path(sys.executable).with_name("autograder")
_CPU_CLASS = 40
_COMMAND_RUNS = 3
_CHECK_RUNS = 5
_WALL_RUNS = 3
_UNEXPLAINED_RUNS = 3


class Command:
    """`autograder grade` on all cores, run now and then, so that the others' time is its time."""

    def __init__(self, folder: Path, size: int, scratch: Path, tell: Tell) -> None:
        self._folder, self._size, self._scratch, self._tell = folder, size, scratch, tell
        self._whole: list[float] = []
        self._started: list[float] = []

    def run(self) -> None:
        """Grade the class once more, anew."""
        out = self._scratch / f"ours-{len(self._whole)}"
        seconds = run([PROGRAM, "grade", self._folder, "--out", out])
        ends = [path.stat().st_mtime for path in out.glob("students/*/result.json")]
        if len(ends) != self._size:
            raise RuntimeError(f"{len(ends)} of {self._size} were graded")
        self._whole.append(seconds / self._size)
        self._started.append(median_interval(ends, min(cores(), self._size - 1)))
        self._tell(f"autograder grade, run {len(self._whole)}: {seconds:.1f} s for {self._size}")

    def rows(self) -> list[Row]:
        """The medians of three runs or more."""
        while len(self._whole) < _COMMAND_RUNS:
            self.run()
        return [
            Row("ours", WHOLE, statistics.median(self._whole), "s"),
            Row("ours", STARTED, statistics.median(self._started), "ms"),
        ]


def floor(folder: Path, scratch: Path, tell: Tell) -> list[Row]:
    """The class by one worker behind the wall, beside the same checks without one.

    The worker grades it before and after, so that a machine that gets busier favours neither.
    """
    work = submissions(load_assignment(ROOT), folder)
    walled = _graded([None], work)[0]
    tell("one worker behind the wall: done")
    result = scratch / "floor.json"
    run([sys.executable, "-m", "bench.floor", folder, result], OMP_NUM_THREADS="1")
    bare = msgspec.json.decode(result.read_bytes(), type=tuple[Timed, ...])
    tell("the floor: done")
    walled += _graded([None], work)[0]
    if {each.name: each.score for each in walled} != {each.name: each.score for each in bare}:
        raise RuntimeError("the floor scores otherwise than the wall; it does not compare")
    rows = []
    for what, field in (("wall", "wall_seconds"), ("CPU", "cpu_seconds")):
        low = statistics.median(getattr(each, field) for each in bare)
        high = statistics.median(getattr(each, field) for each in walled)
        rows.append(Row("floor", f"calls in the process, {what} a submission", low, "ms"))
        rows.append(
            Row(
                "floor",
                f"one worker, {what} a submission",
                high,
                "ms",
                high / low,
                "the floor",
                Goal("at most", 2.0, "ratio"),
            )
        )
    return rows


def cpu(scratch: Path, tell: Tell) -> list[Row]:
    """CPU seconds of worker, zygote and guests for a class of 40, once started.

    A busy machine counts more of them for the same work; an import of torch shows how many more.
    """
    folder = scratch / "class-of-40"
    write_class(members(_CPU_CLASS), folder)
    assignment = load_assignment(ROOT)
    work = submissions(assignment, folder)
    with Worker(assignment.folder) as worker:
        level = worker.isolation
        worker.grade(work[0])
        before = cpu_seconds(worker.pid)
        for submission in work:
            worker.grade(submission)
        spent = (cpu_seconds(worker.pid) - before) / len(work)
        worker.kill()
    tell(f"CPU of a class of {len(work)}: done")
    imported = children_cpu([sys.executable, "-c", "import torch"])
    what = f"CPU a submission, class of {_CPU_CLASS}, {level}"
    goal = Goal("at most", 0.150, "value")
    return [
        Row("cpu", "import torch, CPU", imported, "ms"),
        Row("cpu", what, spent, "ms", spent / imported, "import", goal),
    ]


def check(tell: Tell) -> list[Row]:
    """`autograder check` of the solutions beside an import of torch, in turn."""
    checked, imported = [], []
    for _ in range(_CHECK_RUNS):
        imported.append(run([sys.executable, "-c", "import torch"]))
        checked.append(run([PROGRAM, "check", load_assignment(ROOT).solutions]))
    tell("autograder check: done")
    low, high = statistics.median(imported), statistics.median(checked)
    goal = Goal("at most", 2.5, "ratio")
    return [
        Row("check", "import torch", low, "s"),
        Row("check", "autograder check of the solutions", high, "s", high / low, "import", goal),
    ]


def unexplained(scratch: Path, tell: Tell) -> list[Row]:
    """CPU seconds of the search for an output that nothing explains, the longest there is."""
    spent = []
    for _ in range(_UNEXPLAINED_RUNS):
        result = scratch / "unexplained.json"
        run([sys.executable, "-m", "bench.unexplained", result])
        spent.append(msgspec.json.decode(result.read_bytes(), type=Spent))
    tell("an output that nothing explains: done")
    imported = statistics.median(each.importing for each in spent)
    explained = statistics.median(each.explaining for each in spent)
    ratio = statistics.median(each.explaining / each.importing for each in spent)
    goal = Goal("at most", 0.5, "ratio")
    return [
        Row("unexplained", "import torch, CPU", imported, "ms"),
        Row("unexplained", "the longest search, CPU", explained, "ms", ratio, "import", goal),
    ]


def memory(folder: Path, tell: Tell) -> list[Row]:
    """The largest sum of PSS of worker, zygote and guest while some of the class are graded."""
    assignment = load_assignment(ROOT)
    with Worker(assignment.folder) as worker:
        level = worker.isolation
        with MemoryWatch(worker.pid) as watch:
            for submission in submissions(assignment, folder)[:10]:
                worker.grade(submission)
        worker.kill()
    tell(f"memory of {watch.processes} processes: done")
    what = f"PSS of worker, zygote and guest, {level}"
    return [Row("memory", what, watch.most, "MB", goal=Goal("at most", 768, "value"))]


def wall(folder: Path, tell: Tell) -> list[Row]:
    """What the wall adds to a separate process, submission by submission in turn.

    Each submission is graded by both, one right after the other, a few times over; what counts is
    the median of the differences, so that a load that comes or goes favours nobody.
    """
    work = submissions(load_assignment(ROOT), folder) * _WALL_RUNS
    best, weak = _graded([None, "process"], work)
    tell("with the wall and without: done")
    rows = []
    for what, field in (("wall", "wall_seconds"), ("CPU", "cpu_seconds")):
        high = [getattr(each, field) for each in best]
        low = [getattr(each, field) for each in weak]
        added = statistics.median(more - less for more, less in zip(high, low, strict=True))
        median, base = statistics.median(high), statistics.median(low)
        rows += [
            Row("wall", f"isolation process, {what} a submission", base, "ms"),
            Row(
                "wall", f"at its best, {what} a submission", median, "ms", median / base, "process"
            ),
            Row(
                "wall", f"added by the wall, {what} a submission", added, "ms",
                goal=Goal("at most", 0.010, "value"),
            ),
        ]  # fmt: skip
    return rows


def _graded(levels: list[str | None], work: tuple[Submission, ...]) -> list[tuple[Timed, ...]]:
    """The class by a warm worker of each level; each submission by all in turn."""
    folder = load_assignment(ROOT).folder
    found: list[list[Timed]] = [[] for _ in levels]
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(folder, level)) for level in levels]
        for worker in workers:
            worker.grade(work[0])
        for submission in work:
            for worker, list_of in zip(workers, found, strict=True):
                list_of.append(timed(worker.grade(submission)))
        for worker in workers:
            worker.kill()
    return [tuple(each) for each in found]
