"""`python -m bench`: measure, print one table, write results/bench.json."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from autograder.grading.executor import cores
from bench import frames, ours, peers, scale, stock, walled
from bench.classroom import ROOT, Member, members, write_class
from bench.table import (
    STARTED,
    WHOLE,
    Bench,
    Goal,
    Row,
    Tell,
    compared,
    load,
    row_of,
    summary,
    text,
    write,
)

PARTS = (
    "ours",
    "nbgrader",
    "staged",
    "walled",
    "otter",
    "floor",
    "cpu",
    "unexplained",
    "check",
    "memory",
    "wall",
    "sizes",
    "frames",
)
RESULT = ROOT / "results" / "bench.json"
ENVIRONMENT = ROOT / ".venv-bench"
# As fast as `nbgrader autograde`, as `otter run` on all cores and one after another.
LEAST_TIMES, LEAST_TIMES_OTTER, LEAST_TIMES_OTTER_IN_TURN = 30.0, 45.0, 90.0
MOST_OF_NBGRADER = 1 / 3  # for nbgrader's own command with the kit in it


def measure(
    parts: Sequence[str],
    students: tuple[Member, ...],
    sizes: Sequence[int],
    environment: Path,
    scratch: Path,
    tell: Tell,
) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """All rows of the parts asked for, and the parts that failed."""
    folder = scratch / "class"
    write_class(students, folder)
    size = len(students)

    command = ours.Command(folder, size, scratch, tell)

    def beside(grader: Callable[[peers.Peers, tuple[Member, ...], Tell], list[Row]]) -> list[Row]:
        rows = grader(peers.Peers(environment, scratch), students, tell)
        if "ours" in parts:
            command.run()
        return rows

    work: dict[str, Callable[[], list[Row]]] = {
        "nbgrader": lambda: beside(stock.nbgrader),
        "staged": lambda: stock.staged(peers.Peers(environment, scratch), students, tell),
        "walled": lambda: walled.walled(students, scratch, tell),
        "otter": lambda: beside(peers.otter),
        "floor": lambda: ours.floor(folder, scratch, tell),
        "cpu": lambda: ours.cpu(scratch, tell),
        "unexplained": lambda: ours.unexplained(scratch, tell),
        "check": lambda: ours.check(tell),
        "memory": lambda: ours.memory(folder, tell),
        "wall": lambda: ours.wall(folder, tell),
        "sizes": lambda: scale.sizes(scratch, sizes, tell),
        "frames": lambda: frames.frames(tell),
    }
    rows: list[Row] = []
    failed: list[str] = []
    if "ours" in parts:
        tell("--- ours")
        command.run()
    for part, step in work.items():
        if part not in parts:
            continue
        tell(f"--- {part}")
        try:
            rows += step()
        except Exception as error:  # a part that cannot be measured costs no other
            failed.append(part)
            tell(f"{part} failed: {type(error).__name__}: {error}")
    if "ours" in parts:
        rows = command.rows() + rows
    return with_ratios(rows), tuple(failed)


def with_ratios(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The others' rows told as so many times ours, started and not.

    A grader that is started for each submission has no time of its own after the start: what it
    takes is compared with both.
    """
    whole, started = row_of(rows, "ours", WHOLE), row_of(rows, "ours", STARTED)
    found: list[Row] = []
    kernels = {
        name: other
        for part, name in ((stock.STAGED, stock.STAGED), ("nbgrader", "nbgrader, one notebook"))
        if (other := row_of(rows, part, WHOLE)) is not None
    }
    for row in rows:
        if row.part == walled.PART and kernels:
            most = Goal("at most", MOST_OF_NBGRADER, "ratio")
            found += [compared(row, other, name, most) for name, other in kernels.items()]
            continue
        if whole is None or started is None or row.part not in ("nbgrader", "otter"):
            found.append(row)
            continue
        goal = Goal("at least", LEAST_TIMES, "ratio") if row.part == "nbgrader" else None
        if row.what == WHOLE:
            found.append(compared(row, whole, "ours"))
            if row.part == "otter":
                goal = Goal("at least", LEAST_TIMES_OTTER_IN_TURN, "ratio")
                found.append(compared(row, started, "ours after start", goal))
        else:
            if row.part == "otter":
                goal = Goal("at least", LEAST_TIMES_OTTER, "ratio")
            found.append(compared(row, started, "ours after start", goal))
    return tuple(found)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "--only",
        default=",".join(PARTS),
        help=f"parts with commas between; all are: {','.join(PARTS)}",
    )
    parser.add_argument("--class-size", type=int, default=20, help="students, 3 or more")
    parser.add_argument(
        "--sizes",
        default=",".join(map(str, scale.SIZES)),
        help="sizes of the classes of the part `sizes`, with commas between",
    )
    parser.add_argument("--environment", type=Path, default=ENVIRONMENT, help="of the peers")
    parser.add_argument("--result", type=Path, default=RESULT, help="where the JSON goes")
    options = parser.parse_args(arguments)
    options.only = options.only.split(",")
    options.sizes = [int(size) for size in options.sizes.split(",")]
    for part in options.only:
        if part not in PARTS:
            parser.error(f"no part is called {part!r}; there are {', '.join(PARTS)}")
    if options.class_size < 3:
        parser.error("a class has 3 students or more")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and tell."""
    options = parsed(arguments)

    def tell(line: str) -> None:
        print(line, flush=True)

    before = load()
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        rows, failed = measure(
            options.only,
            members(options.class_size),
            options.sizes,
            options.environment,
            Path(scratch),
            tell,
        )
    bench = Bench(1, options.class_size, cores(), before, load(), rows, failed)
    write(bench, options.result)
    tell(f"\n{text(rows)}\n\nwritten: {options.result}")
    tell(summary(bench))
    if failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
