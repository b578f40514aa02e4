"""Heatmaps for a terminal: blocks in four shades, each with its weight and its mark."""

from __future__ import annotations

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from autograder.feedback.heatmap import Cell, Grid, Mark, Row, caption, grids, remarks
from autograder.feedback.plain import one_line
from autograder.results.details import AttentionSeen

SHADES = " ░▒▓█"
MARKS: dict[Mark, str] = {"": " ", "leak": "!", "nan": "?", "differs": "*"}
SIGNS = {"leak": "!", "nan": "?", "differs": "*", "sum": "≠"}


def attention_blocks(seen: AttentionSeen, *, numbers: bool) -> RenderableType:
    """One name's attention, head by head, found beside expected if the width allows it."""
    parts: list[RenderableType] = [Text(one_line(caption(seen)).replace("`", ""), "bold")]
    heads = grids(seen, numbers=numbers)
    for found, expected in heads:
        both = Columns([_grid(found), _grid(expected)], padding=(0, 2))
        parts.append(Padding(both, (0, 0, 1, 0)))
    parts += [Text(f"  {SIGNS[remark.mark]}  {remark.text}") for remark in remarks(heads)]
    return Group(*parts)


def _grid(grid: Grid) -> Text:
    margin = max((len(row.word) for row in grid.rows), default=0)
    width = max((len(cell.text) for row in grid.rows for cell in row.cells), default=0)
    lines = [Text(grid.title, "dim"), *(_row(row, margin, width) for row in grid.rows)]
    return Text("\n", no_wrap=True).join(lines)


def _row(row: Row, margin: int, width: int) -> Text:
    line = Text(f"{row.word:>{margin}} ", no_wrap=True)
    for cell in row.cells:
        line.append_text(_cell(cell, width))
    if row.total:
        told = f" Σ {row.total}" + (" ≠ 1" if not row.sums_to_one else "")
        line.append(told, "" if row.sums_to_one else "red")
    return line


def _cell(cell: Cell, width: int) -> Text:
    """A block and the weight, or two blocks if no weight is shown."""
    block = SHADES[round(cell.shade * (len(SHADES) - 1))]
    style = "red" if cell.mark in ("leak", "nan") else ""
    text = f"{cell.text:>{width}}" if width > 1 else cell.text or block
    return Text.assemble(block, (text + MARKS[cell.mark], style))
