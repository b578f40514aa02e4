"""What `selfcheck` is made of: little, and nothing of the kit."""

import ast
import sys
from pathlib import Path

import pytest

from selfcheck.course import course
from tests.conftest import ASSIGNMENT, ROOT

TEMPLATE = ROOT / "student_template"
SOURCES = sorted((TEMPLATE / "selfcheck").rglob("*.py"))
NEEDED = {"torch", "pytest", "rich"}

EACH = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)


def imported(source: Path, everywhere: bool = True) -> set[str]:
    """The packages that a module imports; with `everywhere` also within functions."""
    module = ast.parse(source.read_text("utf-8"))
    found = set()
    for node in ast.walk(module) if everywhere else module.body:
        if isinstance(node, ast.Import):
            found |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add((node.module or "").partition(".")[0])
    return found


@EACH
def test_it_needs_torch_pytest_and_rich_alone(source: Path) -> None:
    assert imported(source) <= {*sys.stdlib_module_names, *NEEDED, "selfcheck"}


@EACH
def test_no_shell_is_called(source: Path) -> None:
    text = source.read_text("utf-8")
    assert "shell=" not in text
    assert "os.system" not in text


@pytest.mark.parametrize("name", ["__main__", "commands", "course", "hints", "stubs", "submit"])
def test_commands_that_run_no_check_import_neither_torch_nor_pytest(name: str) -> None:
    source = TEMPLATE / "selfcheck" / f"{name}.py"
    assert imported(source) & {"torch", "pytest"} == set()


def test_the_project_file_asks_for_what_is_needed() -> None:
    text = (TEMPLATE / "pyproject.toml").read_text("utf-8")
    assert all(f'"{name}>=' in text for name in NEEDED)
    assert "numpy" not in text


def test_the_course_is_that_of_the_assignment() -> None:
    assert [stage.id for stage in course().stages] == [stage.id for stage in ASSIGNMENT.stages]
    for told, stage in zip(course().stages, ASSIGNMENT.stages, strict=True):
        assert tuple(name.name for name in told.names) == stage.names
        assert (TEMPLATE / told.tests).is_file()
        assert (TEMPLATE / told.handout).is_file()
        assert told.stub == (TEMPLATE / told.file).read_text("utf-8")


@pytest.mark.parametrize("word", ["causal", "3", "masked_weights"])
def test_a_stage_is_found_by_id_number_or_name(word: str) -> None:
    assert course().stage(word).id == "causal"
