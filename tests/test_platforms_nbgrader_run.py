"""What one `nbgrader autograde` does once, begins ahead, or leaves out, and when it does not."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from nbconvert.exporters import Exporter
from nbformat import NotebookNode, v4
from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import CheckCellMetadata, OverwriteCells
from traitlets.config import Config

from autograder.assignment.secret import VARIABLE
from autograder.platforms import nbgrader_run
from autograder.platforms.nbgrader import (
    BehindTheWall,
    CheckChanged,
    OverwriteChanged,
    RestoreCells,
    are_released,
)
from autograder.platforms.nbgrader_run import Released, Run, next_submitted, run_of
from autograder.platforms.warm import unreadable
from autograder.results.result import Result
from tests.conftest import ASSIGNMENT


class Converter:
    """What a preprocessor sees of nbgrader's `Autograde`, two levels above it."""

    def __init__(self, root: Path, students: list[str], *, force: bool = False) -> None:
        self.coursedir = CourseDirectory(config=Config({"CourseDirectory": {"root": str(root)}}))
        self.force = force
        self.assignments = {}
        for student in students:
            place = root / "submitted" / student / "attention"
            place.mkdir(parents=True)
            self.assignments[str(place)] = [str(place / "1_simplified.ipynb")]


def following(converter: Converter, student: str) -> str | None:
    """The name of the one who comes after a student, and that the folder is that one's."""
    preprocessor = SimpleNamespace(parent=SimpleNamespace(parent=converter))
    found = next_submitted(preprocessor, {"student": student, "assignment": "attention"})
    if found is None:
        return None
    assert found[0].parent.name == found[1]
    return found[1]


class TestWhoComesNext:
    def test_is_the_next_by_name(self, tmp_path: Path) -> None:
        converter = Converter(tmp_path, ["cem", "ada", "ben"])
        assert [following(converter, each) for each in ("ada", "ben", "cem")] == [
            "ben",
            "cem",
            None,
        ]

    def test_is_nobody_whom_nbgrader_passes_over(self, tmp_path: Path) -> None:
        converter = Converter(tmp_path, ["ada", "ben", "cem", "dai"])
        (tmp_path / "autograded" / "ben" / "attention").mkdir(parents=True)
        converter.coursedir.student_id_exclude = "cem"
        assert following(converter, "ada") == "dai"

    def test_may_be_somebody_graded_before_where_everybody_is_graded_again(
        self, tmp_path: Path
    ) -> None:
        converter = Converter(tmp_path, ["ada", "ben"], force=True)
        (tmp_path / "autograded" / "ben" / "attention").mkdir(parents=True)
        assert following(converter, "ada") == "ben"

    def test_is_not_told_by_a_preprocessor_that_is_used_alone(self) -> None:
        alone = SimpleNamespace(parent=None, config=Config())
        assert next_submitted(alone, {"student": "ada", "assignment": "attention"}) is None


class FakeJudge:
    """Writes down what it is asked."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.graded: list[str] = []

    def begin(self, place: Path, name: str) -> None:
        self.begun.append(name)

    def grade(self, place: Path, name: str) -> Result:
        self.graded.append(name)
        return unreadable(ASSIGNMENT, name, "")


@dataclass
class Course:
    """A gradebook with one notebook of the kit's and one of another kind."""

    db_url: str

    def told(self, notebook: str = "ours") -> dict[str, str]:
        return {
            "db_url": self.db_url,
            "assignment": "attention",
            "notebook": notebook,
            "student": "ada",
        }


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Course:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")  # alembic
    course = Course(f"sqlite:///{tmp_path}/gradebook.db")
    with Gradebook(course.db_url) as gradebook:
        gradebook.add_assignment("attention")
        for notebook, name in (("ours", "causal-masking"), ("other", "own-test")):
            gradebook.add_notebook(notebook, "attention")
            of = {"notebook": notebook, "assignment": "attention"}
            gradebook.add_grade_cell(name, **of, max_score=9, cell_type="code")
            gradebook.add_source_cell(
                name, **of, cell_type="code", source="1", checksum="a", locked=False
            )
    return course


