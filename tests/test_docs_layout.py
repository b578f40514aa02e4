"""Pages for developers name files and rooms that are there, and leave no room out."""

import re

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "autograder"
ROOMS = sorted(file.parent.name for file in PACKAGE.glob("*/__init__.py"))
PATH = re.compile(r"[\w.]+/(?:[\w.]+/)*(?:[\w.]+\.\w+)?|\w+\.py")


def section(page: str, heading: str) -> str:
    """The text under a heading, down to the next one."""
    text = (ROOT / page).read_text("utf-8")
    assert f"\n## {heading}\n" in text, f"{page} has no section {heading!r}"
    return text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def named(text: str) -> list[str]:
    """The paths in a text that stand in backticks."""
    return [each for each in re.findall(r"`([^`\n]+)`", text) if PATH.fullmatch(each)]


@pytest.mark.parametrize(
    ("page", "heading"),
    [
        ("docs/architecture.md", "A submission's way"),
        ("CONTRIBUTING.md", "How the code is laid out"),
    ],
)
def test_every_path_that_a_page_names_is_there(page: str, heading: str) -> None:
    paths = named(section(page, heading))
    assert len(paths) > 10
    lost = [each for each in paths if not any((top / each).exists() for top in (PACKAGE, ROOT))]
    assert lost == []


def test_the_figure_names_modules_that_are_there() -> None:
    figure = (ROOT / "docs" / "architecture.svg").read_text("utf-8")
    paths = [
        each
        for line in re.findall(r'class="module"[^>]*>([^<]+)<', figure)
        for each in line.split(", ")
    ]
    assert len(paths) > 10
    assert [each for each in paths if not (PACKAGE / each).exists()] == []


def test_the_figure_has_ten_steps_as_the_table_has() -> None:
    figure = (ROOT / "docs" / "architecture.svg").read_text("utf-8")
    table = section("docs/architecture.md", "A submission's way")
    numbers = [str(number) for number in range(1, 11)]
    assert re.findall(r'class="number"[^>]*>(\d+)<', figure) == numbers
    assert re.findall(r"^\| (\d+) \|", table, re.MULTILINE) == numbers


def test_the_page_lists_every_room() -> None:
    table = section("docs/architecture.md", "The rooms")
    assert sorted(re.findall(r"^\| `(\w+)/` \|", table, re.MULTILINE)) == ROOMS
