"""The figures of the class page: right bars, the page's own colours, no script, the same bytes."""

from xml.etree import ElementTree

import pytest

from autograder.feedback.figures import criteria_figure, score_figure
from autograder.gradebook.item_analysis import Distribution, Item, distribution


def scores(*given: float) -> Distribution:
    found = distribution(list(given), 30.0)
    assert found is not None
    return found


def item(name: str, passed: float) -> Item:
    return Item("causal", name, "", 3.0, passed, passed, None)


def heights(svg: str) -> list[float]:
    """The bars' heights in their order, as shares of the highest."""
    bars = [float(each.get("height", "0")) for each in bars_of(svg)]
    return [round(bar / max(bars), 3) for bar in bars]


def bars_of(svg: str) -> list[ElementTree.Element]:
    tree = ElementTree.fromstring(svg)
    return [each for each in tree.iter("rect") if "reactive" in each.get("class", "")]


def test_bars_are_as_high_as_their_counts() -> None:
    svg = score_figure(scores(30, 30, 30, 30, 16, 16, 2))
    assert heights(svg) == [0.25, 0, 0, 0, 0, 0.5, 0, 0, 0, 1]


def test_bars_of_criteria_are_as_long_as_their_shares() -> None:
    svg = criteria_figure([item("masking", 0.5), item("softmax", 1.0), item("form", 0.0)])
    widths = [float(each.get("width", "0")) for each in bars_of(svg)]
    longest = max(widths)
    assert sorted(round(width / longest, 3) for width in widths) == [0, 0.5, 1]


def test_the_first_criterion_is_on_top() -> None:
    tree = ElementTree.fromstring(criteria_figure([item("first", 0.5), item("last", 0.5)]))
    places = {each.text: float(each.get("y", "0")) for each in tree.iter("text") if each.text}
    assert places["first"] < places["last"]


@pytest.mark.parametrize("figure", [score_figure(scores(1, 2)), criteria_figure([item("a", 1)])])
def test_it_brings_no_script_style_link_or_name(figure: str) -> None:
    tree = ElementTree.fromstring(figure)
    assert {each.tag for each in tree.iter()} <= {"svg", "g", "rect", "path", "text"}
    assert "http" not in figure.replace("http://www.w3.org", "")
    assert tree.get("role") == "img"
    assert all(each.get("id") is None and each.get("style") is None for each in tree.iter())


def test_it_is_told_to_who_cannot_see_it() -> None:
    told = ElementTree.fromstring(score_figure(scores(30))).get("aria-label")
    assert told == "1 submission, in tenths of the points: 0, 0, 0, 0, 0, 0, 0, 0, 0, 1"


def test_the_same_numbers_give_the_same_bytes() -> None:
    assert score_figure(scores(1, 2, 3)) == score_figure(scores(1, 2, 3))


def test_names_are_escaped() -> None:
    svg = criteria_figure([item("<script>&", 0.5)])
    assert "<script" not in svg
    texts = [each.text for each in ElementTree.fromstring(svg).iter("text")]
    assert "<script>&" in texts
