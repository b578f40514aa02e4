"""The figures of the class page, drawn by pygal as inline SVG.

pygal is pure Python and small. matplotlib, installed beside torch, would be loaded by students'
notebooks that import it, and slow them down. pygal's scripts, styles, comments and random names are
removed: the page has one style, and the same class gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup

from autograder.gradebook.item_analysis import BINS, Distribution, Item

WIDTH = 330  # of a figure of scores
BROAD = 480  # of a figure of criteria
HEIGHT = 180
BAR = 26  # the height of a criterion's bar with its gap

_XML = "{http://www.w3.org/2000/svg}"
#: What only pygal's own script would need: texts of tooltips, areas that catch the mouse.
_UNUSED = ("title", "desc", "script", "style", "defs")


def score_figure(scores: Distribution) -> Markup:
    """How many submissions lie in each tenth of the points."""
    import pygal  # only a class page needs it

    step = scores.max_score / BINS
    chart = pygal.Bar(
        width=WIDTH,
        height=HEIGHT,
        spacing=4,
        y_labels=_counts(max(scores.bins)),
        x_title="points",
        print_values=True,
        margin=4,
        margin_right=24,
        **_plain(),
    )
    chart.x_labels = [
        f"{number * step:g}–{(number + 1) * step:g}" if number % 3 == 0 else ""
        for number in range(BINS)
    ]
    chart.add(None, list(scores.bins), formatter=lambda count: f"{count}" if count else "")
    return _svg(chart, f"{_told(scores)}, in tenths of the points: {_listed(scores.bins)}")


def criteria_figure(items: Sequence[Item]) -> Markup:
    """For each criterion of a stage the share of submissions that kept all of its points."""
    import pygal

    chart = pygal.HorizontalBar(
        width=BROAD,
        height=BAR * len(items) + 60,
        spacing=8,
        range=(0, 100),
        y_labels=[0, 25, 50, 75, 100],
        print_values=True,
        value_formatter=lambda share: f"{share:.0f}%",
        margin=4,
        margin_right=24,
        **_plain(),
    )
    backwards = list(reversed(items))  # pygal counts from below
    chart.x_labels = [item.criterion for item in backwards]
    chart.add(None, [100 * item.passed for item in backwards])
    told = ", ".join(f"{item.criterion} {item.passed:.0%}" for item in items)
    return _svg(chart, f"Share of submissions with all points: {told}")


def _plain() -> dict[str, Any]:
    """Settings of a chart that takes its colours from the page and needs no script."""
    from pygal.style import Style

    return {
        "style": Style(label_font_size=12, major_label_font_size=12, value_font_size=12),
        "show_legend": False,
        "js": [],
        "disable_xml_declaration": True,
        "explicit_size": True,
        "no_prefix": True,
        "print_zeroes": True,
        "rounded_bars": 2,
        "truncate_label": 60,
    }


def _counts(most: int) -> list[int]:
    """A few whole numbers from 0 to at least `most`."""
    step = max(1, -(-most // 4))
    return list(range(0, most + step, step))


def _told(scores: Distribution) -> str:
    return f"{scores.count} submission{'s' if scores.count != 1 else ''}"


def _listed(bins: Sequence[int]) -> str:
    return ", ".join(map(str, bins))


def _svg(chart: Any, label: str) -> Markup:
    """A chart as an `<svg>` element with a label for screen readers."""
    tree = ElementTree.fromstring(chart.render())
    for parent in list(tree.iter()):
        for child in list(parent):
            if child.tag.removeprefix(_XML) in _UNUSED or child.get("class") in (
                "tooltip",
                "tooltip-overlay",
            ):
                parent.remove(child)
    tree.attrib.pop("id", None)
    tree.attrib.update({"role": "img", "aria-label": label, "class": "chart"})
    for element in tree.iter():
        element.tag = element.tag.removeprefix(_XML)
    text = ElementTree.tostring(tree, encoding="unicode", short_empty_elements=False)
    return Markup(text)  # ElementTree has escaped it
