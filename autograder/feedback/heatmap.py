"""Attention weights as cells to be drawn: what is marked, how dark a cell is, what is said.

Pure functions from numbers to what a picture shows. `heatmap_svg` draws it for a page,
`heatmap_blocks` for a terminal. The numbers come from a student's code, so any of them may be huge,
negative or not finite.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from autograder.results.details import VISIBLE, AttentionSeen, HeadWeights

#: Why a cell is marked: it leaks a later token, is not a finite number, or is not as expected.
Mark = Literal["", "leak", "nan", "differs"]

NOTHING = "·"  # a weight that rounds to 0
NO_NUMBER = "–"  # nan or infinite


@dataclass(frozen=True, slots=True)
class Cell:
    """One weight: its text, how dark it is drawn (0 to 1), why it is marked."""

    text: str
    shade: float
    mark: Mark = ""


@dataclass(frozen=True, slots=True)
class Row:
    """The weights of one token as the query. `total` is their sum as text; empty if not shown."""

    word: str
    cells: tuple[Cell, ...]
    total: str = ""
    sums_to_one: bool = True


@dataclass(frozen=True, slots=True)
class Grid:
    """One matrix of weights, with the words that are attended to above its columns."""

    title: str
    words: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Remark:
    """What a picture shows, in words, and the mark that it explains."""

    mark: Mark | Literal["sum"]
    text: str


def grids(seen: AttentionSeen, *, numbers: bool) -> tuple[tuple[Grid, Grid], ...]:
    """For each head, what was found and what was expected.

    Args:
        seen: One name's attention weights.
        numbers: Whether expected numbers are written into the cells. Without them the shades have
            ten steps, so that they show which words are attended to and no more.
    """
    return tuple(
        (
            _found(seen, head, _of_head(seen, place)),
            _expected(seen, head, _of_head(seen, place), numbers),
        )
        for place, head in enumerate(seen.heads)
    )


def _of_head(seen: AttentionSeen, place: int) -> str:
    return f", head {place + 1} of {len(seen.heads)}" if len(seen.heads) > 1 else ""


def _found(seen: AttentionSeen, head: HeadWeights, of_head: str) -> Grid:
    scale = _scale(head)
    rows = []
    for number, values in enumerate(head.found):
        right = head.expected[number] if number < len(head.expected) else ()
        cells = tuple(
            Cell(
                number_in_words(value),
                _shade(value, scale),
                _mark(value, right[column] if column < len(right) else None, number, column, seen),
            )
            for column, value in enumerate(values)
        )
        whole = not seen.shares or _is_one(values)
        total = number_in_words(_sum(values)) if seen.shares else ""
        rows.append(Row(_word(seen, number), cells, total, whole))
    return Grid(f"found{of_head}", seen.tokens, tuple(rows))


def _expected(seen: AttentionSeen, head: HeadWeights, of_head: str, numbers: bool) -> Grid:
    scale = _scale(head)
    rows = []
    for number, values in enumerate(head.expected):
        shades = [_shade(value, scale) for value in values]
        cells = tuple(
            Cell(number_in_words(value), shade) if numbers else Cell(_dot(value), round(shade, 1))
            for value, shade in zip(values, shades, strict=True)
        )
        rows.append(Row(_word(seen, number), cells))
    return Grid(f"expected{of_head}", seen.tokens, tuple(rows))


def _dot(value: float | None) -> str:
    return NOTHING if value is not None and abs(value) < VISIBLE else ""


def _word(seen: AttentionSeen, number: int) -> str:
    return seen.tokens[number] if number < len(seen.tokens) else str(number + 1)


def _mark(
    value: float | None, right: float | None, row: int, column: int, seen: AttentionSeen
) -> Mark:
    if value is None:
        return "nan" if right is not None else ""
    if seen.causal and column > row and abs(value) >= VISIBLE:
        return "leak"
    return "differs" if right is None or abs(value - right) >= VISIBLE else ""


def _scale(head: HeadWeights) -> float:
    """The weight that is drawn darkest: the largest expected one."""
    return max((abs(value) for row in head.expected for value in row if value), default=1.0)


def _shade(value: float | None, scale: float) -> float:
    return 0.0 if value is None else min(abs(value) / scale, 1.0)


def _sum(values: Iterable[float | None]) -> float | None:
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def _is_one(values: Iterable[float | None]) -> bool:
    total = _sum(values)
    return total is not None and abs(total - 1) < VISIBLE


def number_in_words(value: float | None) -> str:
    """A weight in at most five characters: `.14`, `1`, `·` for 0, `-2.5`, `3e+07`."""
    if value is None:
        return NO_NUMBER
    if abs(value) < VISIBLE:
        return NOTHING
    if abs(value) < 9.995:
        text = f"{value:.2f}".removesuffix(".00")
        return text.replace("0.", ".", 1) if abs(value) < 0.995 else text
    text = f"{value:.0f}"
    return text if len(text) <= 5 else f"{value:.0e}"


def remarks(pictures: Sequence[tuple[Grid, Grid]]) -> tuple[Remark, ...]:
    """What the marks of all heads mean, most important first.

    Args:
        pictures: What `grids` returns.
    """
    found = [grid for grid, _ in pictures]
    marks = [cell.mark for grid in found for row in grid.rows for cell in row.cells]
    told = []
    leaks = marks.count("leak")
    if leaks:
        told.append(
            Remark("leak", f"{_count(leaks, 'weight')} on words that come later: they must be 0")
        )
    nans = marks.count("nan")
    if nans:
        told.append(Remark("nan", f"{_count(nans, 'weight')} that {_be(nans)} no finite number"))
    odd = sum(not row.sums_to_one for grid in found for row in grid.rows)
    rows = sum(len(grid.rows) for grid in found)
    if odd:
        told.append(Remark("sum", f"{odd} of {rows} rows do not sum to 1"))
    others = marks.count("differs")
    if others:
        told.append(Remark("differs", f"{_count(others, 'weight')} that {_differ(others)}"))
    return tuple(told)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"


def _be(number: int) -> str:
    return "is" if number == 1 else "are"


def _differ(number: int) -> str:
    return "differs from what is expected" if number == 1 else "differ from what is expected"


def caption(seen: AttentionSeen) -> str:
    """What the picture shows, as its caption."""
    if not seen.shares:
        what = "1 where a word (row) must not look at another (column)"
    elif seen.sure:
        what = "how much each word (row) attends to each (column)"
    else:
        what = "what came back instead of weights"
    return f"`{seen.name}`: {what}"
