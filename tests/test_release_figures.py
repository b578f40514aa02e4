"""`autograder.attention.figures`: drawn from the worked example, readable in both themes."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from autograder.attention import worked_example
from autograder.attention.figures import FIGURES, figure_files
from autograder.errors import UsageError
from autograder.release.template import build_figures, figures_shown
from tests.conftest import ASSIGNMENT, ROOT

HANDOUTS = {stage.id: stage.handout.read_text("utf-8") for stage in ASSIGNMENT.stages}
EACH = pytest.mark.parametrize("name", FIGURES)


def texts(svg: str) -> list[str]:
    """What is written in a picture."""
    return [
        each.text or "" for each in ElementTree.fromstring(svg).iter() if each.tag[-4:] == "text"
    ]


def test_the_committed_figures_are_what_drawing_gives() -> None:
    committed = {
        path.relative_to(ASSIGNMENT.folder).as_posix(): path.read_text("utf-8")
        for path in (ASSIGNMENT.folder / "figures").iterdir()
    }
    assert committed == figures_shown(ASSIGNMENT)


def test_every_figure_is_shown_in_a_handout() -> None:
    assert {*figures_shown(ASSIGNMENT)} == {f"figures/{name}" for name in figure_files()}


@EACH
def test_a_figure_names_itself_for_those_who_do_not_see_it(name: str) -> None:
    root = ElementTree.fromstring(FIGURES[name]())
    told = {each.tag.rpartition("}")[2]: each.text or "" for each in root}
    assert len(told["title"].split()) >= 2
    assert len(told["desc"].split()) > 10


@EACH
def test_a_figure_has_a_ground_and_colours_for_both_themes(name: str) -> None:
    svg = FIGURES[name]()
    light, dark = svg.partition("</style>")[0].split("@media (prefers-color-scheme: dark)")
    for style in ("ground", "ink", "faint", "a", "b", "c", "strong"):
        found = [re.search(rf"\.{style} {{ fill: (#\w+)", each) for each in (light, dark)]
        assert all(found)
        assert len({each.group(1) for each in found if each}) == 2
    assert svg.count('class="ground"') == 1


@EACH
def test_nothing_is_drawn_outside_a_figure(name: str) -> None:
    root = ElementTree.fromstring(FIGURES[name]())
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for each in root.iter():
        x, y = float(each.get("x", 0)), float(each.get("y", 0))
        if each.tag.endswith("rect"):
            x, y = x + float(each.attrib["width"]), y + float(each.attrib["height"])
        assert 0 <= x <= width
        assert 0 <= y <= height


@pytest.mark.parametrize(
    ("name", "stage", "numbers"),
    [
        ("scores_to_context", "simplified", "0.9544 1.4950 0.1385 0.2379 0.4419 0.6515 0.5683"),
        ("query_key_value", "trainable", "1.2705 1.8524 0.1500 0.2264 0.3061 0.8210"),
    ],
)
def test_the_numbers_are_those_of_the_handout(name: str, stage: str, numbers: str) -> None:
    drawn = texts(FIGURES[name]())
    for number in numbers.split():
        assert number in drawn
        assert number in HANDOUTS[stage]


def test_the_mask_shows_the_weights_of_the_handouts_table() -> None:
    drawn = texts(FIGURES["mask"]())
    assert drawn.count("−∞") == 15
    assert drawn.count("0") == 15
    rows = re.findall(
        r"^\| (?:Your|journey|starts|with|one|step) \| ([01].*, .*) \|$",
        HANDOUTS["causal"].partition("weights of keys 1 to 6")[2],
        re.MULTILINE,
    )[:6]
    weights = [f"{float(each):.2f}" for row in rows for each in row.split(", ") if each != "0"]
    assert len(weights) == 21
    assert {*weights} <= {*drawn}


def test_dropout_shows_zeros_and_doubled_weights_and_both_kinds() -> None:
    drawn = texts(FIGURES["dropout"]())
    assert "0.55" in drawn
    assert drawn.count("0") > 2 * 15
    assert "0.90" in drawn  # 0.4483 doubled


def test_the_inputs_are_those_of_the_handout_and_of_the_public_checks() -> None:
    checks = (ROOT / "student_template" / "tests" / "conftest.py").read_text("utf-8")
    for token, row in zip(worked_example.TOKENS, worked_example.INPUTS, strict=True):
        told = ", ".join(f"{number:.2f}" for number in row)
        assert f"| {token} | {told} |" in HANDOUTS["simplified"]
        assert f"[{told}]" in checks


def test_a_picture_that_nobody_draws_is_asked_about(tmp_path: Path) -> None:
    import msgspec

    stage = ASSIGNMENT.stages[0]
    handout = tmp_path / "1.md"
    handout.write_text("![a dog](figures/dog.svg)", "utf-8")
    changed = msgspec.structs.replace(stage, handout=handout)
    with pytest.raises(UsageError, match=r"1\.md shows figures/dog\.svg, which the kit does not"):
        figures_shown(msgspec.structs.replace(ASSIGNMENT, stages=(changed,)))


def test_building_writes_them_beside_the_handouts(tmp_path: Path) -> None:
    import msgspec

    elsewhere = msgspec.structs.replace(ASSIGNMENT, folder=tmp_path)
    built = build_figures(elsewhere)
    assert {path.name for path in built} == {*figure_files()}
    assert all(path.parent == tmp_path / "figures" for path in built)
