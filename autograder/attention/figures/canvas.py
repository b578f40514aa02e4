"""A small drawing surface that writes SVG, readable on light and on dark pages.

Coordinates are in pixels from the upper left corner. Colours are classes, so that one picture
serves both themes; whatever a colour says is said by a number or a word as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_STYLE = """\
.ground { fill: #ffffff } .ink { fill: #1c2733 } .faint { fill: #5b6876 }
.a { fill: #1f6fb2 } .b { fill: #b2601f } .c { fill: #2f8552 }
.edge { fill: none; stroke: #c2ccd6 } .arrow { stroke: #5b6876; stroke-width: 1.5; fill: none }
.tip { fill: #5b6876 } .strong { fill: #ffffff } .hatch { stroke: #9aa7b4 }
text { font: 13px system-ui, sans-serif } .small { font-size: 11.5px } .head { font-weight: 600 }
@media (prefers-color-scheme: dark) {
  .ground { fill: #10161d } .ink { fill: #e6edf3 } .faint { fill: #9aa7b4 }
  .a { fill: #58a9ec } .b { fill: #e3a15f } .c { fill: #6cc793 }
  .edge { stroke: #364451 } .arrow { stroke: #9aa7b4 } .tip { fill: #9aa7b4 }
  .strong { fill: #08131d } .hatch { stroke: #5b6876 }
}"""

CELL_WIDTH = 44
CELL_HEIGHT = 26
ROW = CELL_HEIGHT

# Over so much of a colour, text changes to the colour of the ground.
DEEP = 0.5


class Canvas:
    """One picture. `title` is its name for those who do not see it, `told` what it shows."""

    def __init__(self, width: int, height: int, title: str, told: str) -> None:
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
            f' width="{width}" height="{height}" role="img" aria-labelledby="title told">',
            f'<title id="title">{escape(title)}</title>',
            f'<desc id="told">{escape(told)}</desc>',
            f"<style>\n{_STYLE}\n</style>",
            '<pattern id="hatched" width="6" height="6" patternUnits="userSpaceOnUse"'
            ' patternTransform="rotate(45)"><line class="hatch" y2="6"/></pattern>',
            f'<rect class="ground" width="{width}" height="{height}" rx="8"/>',
        ]

    def svg(self) -> str:
        """The picture as text."""
        return "\n".join([*self._parts, "</svg>"]) + "\n"

    def text(
        self, x: float, y: float, words: str, style: str = "ink", anchor: str = "start"
    ) -> None:
        """Words with their baseline at `y`; `anchor` is start, middle or end."""
        self._parts.append(
            f'<text class="{style}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">'
            f"{escape(words)}</text>"
        )

    def cell(
        self,
        x: float,
        y: float,
        words: str,
        colour: str = "a",
        depth: float = 0.0,
        width: float = CELL_WIDTH,
        hatched: bool = False,
    ) -> None:
        """A box with words; `depth` from 0 to 1 is how much of its colour it has."""
        where = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{CELL_HEIGHT}"'
        if depth > 0:
            self._parts.append(f'<rect class="{colour}" {where} fill-opacity="{depth:.2f}"/>')
        if hatched:
            self._parts.append(f'<rect {where} fill="url(#hatched)"/>')
        self._parts.append(f'<rect class="edge" {where}/>')
        ink = "small strong" if depth > DEEP else "small ink"
        self.text(x + width / 2, y + CELL_HEIGHT / 2 + 4, words, ink, "middle")

    def bar(self, x: float, y: float, length: float, words: str, colour: str = "a") -> None:
        """A horizontal bar with its number behind it."""
        height = CELL_HEIGHT - 10
        self._parts.append(
            f'<rect class="{colour}" x="{x:g}" y="{y + 5:g}" width="{length:.1f}"'
            f' height="{height}" rx="2" fill-opacity="0.75"/>'
        )
        self.text(x + length + 6, y + CELL_HEIGHT / 2 + 4, words, "small ink")

    def arrow(self, x: float, y: float, to_x: float, to_y: float, words: str = "") -> None:
        """A straight arrow, with words above its middle."""
        self._parts.append(f'<path class="arrow" d="M{x:g} {y:g} L{to_x:g} {to_y:g}"/>')
        across, down = to_x - x, to_y - y
        length = (across**2 + down**2) ** 0.5
        u, v = across / length, down / length
        back_x, back_y = to_x - 8 * u, to_y - 8 * v
        corners = (
            f"{to_x:g},{to_y:g} {back_x - 4 * v:.1f},{back_y + 4 * u:.1f}"
            f" {back_x + 4 * v:.1f},{back_y - 4 * u:.1f}"
        )
        self._parts.append(f'<polygon class="tip" points="{corners}"/>')
        if words:
            self.text((x + to_x) / 2, (y + to_y) / 2 - 7, words, "small faint", "middle")

    def row_labels(self, x: float, y: float, labels: Sequence[str]) -> None:
        """Labels to the left of a matrix whose rows begin at `y`."""
        for number, label in enumerate(labels):
            self.text(x, y + number * ROW + CELL_HEIGHT / 2 + 4, label, "small faint", "end")

    def column_labels(
        self, x: float, y: float, labels: Sequence[str], width: float = CELL_WIDTH
    ) -> None:
        """Labels above a matrix that begins at `x` and `y`."""
        for number, label in enumerate(labels):
            self.text(x + (number + 0.5) * width, y - 6, label, "small faint", "middle")

    def matrix(
        self,
        x: float,
        y: float,
        rows: Sequence[Sequence[float]],
        colours: Sequence[str] = ("a",),
        deepest: float = 0.0,
        width: float = CELL_WIDTH,
    ) -> None:
        """Numbers in boxes.

        Args:
            x: Left edge of the first column.
            y: Upper edge of the first row.
            rows: The numbers.
            colours: Go over the columns in equal parts.
            deepest: The number that has all of its colour; where it is 0, all have a little.
            width: Of a column.
        """
        share = -(-len(rows[0]) // len(colours))
        for number, row in enumerate(rows):
            for column, value in enumerate(row):
                depth = min(value / deepest, 1.0) * 0.85 if deepest else 0.15
                words = "0" if value == 0 else f"{value:.2f}"
                colour = colours[column // share]
                self.cell(x + column * width, y + number * ROW, words, colour, depth, width)
