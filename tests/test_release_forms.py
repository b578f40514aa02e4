"""One definition, every form: what `autograder release` builds follows `assignment.toml`."""

import json
import os
import shutil
import stat
import sys
import zipfile
from pathlib import Path
from typing import Any

import nbformat
import pytest
from typer.testing import CliRunner
from typer.testing import Result as Outcome

from autograder.assignment.assignment import Assignment, load_assignment
from autograder.cli.main import app
from autograder.errors import InternalError
from autograder.release.built import drift
from autograder.release.lesson import lessons_of
from autograder.release.nbgrader import BEGIN, END, nbgrader_files
from autograder.release.otter import otter_files
from autograder.release.public_checks import checks_of
from autograder.results.criterion_keys import criteria_of
from tests.conftest import ASSIGNMENT, ROOT

CHANGES = (
    ('title = "No token looks at the tokens after it"\n', 'title = "Nobody peeks"\n'),
    ("points = 9\n", "points = 8\n"),
    ('{ name = "CausalAttention", points = 5 }', '{ name = "CausalAttention", points = 4 }'),
    ('title = "Dropout thins out the attention weights, in training only"\nsection = "dropout"\n'
     "points = 4\nshares = [\n    { name = \"CausalAttention\", points = 4 }",
     'title = "Dropout thins out the attention weights, in training only"\nsection = "dropout"\n'
     "points = 5\nshares = [\n    { name = \"CausalAttention\", points = 5 }"),
)  # fmt: skip


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A course of its own, outside of the checkout."""
    for folder in ("assignments", "solutions", "student_template"):
        shutil.copytree(
            ROOT / folder,
            tmp_path / "course" / folder,
            ignore=shutil.ignore_patterns("__pycache__", "nbgrader", "otter"),
        )
    return tmp_path / "course"


def changed(course: Path, *changes: tuple[str, str]) -> Assignment:
    """The course with some texts of its definition replaced."""
    file = course / "assignments" / "attention" / "assignment.toml"
    text = file.read_text("utf-8")
    for before, after in changes:
        assert text.count(before) >= 1, before
        text = text.replace(before, after, 1)
    file.write_text(text, "utf-8")
    return load_assignment(file)


def run(*arguments: object) -> Outcome:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def cells_of(path: Path) -> list[Any]:
    notebook: Any = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells: list[Any] = notebook.cells
    return cells


class TestTheCommittedForms:
    def test_nbgraders_sources_are_up_to_date(self) -> None:
        place = ASSIGNMENT.folder / "nbgrader"
        assert drift(nbgrader_files(ASSIGNMENT, place), place) == ()

    def test_otters_notebook_is_up_to_date(self) -> None:
        assert drift(otter_files(ASSIGNMENT), ASSIGNMENT.folder / "otter") == ()

    def test_drift_is_told_file_by_file(self, tmp_path: Path) -> None:
        (tmp_path / "a.ipynb").write_bytes(b"old")
        (tmp_path / "stale.ipynb").touch()
        assert drift({"a.ipynb": b"new", "b.ipynb": b""}, tmp_path) == (
            "a.ipynb is not what the solutions give",
            "b.ipynb is missing",
            "stale.ipynb is left over",
        )


class TestAChangedDefinition:
    def test_reaches_every_form(self, copied: Path, tmp_path: Path) -> None:
        changed(copied, *CHANGES)
        out = tmp_path / "out"
        outcome = run("release", "all", "--assignment", copied, "--out", out)
        assert outcome.exit_code == 0, outcome.output
        handout = (out / "template" / "handouts" / "3_causal.md").read_text("utf-8")
        assert "| [Nobody peeks](#masking) | 8 |" in handout
        source = out / "nbgrader" / "source" / "attention"
        marks = {
            cell.metadata.nbgrader.grade_id: cell
            for cell in cells_of(source / "3_causal.ipynb")
            if "nbgrader" in cell.metadata
        }
        assert marks["causal-masking"].metadata.nbgrader.points == 8
        assert marks["causal-masking"].source.startswith("# Nobody peeks: 8 points.")
        assert marks["causal-dropout"].metadata.nbgrader.points == 5
        told = "\n".join(cell.source for cell in cells_of(out / "otter" / "attention.ipynb"))
        assert "name: causal-masking\npoints: 8\n" in told
        assert "**Nobody peeks**: 8 points" in told
        with zipfile.ZipFile(out / "gradescope-attention.zip") as archive:
            (name,) = [each for each in archive.namelist() if each.endswith("assignment.toml")]
            assert b'title = "Nobody peeks"' in archive.read(name)

    def test_with_a_stage_less_every_form_has_a_stage_less(
        self, copied: Path, tmp_path: Path
    ) -> None:
        file = copied / "assignments" / "attention" / "assignment.toml"
        text = file.read_text("utf-8")
        head, *stages = text.split("[[stages]]\n")
        text = "[[stages]]\n".join([head.replace("points = 100", "points = 70"), *stages[:3]])
        text = text.replace(
            '    "projections", "split", "scores", "scaling", "masking", "softmax", "dropout",'
            ' "context",\n    "merge", "output",\n',
            '    "projections",\n',
        )
        file.write_text(text, "utf-8")
        out = tmp_path / "out"
        outcome = run("release", "all", "--assignment", copied, "--out", out)
        assert outcome.exit_code == 0, outcome.output
        source = out / "nbgrader" / "source" / "attention"
        assert sorted(path.stem for path in source.glob("*.ipynb")) == [
            "1_simplified",
            "2_trainable",
            "3_causal",
        ]
        assert "multi_head" not in (out / "otter" / "attention.ipynb").read_text("utf-8")
        with zipfile.ZipFile(out / "gradescope-attention.zip") as archive:
            assert not [name for name in archive.namelist() if name.endswith("4_multi_head.md")]

    def test_every_criterion_is_in_every_notebook_once(self) -> None:
        names = list(criteria_of(ASSIGNMENT))
        for files in (nbgrader_files(ASSIGNMENT, Path("nowhere")), otter_files(ASSIGNMENT)):
            found = [
                cell["id"].removesuffix("-test")
                for name, data in files.items()
                if name.endswith(".ipynb")
                for cell in json.loads(data)["cells"]
                if cell["cell_type"] == "code" and cell["id"].removesuffix("-test") in names
            ]
            assert found == names


class TestTheConfigurationOfNbgrader:
    def test_the_lines_join_what_a_course_has_already(self, tmp_path: Path) -> None:
        config = tmp_path / "nbgrader_config.py"
        config.write_text("c = get_config()\nc.CourseDirectory.course_id = 'nlp'\n")
        for _ in range(2):  # and are there once, however often they are built
            outcome = run("release", "nbgrader", "--out", tmp_path)
            assert outcome.exit_code == 0, outcome.output
        text = config.read_text("utf-8")
        assert text.startswith("c = get_config()\nc.CourseDirectory.course_id = 'nlp'\n")
        assert text.count(BEGIN) == text.count(END) == 1
        assert "c.OverwriteCells.add_missing_cells = True" in text

    def test_what_follows_them_is_kept(self, tmp_path: Path) -> None:
        config = tmp_path / "nbgrader_config.py"
        config.write_text(f"{BEGIN}old = 1\n{END}c.X.y = 1\n")
        run("release", "nbgrader", "--out", tmp_path)
        text = config.read_text("utf-8")
        assert text.endswith(f"{END}c.X.y = 1\n")
        assert "old" not in text

    def test_half_a_block_is_not_guessed_at(self, tmp_path: Path) -> None:
        (tmp_path / "nbgrader_config.py").write_text(f"{BEGIN}half\n")
        outcome = run("release", "nbgrader", "--out", tmp_path)
        assert outcome.exit_code == 2
        assert "a line is missing" in outcome.output

    def test_a_course_that_lies_elsewhere_is_named(self, copied: Path, tmp_path: Path) -> None:
        out = tmp_path / "elsewhere"
        run("release", "nbgrader", "--assignment", copied, "--out", out)
        folder = copied / "assignments" / "attention"
        text = (out / "nbgrader_config.py").read_text("utf-8")
        assert f"c.BehindTheWall.assignment = {str(folder)!r}\n" in text
        committed = ASSIGNMENT.folder / "nbgrader" / "nbgrader_config.py"
        assert "BehindTheWall.assignment" not in committed.read_text("utf-8")


class TestAnExtraThatIsMissing:
    @pytest.mark.parametrize(("module", "form"), [("nbgrader", "nbgrader"), ("otter", "otter")])
    @pytest.mark.parametrize("asked", ["alone", "all"])
    def test_is_named_in_one_line(
        self, module: str, form: str, asked: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setitem(sys.modules, module, None)
        outcome = run("release", form if asked == "alone" else "all", "--out", tmp_path / "out")
        assert outcome.exit_code == 3
        assert f"pip install 'attention-autograder[{form}]'" in outcome.output
        assert len(outcome.output.strip().splitlines()) == 1
        assert not (tmp_path / "out").exists()


class TestGradescopesBundle:
    def test_is_one_file_that_only_its_owner_may_read(self, tmp_path: Path) -> None:
        outcome = run("release", "gradescope", "--out", tmp_path)
        assert outcome.output.strip() == str(tmp_path / "gradescope-attention.zip")
        mode = stat.S_IMODE((tmp_path / "gradescope-attention.zip").stat().st_mode)
        assert mode == 0o600  # it holds the solutions, and the secret where there is one

    def test_goes_below_the_working_directory_where_no_place_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        run("release", "gradescope", "--assignment", ROOT)
        assert os.listdir(tmp_path / "build") == ["gradescope-attention.zip"]  # noqa: PTH208

    def test_a_level_that_there_is_not_is_wrong_use(self, tmp_path: Path) -> None:
        outcome = run("release", "gradescope", "--out", tmp_path, "--isolation", "moat")
        assert outcome.exit_code == 2


class TestTheLessons:
    def test_every_public_check_is_in_exactly_one_exercise(self) -> None:
        for lesson in lessons_of(ASSIGNMENT):
            written = [check.name for check in checks_of(ASSIGNMENT, lesson.stage)]
            placed = [check.name for each in lesson.exercises for check in each.checks]
            assert sorted(placed) == sorted(written)
            assert [each.name for each in lesson.exercises] == list(lesson.stage.names)

    def test_a_handout_is_whole_in_its_sections(self) -> None:
        for lesson in lessons_of(ASSIGNMENT):
            text = lesson.stage.handout.read_text("utf-8")
            assert "\n\n".join([*lesson.before, *lesson.after]).split() == text.split()
            assert len(lesson.before) > 5
            assert lesson.after

    def test_a_figure_of_a_handout_comes_along(self, copied: Path) -> None:
        folder = copied / "assignments" / "attention"
        (folder / "figures").mkdir(exist_ok=True)
        (folder / "figures" / "sample.svg").write_text("<svg/>")
        with (folder / "3_causal.md").open("a") as handout:
            handout.write("\n![A sample](figures/sample.svg)\n")
        files = nbgrader_files(load_assignment(folder), folder / "nbgrader")
        assert files["source/attention/figures/sample.svg"] == b"<svg/>"
        assert (
            b"    - figures/sample.svg" in otter_files(load_assignment(folder))["attention.ipynb"]
        )

    @pytest.mark.parametrize(
        ("line", "told"),
        [
            ("def test_x(tmp_path):\n    simplified.softmax(1)\n", "no fixture 'tmp_path'"),
            (
                "def test_x():\n    pytest.importorskip('x')\n    simplified.softmax(1)\n",
                "needs pyt",
            ),
            ("@pytest.mark.skip\ndef test_x():\n    simplified.softmax(1)\n", "only parametrize"),
            ("def test_x():\n    assert True\n", "tests no name"),
        ],
    )
    def test_a_check_that_notebooks_could_not_carry_is_refused(
        self, copied: Path, line: str, told: str
    ) -> None:
        with (copied / "student_template" / "tests" / "test_1_simplified.py").open("a") as file:
            file.write(f"\n\n{line}")
        with pytest.raises(InternalError, match=told):
            lessons_of(load_assignment(copied))
