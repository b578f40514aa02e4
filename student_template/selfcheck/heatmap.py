"""A matrix of attention weights as an SVG picture. A terminal's own heatmap is in `screen`."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

CELL = 46
LABEL = 76
TOP = 58

# Over so much of the colour, a number changes to the colour of the ground.
DEEP = 0.6

# Readable on white and on black: the picture brings its own ground along. In a notebook a style
# holds for the whole page, hence the name in front.
_STYLE = """
  .weights .ground { fill: #ffffff } .weights .ink { fill: #1c2733 }
  .weights .faint { fill: #5b6876 } .weights .shade { fill: #1f6fb2 }
  .weights .grid { fill: none; stroke: #c9d2db } .weights .strong { fill: #ffffff }
  .weights text { font: 13px system-ui, sans-serif } .weights .number { font-size: 12px }
  @media (prefers-color-scheme: dark) {
    .weights .ground { fill: #10161d } .weights .ink { fill: #e6edf3 }
    .weights .faint { fill: #9aa7b4 } .weights .shade { fill: #4aa3e8 }
    .weights .grid { stroke: #33404d } .weights .strong { fill: #06121d }
  }
"""


def heatmap_svg(title: str, tokens: Sequence[str], rows: Sequence[Sequence[float]]) -> str:
    """The weights, a row for each query, a column for each key; darker means more.

    Every square also says its number, so that nothing hangs on colour.
    """
    size = len(tokens)
    width, height = LABEL + size * CELL + 16, TOP + size * CELL + 34
    parts = [
        f'<svg class="weights" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}" role="img">',
        f"<title>{escape(title)}: attention weights of {escape(' '.join(tokens))}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="ground" width="{width}" height="{height}" rx="8"/>',
        f'<text class="ink" x="12" y="20">{escape(title)}</text>',
    ]
    for column, token in enumerate(tokens):
        x = LABEL + column * CELL + CELL // 2
        parts.append(
            f'<text class="faint" x="{x}" y="{TOP - 10}" text-anchor="middle">'
            f"{escape(token)}</text>"
        )
    for number, (token, row) in enumerate(zip(tokens, rows, strict=True)):
        y = TOP + number * CELL
        middle = y + CELL // 2 + 4
        parts.append(
            f'<text class="faint" x="{LABEL - 10}" y="{middle}" text-anchor="end">'
            f"{escape(token)}</text>"
        )
        for column, weight in enumerate(row):
            x = LABEL + column * CELL
            parts += _cell(x, y, middle, weight)
    parts.append(
        f'<text class="faint" x="{LABEL}" y="{height - 12}">'
        "each row: what one query gives to every key</text>"
    )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _cell(x: int, y: int, middle: int, weight: float) -> list[str]:
    shade = min(max(weight, 0.0), 1.0) if weight == weight else 0.0  # nan is no shade
    ink = "strong" if shade > DEEP else "ink"
    square = f'x="{x}" y="{y}" width="{CELL}" height="{CELL}"'
    return [
        f'<rect class="shade" {square} fill-opacity="{shade:.3f}"/>',
        f'<rect class="grid" {square}/>',
        f'<text class="number {ink}" x="{x + CELL // 2}" y="{middle}" text-anchor="middle">'
        f"{weight_text(weight)}</text>",
    ]


def weight_text(weight: float) -> str:
    """A weight in four places at most; a hidden one is a plain 0."""
    return "0" if weight == 0 else f"{weight:.2f}"
