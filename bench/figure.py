"""`python -m bench.figure`: draw what a class costs by its size, from results/bench.json.

The figure stands in docs/bench.md; it is drawn anew after `make bench`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

import msgspec
import pygal
from pygal.style import Style

from bench.classroom import ROOT
from bench.table import Bench, Row

RESULT = ROOT / "results" / "bench.json"
FIGURE = ROOT / "docs" / "bench-sizes.svg"
_SIZE = re.compile(r"class of (\d+), ")


def measured(rows: Sequence[Row], unit: str) -> dict[int, float]:
    """The values of one unit by class size, in ms or MB."""
    found = {}
    for row in rows:
        size = _SIZE.match(row.what)
        if row.part == "sizes" and row.unit == unit and size is not None:
            found[int(size.group(1))] = row.value * (1000 if unit == "ms" else 1)
    return dict(sorted(found.items()))


def figure(rows: Sequence[Row]) -> str:
    """Two lines over the class size: ms a submission, and MB of everything, as an SVG.

    Raises `ValueError` where the sizes were not measured.
    """
    seconds, memory = measured(rows, "ms"), measured(rows, "MB")
    if not seconds:
        raise ValueError("no class sizes were measured: make bench BENCH='--only sizes'")
    chart = pygal.Line(
        style=Style(background="#ffffff", plot_background="#ffffff", colors=("#0b62a4", "#b3541e")),
        js=[],
        width=720,
        height=320,
        margin_right=60,  # the last values stand beside their points
        x_title="submissions in the class",
        legend_at_bottom=True,
        print_values=True,
        min_scale=4,
        range=(0, 1.2 * max(*seconds.values(), *memory.values())),
        disable_xml_declaration=True,
        value_formatter=lambda value: f"{value:.0f}",
    )
    chart.x_labels = [f"{size:,}" for size in seconds]
    chart.add("milliseconds a submission", list(seconds.values()))
    chart.add("MB of memory, all processes", list(memory.values()))
    return without_chance(chart.render(is_unicode=True))


def without_chance(svg: str) -> str:
    """The same figure under a fixed name, without scripts: pygal draws a random name each time."""
    names = set(re.findall(r"chart-([0-9a-f-]{36})", svg))
    for name in names:
        svg = svg.replace(name, "sizes")
    return re.sub(r"<script.*?</script>", "", svg, flags=re.DOTALL) + "\n"


def main() -> None:
    """Draw it."""
    bench = msgspec.json.decode(RESULT.read_bytes(), type=Bench)
    try:
        FIGURE.write_text(figure(bench.rows), "utf-8")
    except ValueError as error:
        sys.exit(f"bench.figure: {error}")
    print(FIGURE)


if __name__ == "__main__":
    main()
