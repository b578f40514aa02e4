"""`autograder.release.notebooks`: run in a kernel as a student runs them, with stubs and solved."""

import ast
import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

from autograder.assignment.assignment import Limits, Stage
from autograder.release import stubs
from autograder.release.notebooks import sources
from autograder.release.template import solution_lines
from autograder.submissions.submission import read_submission
from tests.conftest import ASSIGNMENT, ROOT

TEMPLATE = ROOT / "student_template"
STAGES = pytest.mark.parametrize("stage", ASSIGNMENT.stages, ids=lambda stage: stage.id)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A student's folder."""
    work = tmp_path / "work"
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(TEMPLATE, work, ignore=ignored)
    return work


def notebook_of(stage: Stage, folder: Path = TEMPLATE) -> NotebookNode:
    path = folder / "notebooks" / f"{stage.handout.stem}.ipynb"
    found: NotebookNode = nbformat.read(path, as_version=4)
    return found


def solved(stage: Stage, notebook: NotebookNode) -> NotebookNode:
    """The notebook with the solution in each cell that has a stub."""
    text = (ASSIGNMENT.solutions / f"{stage.module}.py").read_text("utf-8")
    written = {
        node.name: ast.get_source_segment(text, node)
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    for cell in notebook.cells:
        for name, source in written.items():
            if cell.cell_type == "code" and cell.source.startswith(
                (f"def {name}(", f"class {name}(")
            ):
                cell.source = source
    return notebook


def run(notebook: NotebookNode, folder: Path) -> NotebookNode:
    """Run all cells in a kernel; an exception in a cell fails the test."""
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder / "notebooks")}},
    )
    return client.execute()


def shown(notebook: NotebookNode, stage: Stage) -> tuple[str, str]:
    """What the check cell shows: as a page and as text."""
    cell = next(each for each in notebook.cells if each.source == f'check("{stage.id}")')
    (output,) = cell.outputs
    return output.data["text/html"], output.data["text/plain"]


@pytest.mark.parametrize(
    "stage",
    [
        pytest.param(stage, id=stage.id, marks=() if stage.id == "causal" else pytest.mark.proof)
        for stage in ASSIGNMENT.stages
    ],
)
class TestInAKernel:
    def test_with_stubs_every_cell_runs_and_nothing_passes(
        self, stage: Stage, folder: Path
    ) -> None:
        page, text = shown(run(notebook_of(stage), folder), stage)
        assert ": 0 of " in text
        assert "public checks; your grade also depends on hidden ones" in page
        assert "<svg" not in page
        for name in stage.names:
            assert f"<code>{name}</code>" in page

    def test_with_the_solution_put_in_all_checks_pass_and_weights_are_shown(
        self, stage: Stage, folder: Path
    ) -> None:
        for each in ASSIGNMENT.stages:  # stage 4 takes its heads from the folder
            shutil.copy(ASSIGNMENT.solutions / f"{each.module}.py", folder / "attention")
        page, text = shown(run(solved(stage, notebook_of(stage)), folder), stage)
        assert [line for line in text.splitlines() if line[:1] in "✗·"] == []
        assert text.count("✓") == len(stage.names)
        assert "<svg" in page
        assert "journey" in page


@STAGES
class TestWhatIsInThem:
    def test_every_name_has_a_cell_with_its_stub_and_one_cell_checks(self, stage: Stage) -> None:
        code = [cell.source for cell in notebook_of(stage).cells if cell.cell_type == "code"]
        for name in stage.names:
            (cell,) = (each for each in code if each.startswith((f"def {name}(", f"class {name}(")))
            assert "not written yet" in cell
        assert code.count(f'check("{stage.id}")') == 1

    def test_the_whole_handout_is_told_and_its_pictures_are_found(self, stage: Stage) -> None:
        told = sources((TEMPLATE / "notebooks" / f"{stage.handout.stem}.ipynb").read_text("utf-8"))
        for line in stage.handout.read_text("utf-8").splitlines():
            if line.startswith("## "):
                assert line in told
        pictures = [each.partition(")")[0] for each in told.split("](../handouts/figures/")[1:]]
        assert pictures
        for picture in pictures:
            assert (TEMPLATE / "handouts" / "figures" / picture).is_file()

    def test_no_line_of_a_solution_is_in_it(self, stage: Stage) -> None:
        told = sources((TEMPLATE / "notebooks" / f"{stage.handout.stem}.ipynb").read_text("utf-8"))
        assert stubs.leaks(told, solution_lines(ASSIGNMENT)) == ()


def test_the_graders_intake_reads_a_folder_with_notebooks(folder: Path) -> None:
    read = read_submission(folder, Limits())
    assert {file.path for file in read.files} >= {
        f"notebooks/{stage.handout.stem}.ipynb" for stage in ASSIGNMENT.stages
    }
