"""What was measured, as rows of one table, as JSON, and as one closing line."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

Unit = Literal["s", "ms", "MB", "frames"]
Tell = Callable[[str], None]  # says what has been done so far

# What several graders are compared by.
WHOLE = "whole command, wall a submission"
ALL_CORES = "several at a time on all cores, wall a submission"
STARTED = "after start, wall a submission"


class Goal(msgspec.Struct, frozen=True):
    """What a value or a ratio is wanted to be."""

    kind: Literal["at least", "at most"]
    bound: float
    of: Literal["value", "ratio"]

    def met(self, value: float, ratio: float | None) -> bool:
        """Whether it is."""
        number = value if self.of == "value" else ratio
        if number is None:
            return False
        return number >= self.bound if self.kind == "at least" else number <= self.bound


class Row(msgspec.Struct, frozen=True):
    """One measured value; `ratio` is told as so many times `against`."""

    part: str
    what: str
    value: float
    unit: Unit
    ratio: float | None = None
    against: str = ""
    goal: Goal | None = None


class Bench(msgspec.Struct, frozen=True):
    """A whole run, as results/bench.json holds it."""

    schema: int
    class_size: int
    cores: int
    load_before: float
    load_after: float
    rows: tuple[Row, ...]
    failed: tuple[str, ...] = ()  # parts


def row_of(rows: Sequence[Row], part: str, what: str) -> Row | None:
    """A row that may have been measured."""
    return next((row for row in rows if row.part == part and row.what == what), None)


def compared(row: Row, other: Row, against: str, goal: Goal | None = None) -> Row:
    """The row, told as so many times another."""
    return msgspec.structs.replace(row, ratio=row.value / other.value, against=against, goal=goal)


def median_interval(times: Sequence[float], width: int = 1) -> float:
    """Seconds between one end and the next, where `width` are at work at a time: the median.

    Of work that ends in clusters, the time for `width` ends in a row counts, shared among them.
    """
    ends = sorted(times)
    spans = [(later - earlier) / width for earlier, later in zip(ends, ends[width:], strict=False)]
    if not spans:
        raise ValueError(f"{len(ends)} ends are too few for {width} at a time")
    return statistics.median(spans)


def load() -> float:
    """How many processes wanted to run within the last minute."""
    return os.getloadavg()[0]


def text(rows: Sequence[Row]) -> str:
    """The table."""
    cells = [("part", "what", "value", "ratio", "goal")]
    cells += [(row.part, row.what, _value(row), _ratio(row), _goal(row)) for row in rows]
    widths = [max(len(line[place]) for line in cells) for place in range(5)]
    lines = []
    for line in cells:
        part, what, value, ratio, goal = (
            cell.rjust(width) if place == 2 else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        lines.append(f"{part}  {what}  {value}  {ratio}  {goal}".rstrip())
    lines.insert(1, "-" * max(len(line) for line in lines))
    return "\n".join(lines)


def goals(rows: Sequence[Row]) -> list[str]:
    """What was wanted of these rows, and what they are."""
    told = []
    for row in rows:
        if row.goal is not None:
            number = _value(row) if row.goal.of == "value" else f"{row.ratio:.1f} times"
            state = "" if row.goal.met(row.value, row.ratio) else ", goal not met"
            told.append(f"{row.part} {number} ({_bound(row, row.goal)}{state})")
    return told


def summary(bench: Bench) -> str:
    """The closing line."""
    told = goals(bench.rows) + [f"{part} FAILED" for part in bench.failed]
    loads = f"load {bench.load_before:.1f} to {bench.load_after:.1f} on {bench.cores} cores"
    return f"bench: class of {bench.class_size}, {loads}; " + ("; ".join(told) or "no goals asked")


def write(bench: Bench, path: Path) -> None:
    """Write the JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(bench), indent=2) + b"\n")


def _value(row: Row) -> str:
    return _quantity(row.value, row.unit)


def _quantity(value: float, unit: Unit) -> str:
    """A value with its unit; seconds are what is kept of every time."""
    if unit in ("MB", "frames"):
        return f"{value:.0f} {unit}"
    return f"{value * 1000:.0f} ms" if unit == "ms" else f"{value:.2f} s"


def _bound(row: Row, goal: Goal) -> str:
    wanted = f"{goal.bound:g} times" if goal.of == "ratio" else _quantity(goal.bound, row.unit)
    return f"{goal.kind} {wanted}"


def _ratio(row: Row) -> str:
    return "" if row.ratio is None else f"{row.ratio:.2f} times {row.against}"


def _goal(row: Row) -> str:
    if row.goal is None:
        return ""
    word = "met" if row.goal.met(row.value, row.ratio) else "NOT met"
    return f"{_bound(row, row.goal)}: {word}"
