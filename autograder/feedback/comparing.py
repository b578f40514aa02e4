"""Two runs side by side, and the list of runs, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from autograder.feedback.plain import one_line
from autograder.feedback.words import points
from autograder.gradebook.gradebook import Run
from autograder.gradebook.history import Change, Difference, parts_in_words


def runs_view(runs: Sequence[Run]) -> RenderableType:
    """Every run of a gradebook, for a teacher who has to name two."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("run", "started", "outcome", "stages"):
        table.add_column(heading)
    for run in runs:
        table.add_row(str(run.id), run.started, run.outcome, ", ".join(run.stages) or "all")
    few = "Only one run is kept, so there is nothing to compare it with." if len(runs) == 1 else ""
    return Group(table, Text(few))


def difference_view(
    first: Run, second: Run, parts: Sequence[str] | None, found: Difference
) -> RenderableType:
    """Whose score changed, in which criterion, and why.

    Args:
        first: The earlier run.
        second: The later run.
        parts: The parts of the grading key that changed; None if they are not known.
        found: The difference between the two.
    """
    lines: list[RenderableType] = [
        Text(f"run {first.id} ({first.started}) → run {second.id} ({second.started})", "bold"),
        Text(_what_changed(parts)),
    ]
    if first.stages != second.stages:
        told = (", ".join(stages) or "all" for stages in (first.stages, second.stages))
        lines.append(Text("stages graded: " + " → ".join(told)))
    for change in found.changes:
        lines += [Text(), *_told(change)]
    lines.append(Text())
    if found.joined:
        lines.append(Text(f"new in the later run: {_names(found.joined)}"))
    if found.left:
        lines.append(Text(f"no longer in the later run: {_names(found.left)}"))
    count = len(found.changes)
    lines.append(Text(f"{count} changed, {found.same} the same"))
    return Group(*lines)


def _what_changed(parts: Sequence[str] | None) -> str:
    if parts is None:
        return "an older kit wrote one of the runs, so what it was graded with is not known"
    if not parts:
        return "both were graded with the same kit, checks and limits"
    return f"changed between them: {parts_in_words(parts)}"


def _told(change: Change) -> Iterator[RenderableType]:
    anew = ", handed in anew" if change.handed_in_anew else ""
    scores = f"{points(change.before)} → {points(change.after)}"
    yield Text(f"{one_line(change.student)}: {scores}{anew}", "bold")
    for each in change.criteria:
        moved = f"{each.stage}/{each.criterion}: {points(each.before)} → {points(each.after)}"
        yield Padding(Text(f"{moved}  {one_line(each.why)}"), (0, 0, 0, 2))
    if change.note:
        yield Padding(Text(one_line(change.note)), (0, 0, 0, 2))


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(one_line, names))
