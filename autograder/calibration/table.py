"""The proof as a table: coloured on a terminal, plain lines in a pipe, a summary at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from autograder.calibration.cases import Measure, Part


def shortfalls(parts: Sequence[Part]) -> Iterator[str]:
    """A line for each case that falls short, then the remarks."""
    for part in parts:
        for measure, entries in part.short.items():
            for label, reason in entries:
                yield f"short  {part.title}, {measure}: {label}: {reason}"
    for part in parts:
        for remark in part.remarks:
            yield f"note   {part.title}: {remark}"


def rows(parts: Sequence[Part]) -> Iterator[tuple[str, str, str, str, str, bool]]:
    """Rows of part, measure, how many of how many, share, share needed, whether it holds."""
    for part in parts:
        for measure in part.measures:
            yield (
                part.title,
                measure.title,
                f"{part.good(measure)} of {part.count}",
                _percent(part.good(measure), part.count),
                f"{100 * measure.needed:g}%",
                part.holds(measure) and part.count >= part.extent,
            )


def plain(parts: Sequence[Part]) -> Iterator[str]:
    """The table as lines of text."""
    table = [row[:5] for row in rows(parts)]
    widths = [max(len(row[column]) for row in table) for column in range(5)] if table else []
    for row, whole in zip(table, rows(parts), strict=True):
        part, measure, good, share, needed = (
            text.ljust(width) if column < 2 else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        held = "" if whole[5] else "  failed"
        yield f"{part}  {measure}  {good}  {share}  (needed {needed.strip()}){held}"


def view(parts: Sequence[Part]) -> RenderableType:
    """The table for a terminal."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("", "part", "what must hold"):
        table.add_column(heading)
    for heading in ("held for", "share", "needed"):
        table.add_column(heading, justify="right")
    for part, measure, good, share, needed, holds in rows(parts):
        style = "green" if holds else "red"
        mark = Text("✓" if holds else "✗", style)
        table.add_row(mark, part, measure, good, Text(share, "" if holds else style), needed)
    lines = [Text(line, "red" if line.startswith("short") else "dim") for line in shortfalls(parts)]
    return Group(*lines, table, Text(summary(parts), _style(parts)))


def summary(parts: Sequence[Part]) -> str:
    """The last line: how much was proved, or what failed."""
    count = sum(part.count for part in parts)
    faulty = [f"{part.title} ({_reason(part)})" for part in parts if not part.sound]
    if faulty:
        return f"calibration failed: {', '.join(faulty)}"
    of = "1 part" if len(parts) == 1 else f"{len(parts)} parts"
    return f"calibrated: {count} cases in {of}, everything holds"


def print_proof(console: Console, parts: Sequence[Part]) -> None:
    """Print shortfalls, table and summary, in a form that suits the console."""
    if console.is_terminal:
        console.print(view(parts))
        return
    for line in (*shortfalls(parts), *plain(parts), summary(parts)):
        console.print(Text(line), soft_wrap=True)


def _style(parts: Sequence[Part]) -> str:
    return "bold green" if all(part.sound for part in parts) else "bold red"


def _reason(part: Part) -> str:
    if part.count < part.extent:
        return f"{part.count} of at least {part.extent} cases"
    return "; ".join(_told(part, measure) for measure in part.measures if not part.holds(measure))


def _told(part: Part, measure: Measure) -> str:
    return f"{measure.title}: {_percent(part.good(measure), part.count)}"


def _percent(good: int, count: int) -> str:
    """Rounded down, so that 100% is all of them."""
    return "none" if not count else f"{1000 * good // count / 10:g}%"
