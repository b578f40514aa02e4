"""Heatmaps for a web page: a grid of weights as inline SVG.

Colour is never the only sign: each weight is written into its cell, and each mark has a shape of
its own. Colours come from the page's style, so that light, dark and print all work.

Elements are plain strings until they are joined, since a picture has hundreds. They hold numbers,
names of this module's own, and text, which `_text` escapes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from markupsafe import Markup, escape

from autograder.feedback.heatmap import Cell, Grid

CELL = 40
HEAD = 52  # above the cells, for the words that are attended to
SIDE = 66  # left of them, for the words that attend
SUMS = 96  # right of them, for the rows' sums
DARKEST = 0.55  # so that a number can be read on it, in light and in dark


@lru_cache(maxsize=256)
def heatmap_svg(grid: Grid) -> Markup:
    """A grid as an `<svg>` element. Cached: expected weights are the same on many pages."""
    columns = max((len(row.cells) for row in grid.rows), default=0)
    sums = SUMS if any(row.total for row in grid.rows) else 8
    width, height = SIDE + columns * CELL + sums, HEAD + len(grid.rows) * CELL + 4
    body = "\n".join([*_words(grid, columns), *_rows(grid)])
    return Markup(
        f'<svg class="heatmap" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' role="img" aria-label="{escape(in_words(grid))}">\n{body}\n</svg>'
    )


def in_words(grid: Grid) -> str:
    """The grid as text for screen readers: every row with its weights."""
    rows = (
        f"{row.word}: "
        + " ".join(cell.text or f"{cell.shade:.0%}" for cell in row.cells)
        + (f", sum {row.total}" if row.total else "")
        for row in grid.rows
    )
    return f"{grid.title}. {'; '.join(rows)}"


def _words(grid: Grid, columns: int) -> Iterator[str]:
    for number, word in enumerate(grid.words[:columns]):
        x, y = SIDE + number * CELL + CELL / 2 - 4, HEAD - 6
        yield _text("word", x, y, word, f' transform="rotate(-38 {x:g} {y:g})"')


def _rows(grid: Grid) -> Iterator[str]:
    for number, row in enumerate(grid.rows):
        top = HEAD + number * CELL
        yield _text("word side", SIDE - 8, top + CELL / 2 + 5, row.word)
        for column, cell in enumerate(row.cells):
            yield from _cell(SIDE + column * CELL, top, cell)
        if row.total:
            told = f"Σ {row.total}" + (" ≠ 1" if not row.sums_to_one else "")
            kind = "sum" if row.sums_to_one else "sum odd"
            yield _text(kind, SIDE + len(row.cells) * CELL + 6, top + CELL / 2 + 5, told)


def _cell(x: float, y: float, cell: Cell) -> Iterator[str]:
    opacity = DARKEST * cell.shade**0.75
    yield _rect("shade", x + 1, y + 1, CELL - 2, f' fill-opacity="{opacity:.3f}"')
    if cell.mark:
        yield _rect(cell.mark, x + 2.5, y + 2.5, CELL - 5)
    if cell.mark == "leak":  # a filled corner besides the thick frame
        yield f'<path class="corner" d="M{x + CELL - 2:g} {y + 2:g}h-11l11 11z"/>'
    if cell.mark == "nan":
        size = CELL - 8
        yield f'<path class="struck" d="M{x + 4:g} {y + CELL - 4:g}l{size:g} {-size:g}"/>'
    if cell.text:
        yield _text("weight", x + CELL / 2, y + CELL / 2 + 5, cell.text)


def _text(kind: str, x: float, y: float, text: str, turned: str = "") -> str:
    """Any text, escaped; `turned` is an attribute with a blank before it, or nothing."""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}"{turned}>{escape(text)}</text>'


def _rect(kind: str, x: float, y: float, size: float, more: str = "") -> str:
    """A square; `more` is an attribute with a blank before it, or nothing."""
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{size:g}" height="{size:g}"{more}/>'
