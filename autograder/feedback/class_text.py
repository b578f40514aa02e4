"""The class report for a terminal: the same figures as on `class.html`, in tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from autograder.assignment.assignment import Stage
from autograder.feedback.plain import one_line
from autograder.feedback.words import WORDS
from autograder.gradebook.class_analysis import ClassAnalysis, Graded, analysed
from autograder.gradebook.item_analysis import remark
from autograder.gradebook.similarity import Pair

BAR = 10  # blocks of a whole bar


def class_text(
    graded: Sequence[Graded], stages: Sequence[Stage], similar: Sequence[Pair] | None = None
) -> RenderableType:
    """A class at a glance, without its list of students.

    Args:
        graded: The results that count, with their details.
        stages: The stages that were graded.
        similar: Pairs of similar submissions; None if they were not compared.
    """
    found = analysed(graded, [(stage.id, stage.title, float(stage.points)) for stage in stages])
    parts: list[RenderableType] = []
    for title, view in _sections(found):
        parts += [Text(title, "bold"), view, Text()]
    if similar is not None:
        parts += [Text("similarity: a place to look, not a verdict", "bold"), _similar(similar)]
    return Group(*parts)


def _sections(found: ClassAnalysis) -> Iterator[tuple[str, RenderableType]]:
    yield "scores", _scores(found)
    if found.items.items:
        yield "criteria", _items(found)
    if found.mistakes:
        yield "most common misconceptions", _mistakes(found)
    if found.unexplained:
        rows = [(group.name, _names(group.students)) for group in found.unexplained]
        yield "same unexplained outputs", _table(("name", "students"), rows)
    if found.ended:
        ends = [
            (each.student, ", ".join(f"{name} {WORDS[status]}" for name, status in each.names))
            for each in found.ended
        ]
        yield "hung or crashed", _table(("student", "what happened"), ends)
    if found.unread:
        yield "could not be read", Text(_names(found.unread))
    if found.ungraded:
        yield "the kit failed on", Text(_names(found.ungraded))


def _scores(found: ClassAnalysis) -> RenderableType:
    rows = []
    for stage in (found.total, *found.stages):
        if stage.scores is not None:
            scores = stage.scores
            numbers = (scores.mean, scores.lowest, *scores.quartiles, scores.highest)
            told = [f"{number:.1f}".removesuffix(".0") for number in numbers]
            name = stage.id or "all stages"
            rows.append((name, f"{scores.max_score:g}", *told, _histogram(scores.bins)))
    columns = ("stage", "of", "mean", "lowest", "quarter", "median", "3 quarters", "highest")
    return _table((*columns, "0 ... all points"), rows)


def _histogram(bins: Sequence[int]) -> str:
    """Ten blocks; the higher a block, the more submissions."""
    most = max(bins)
    return "".join("▁▂▃▄▅▆▇█"[max(0, round(7 * each / most))] if each else "·" for each in bins)


def _items(found: ClassAnalysis) -> RenderableType:
    rows = []
    for item in found.items.items:
        full = round(BAR * item.passed)
        apart = "–" if item.discrimination is None else f"{item.discrimination:.2f}"
        rows.append(
            (
                f"{item.stage}/{item.criterion}",
                "█" * full + "░" * (BAR - full),
                f"{item.passed:.0%}",
                f"{item.difficulty:.2f}",
                apart,
                remark(item),
            )
        )
    headings = ("criterion", "all points", "", "difficulty", "discrimination", "worth a look")
    table = _table(headings, rows)
    told = []
    if found.items.alpha is not None:
        told.append(Text(f"reliability (Cronbach's alpha): {found.items.alpha:.2f}"))
    if found.items.warning:
        told.append(Text(found.items.warning))
    return Group(table, *told)


def _mistakes(found: ClassAnalysis) -> RenderableType:
    rows = [
        (str(len(mistake.students)), mistake.id, mistake.title, _names(mistake.students))
        for mistake in found.mistakes
    ]
    return _table(("", "id", "misconception", "students"), rows)


def _similar(pairs: Sequence[Pair]) -> RenderableType:
    if not pairs:
        return Text("no two submissions are more alike than the assignment makes likely")
    rows = [
        (f"{pair.first}, {pair.second}", f"{pair.of_first:.0%}", f"{pair.of_second:.0%}")
        for pair in pairs
    ]
    return _table(("pair", "of the first", "of the second"), rows)


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(one_line, names))


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        last = heading == headings[-1]
        table.add_column(heading, overflow="fold", no_wrap=not last)
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    return table