class TestARun:
    def test_knows_the_kits_notebooks_from_the_gradebook(self, course: Course) -> None:
        run = Run(ASSIGNMENT, "")
        ours = run.released(course.told())
        assert ours is not None
        assert ours.points == {"causal-masking": 9.0}
        assert [cell.metadata.nbgrader.points for cell in ours.cells] == [9.0]
        assert run.released(course.told("other")) is None
        assert set(run.notebooks(course.told())) == {"ours", "other"}

    def test_grades_a_folder_once_for_all_its_notebooks(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        judge = FakeJudge()
        run = Run(ASSIGNMENT, "")
        monkeypatch.setattr(run, "_judge", judge)
        for student in ("ada", "ben"):
            for _ in range(4):
                run.begin(Path(student), student)
                run.grade(Path(student), student)
        assert judge.begun == judge.graded == ["ada", "ben"]

    def test_is_one_for_all_preprocessors_of_an_exporter(self) -> None:
        first, second = Exporter(), Exporter()

        def of(exporter: Exporter | None) -> Run:
            return run_of(SimpleNamespace(parent=exporter, config=Config()))

        assert of(first) is of(first)
        assert of(first) is not of(second)
        assert of(None) is not of(None)

    def test_asks_another_judge_once_the_secret_has_changed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(nbgrader_run, "_judges", {})
        secret = tmp_path / "secret"
        monkeypatch.setenv(VARIABLE, str(secret))
        judges = []
        for text in ("the secret of one year", "the secret of one year", "that of the next one"):
            secret.write_text(text)
            secret.chmod(0o600)
            judges.append(Run(ASSIGNMENT, "")._started())
        assert judges[0] is judges[1]
        assert judges[1] is not judges[2]


class TestTheWorker:
    """What the preprocessors ask of it, and when."""

    @pytest.fixture
    def asked(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
        asked: list[str] = []

        class Watched(Run):
            def begin(self, place: Path, student: str) -> None:
                asked.append(f"begin {student}")

            def grade(self, place: Path, student: str) -> Result:
                asked.append(f"grade {student}")
                return unreadable(ASSIGNMENT, student, "")

            def released(self, told: object) -> Released:
                return Released((), {}, None)

            def notebooks(self, told: object) -> tuple[str, ...]:
                return ()

        run = Watched(ASSIGNMENT, "")
        converter = Converter(tmp_path, ["ada", "ben"])
        for name, value in {
            "run_of": lambda preprocessor: run,
            "submitted": lambda preprocessor, told: tmp_path,
            "next_submitted": lambda preprocessor, told: next_submitted(
                SimpleNamespace(parent=SimpleNamespace(parent=converter)), told
            ),
        }.items():
            monkeypatch.setattr(f"autograder.platforms.nbgrader.{name}", value)
        return asked

    TOLD: ClassVar = {"nbgrader": {"student": "ada", "assignment": "attention"}}

    def test_begins_with_the_first_step_and_with_the_next_student_once_one_is_done(
        self, asked: list[str]
    ) -> None:
        RestoreCells().preprocess(v4.new_notebook(), self.TOLD)
        assert asked == ["begin ada"]
        BehindTheWall().preprocess(v4.new_notebook(), self.TOLD)
        assert asked == ["begin ada", "grade ada", "begin ben"]

    def test_is_left_alone_where_nbgrader_was_told_to_run_nothing(self, asked: list[str]) -> None:
        exporter = Exporter(config=Config({"Execute": {"enabled": False}}))
        RestoreCells(parent=exporter).preprocess(v4.new_notebook(), self.TOLD)
        assert asked == []


def released_cells() -> list[NotebookNode]:
    """An answer, a criterion's cell and a text without marks."""
    return [
        v4.new_markdown_cell("Read this."),
        marked("softmax", solution=True),
        marked("simplified-softmax", grade=True, locked=True, points=5.0),
    ]


def marked(name: str, **more: Any) -> NotebookNode:
    marks = {
        "schema_version": 3,
        "grade_id": name,
        "grade": False,
        "solution": False,
        "locked": False,
        "task": False,
        "cell_type": "code",
        "checksum": "a",
    }
    cell: NotebookNode = v4.new_code_cell(f"# {name}", metadata={"nbgrader": marks | more})
    return cell


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> Released:
    """A notebook that every run knows."""
    cells = tuple(cell for cell in released_cells() if "nbgrader" in cell.metadata)
    released = Released(cells, {"simplified-softmax": 5.0}, None)
    run = SimpleNamespace(released=lambda told: released)
    monkeypatch.setattr("autograder.platforms.nbgrader.run_of", lambda preprocessor: run)
    return released


def as_text(cell: NotebookNode) -> NotebookNode:
    text: NotebookNode = v4.new_raw_cell(cell.source, metadata=cell.metadata)
    return text


DISORDER: dict[str, Any] = {
    "deleted": lambda cells: cells.pop(),
    "duplicated": lambda cells: cells.append(released_cells()[2]),
    "retyped": lambda cells: cells.append(as_text(cells.pop())),
    "worth more": lambda cells: cells[2].metadata.nbgrader.update(points=50.0),
    "rewritten": lambda cells: cells[2].update(source="5.0"),
    "unlocked": lambda cells: cells[2].metadata.nbgrader.update(locked=False),
    "renamed": lambda cells: cells[1].metadata.nbgrader.update(grade_id="another"),
}


class TestAStepOfNbgraders:
    @pytest.mark.parametrize(
        ("ours", "theirs"), [(OverwriteChanged, OverwriteCells), (CheckChanged, CheckCellMetadata)]
    )
    @pytest.mark.parametrize("kind", [None, *DISORDER])
    def test_is_left_out_only_for_cells_that_it_found_in_order_before(
        self,
        released: Released,
        ours: Any,
        theirs: Any,
        kind: str | None,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        looked_at: list[NotebookNode] = []

        def look(self: Any, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
            looked_at.append(nb)
            return nb, resources

        monkeypatch.setattr(theirs, "preprocess", look)
        for _ in range(3):
            ours().preprocess(v4.new_notebook(cells=released_cells()), {"nbgrader": {}})
        assert len(looked_at) == 1
        cells = released_cells()
        cells[1].source = "# another answer"
        if kind is not None:
            DISORDER[kind](cells)
        ours().preprocess(v4.new_notebook(cells=cells), {"nbgrader": {}})
        assert len(looked_at) == (1 if kind is None else 2)

    def test_that_finds_fault_is_never_left_out(
        self, released: Released, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(self: Any, nb: NotebookNode, resources: Any) -> None:
            raise ValueError("not in order")

        monkeypatch.setattr(CheckCellMetadata, "preprocess", refuse)
        for _ in range(2):
            with pytest.raises(ValueError, match="not in order"):
                CheckChanged().preprocess(v4.new_notebook(cells=released_cells()), {"nbgrader": {}})

    def test_knows_cells_by_their_marks_and_not_by_their_place(self, released: Released) -> None:
        assert are_released([*reversed(released_cells()), v4.new_code_cell("own")], released)
