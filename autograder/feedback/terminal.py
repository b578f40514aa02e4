"""Tables for the terminal. Students' text goes in as `Text`, never as markup."""

from collections.abc import Iterable, Iterator

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from autograder.assignment.assignment import Stage
from autograder.feedback.plain import one_line, plain
from autograder.feedback.words import WORDS, points, status_of
from autograder.results.result import CriterionResult, Result, StageResult


def console(*, stderr: bool = False) -> Console:
    """A console that takes text as it is: no markup, no emoji codes, no colouring of numbers."""
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def result_view(result: Result, *, show: bool = False) -> RenderableType:
    """One submission by stage and criterion.

    Args:
        result: The result.
        show: Whether to add every share with its checks.
    """
    head = f"{one_line(result.submission)}: {points(result.score)} of {points(result.max_score)}"
    parts: list[RenderableType] = [Text(head, "bold")]
    if result.message is not None:
        parts.append(Text(plain(result.message)))
    for stage in result.stages:
        parts += [Text(), Text(_stage_head(stage), "bold"), _criteria(stage, show)]
    if result.notes:
        parts.append(Text())
        parts += [Text(f"note: {one_line(note)}") for note in result.notes]
    return Group(*parts)


def class_view(results: Iterable[Result], stages: Iterable[Stage]) -> RenderableType:
    """A class: a line for each student, a column for each stage, then why work got no points."""
    columns = tuple(stages)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("student", overflow="fold")
    for stage in columns:
        table.add_column(f"{stage.id}\nof {stage.points}", justify="right")
    table.add_column(f"score\nof {sum(stage.points for stage in columns)}", justify="right")
    table.add_column("status")
    reasons = []
    for result in results:
        scores = {stage.id: stage.score for stage in result.stages}
        table.add_row(
            Text(one_line(result.submission)),
            *(points(scores.get(stage.id)) for stage in columns),
            points(result.score),
            status_of(result),
            style="" if status_of(result) == "graded" and result.message is None else "red",
        )
        if result.message is not None:
            reasons.append(Text(one_line(result.message)))
    return Group(table, *([Text(), *reasons] if reasons else []))


def _stage_head(stage: StageResult) -> str:
    return f"{stage.id}: {points(stage.score)} of {points(stage.max_score)}  {stage.title}"


def _criteria(stage: StageResult, show: bool) -> RenderableType:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column()
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True, justify="right")
    grid.add_column(overflow="fold")
    for criterion in stage.criteria:
        kept = criterion.status == "passed"
        grid.add_row(
            Text("  ✓" if kept else "  ✗", "green" if kept else "red"),
            Text(criterion.id),
            Text(f"{points(criterion.score)} of {points(criterion.max_score)}"),
            Group(*_reasons(criterion, show)),
        )
    return grid


def _reasons(criterion: CriterionResult, show: bool) -> Iterator[RenderableType]:
    word = WORDS[criterion.status]
    yield Text.assemble(criterion.title, (f"  {word}", "red"))
    if criterion.message:
        yield Padding(Text(plain(criterion.message)), (0, 0, 1, 0))
    if not show:
        return
    if criterion.misconceptions:
        yield Text(f"named: {', '.join(criterion.misconceptions)}")
    for share in criterion.shares:
        aspect = f" ({share.aspect})" if share.aspect else ""
        score = f"{points(share.score)} of {points(share.max_score)}"
        passed = sum(check.status == "passed" for check in share.checks)
        checks = f"{passed} of {len(share.checks)} checks passed"
        yield Text(f"{share.name}{aspect}: {score}, {share.status}; {checks}", "dim")
        for check in share.checks:
            if check.status != "passed":
                yield Text(f"  {check.id}: {check.status}", "dim")
