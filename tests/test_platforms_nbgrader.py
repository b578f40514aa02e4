"""nbgrader's own commands on a class of ten, from the released notebooks to the exported grades."""

import csv
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec
import pytest
from nbformat import v4
from nbgrader.api import Gradebook

from autograder.errors import UsageError
from autograder.platforms.nbgrader import check_points, fill, is_explained
from autograder.platforms.warm import unreadable
from autograder.release import stubs
from autograder.release.nbgrader import nbgrader_files
from autograder.release.template import solution_lines
from autograder.results.criterion_keys import criteria_of, results_of
from autograder.results.result import Result, decode_result
from tests.conftest import ASSIGNMENT, ROOT
from tests.notebooks import notebook_class

CRITERIA = criteria_of(ASSIGNMENT)
BIN = Path(sys.executable).parent
DUE = datetime(2030, 1, 10)
LATE = "\nfrom nbgrader.plugins import LateSubmissionPlugin\n" + (
    "c.AssignLatePenalties.plugin_class = LateSubmissionPlugin\n"
    'c.LateSubmissionPlugin.penalty_method = "zero"\n'
)


@dataclass(frozen=True)
class Course:
    """A course's folder and what its commands are run with."""

    root: Path

    @property
    def db_url(self) -> str:
        return f"sqlite:///{self.root}/gradebook.db"

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """One command in the course's folder; nbgrader calls alembic by name."""
        home = self.root / "home"
        home.mkdir(exist_ok=True)
        return subprocess.run(
            command,
            cwd=self.root,
            env={
                **os.environ,
                "PATH": f"{BIN}:{os.environ['PATH']}",
                "HOME": str(home),
                "JUPYTER_CONFIG_DIR": str(home / "jupyter"),
                "IPYTHONDIR": str(home / "ipython"),
            },
            capture_output=True,
            text=True,
        )

    def must(self, *command: str) -> str:
        """A command that has to succeed; all that it said."""
        ended = self.run(*command)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout + ended.stderr

    def scores(self, student: str) -> dict[str, float | None]:
        """Every criterion's automatic score, by the criterion's name."""
        with Gradebook(self.db_url) as gradebook:
            submission = gradebook.find_submission("attention", student)
            return {
                grade.name: grade.auto_score
                for notebook in submission.notebooks
                for grade in notebook.grades
                if grade.name in CRITERIA
            }


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """The committed source notebooks, taken through `generate_assignment`."""
    course = Course(notebook_class.small_course(tmp_path_factory.mktemp("course")) / "nbgrader")
    with (course.root / "nbgrader_config.py").open("a") as config:
        config.write(LATE)
    course.must("nbgrader", "generate_assignment", "attention")
    return course


@pytest.fixture(scope="module")
def notebooks(released: Course) -> dict[str, notebook_class.Notebook]:
    folder = released.root / "release" / "attention"
    return {
        path.stem: json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.ipynb"))
    }


@pytest.fixture(scope="module")
def graded(released: Course, notebooks: dict[str, notebook_class.Notebook]) -> Course:
    """The class handed in and autograded, by one command."""
    for student, work in notebook_class.nbgrader_class(notebooks).items():
        for stem, notebook in work.items():
            place = released.root / "submitted" / student / "attention"
            notebook_class.write(notebook, place / f"{stem}.ipynb")
    late = released.root / "submitted" / "ben" / "attention" / "timestamp.txt"
    late.write_text("2030-01-12 10:00:00.000000 UTC")
    with Gradebook(released.db_url) as gradebook:
        gradebook.update_or_create_assignment("attention", duedate=DUE)
    released.must("nbgrader", "autograde", "attention")
    return released


@pytest.fixture(scope="module")
def expected(graded: Course, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    """What `autograder grade` says of the same folders."""
    base = tmp_path_factory.mktemp("grade")
    for student in sorted((graded.root / "submitted").iterdir()):
        shutil.copytree(student / "attention", base / "class" / student.name)
    graded.must(
        *(str(BIN / "autograder"), "grade", str(base / "class"), "--out", str(base / "out")),
        *("--assignment", str(graded.root.parent)),
    )
    return {
        path.parent.name: decode_result(path.read_bytes())
        for path in (base / "out" / "students").glob("*/result.json")
    }


@pytest.fixture(scope="module")
def pages(graded: Course) -> dict[str, str]:
    graded.must("nbgrader", "generate_feedback", "attention", "--student=hal")
    folder = graded.root / "feedback" / "hal" / "attention"
    return {path.stem: path.read_text("utf-8") for path in folder.glob("*.html")}


@pytest.mark.proof
class TestTheReleasedNotebooks:
    def test_building_the_sources_again_changes_nothing(self) -> None:
        place = ASSIGNMENT.folder / "nbgrader"
        for name, data in nbgrader_files(ASSIGNMENT, place).items():
            assert (place / name).read_bytes() == data, name

    def test_they_give_no_solution_away(self, released: Course) -> None:
        secrets = solution_lines(ASSIGNMENT)
        for path in (released.root / "release").rglob("*.ipynb"):
            cells = json.loads(path.read_text("utf-8"))["cells"]
            text = "\n".join("".join(cell["source"]) for cell in cells)
            assert stubs.leaks(text, secrets) == ()
            assert "YOUR CODE HERE" in text

    def test_they_have_one_notebook_a_stage_worth_its_points(self, released: Course) -> None:
        with Gradebook(released.db_url) as gradebook:
            found = {
                notebook.name: notebook.max_score
                for notebook in gradebook.find_assignment("attention").notebooks
            }
        assert found == {stage.handout.stem: stage.points for stage in ASSIGNMENT.stages}

    def test_a_grade_cell_names_its_criterion_and_asks_nothing(self, released: Course) -> None:
        with Gradebook(released.db_url) as gradebook:
            for notebook in gradebook.find_assignment("attention").notebooks:
                sources = {cell.name: cell.source for cell in notebook.source_cells}
                for cell in notebook.grade_cells:
                    if cell.name in CRITERIA:
                        _, criterion = CRITERIA[cell.name]
                        assert sources[cell.name].startswith(f"# {criterion.title}: ")
                        assert "assert" not in sources[cell.name]

    def test_validate_finds_the_public_checks_of_unwritten_work(self, released: Course) -> None:
        told = released.run("nbgrader", "validate", "release/attention/1_simplified.ipynb")
        assert "VALIDATION FAILED ON 5 CELL(S)" in told.stdout
        assert "NotImplementedError" in told.stdout

    def test_validate_passes_right_work_that_leans_on_an_earlier_notebook(
        self, graded: Course
    ) -> None:
        told = graded.run("nbgrader", "validate", "submitted/ada/attention/4_multi_head.ipynb")
        assert "Success! Your notebook passes all the tests." in told.stdout, told.stderr


@pytest.mark.proof
class TestTheGrades:
    def test_everybody_has_the_scores_of_autograder_grade(
        self, graded: Course, expected: dict[str, Result]
    ) -> None:
        assert len(expected) == 10
        for student, result in expected.items():
            wanted = {name: each.score for name, each in results_of(result, ASSIGNMENT).items()}
            assert graded.scores(student) == wanted, student

    def test_the_class_is_what_it_was_made_to_be(self, expected: dict[str, Result]) -> None:
        scores = {student: result.score for student, result in expected.items()}
        assert scores["ada"] == scores["ben"] == scores["ida"] == scores["jon"] == 100.0
        assert scores["finn"] == 0.0
        for student in ("cem", "dai", "eva", "gil", "hal"):
            score = scores[student]
            assert score is not None
            assert 0.0 < score < 100.0, student

    def test_hostile_work_gains_nothing_by_it(
        self, graded: Course, expected: dict[str, Result]
    ) -> None:
        assert expected["hal"].score is not None
        assert expected["hal"].score < 100.0  # its softmax is no softmax any more
        left = [*graded.root.rglob("written-by-a-student"), *Path("/tmp").glob("written-by-a-*")]
        assert left == []
        with Gradebook(graded.db_url) as gradebook:
            for notebook in gradebook.find_submission("attention", "hal").notebooks:
                assert all(grade.manual_score is None for grade in notebook.grades)

    def test_nobody_is_left_to_be_graded_by_hand(self, graded: Course) -> None:
        with Gradebook(graded.db_url) as gradebook:
            for submission in gradebook.find_assignment("attention").submissions:
                assert not submission.needs_manual_grade, submission.student.id

    def test_the_export_has_the_sums_and_the_late_penalty_of_the_plugin(
        self, graded: Course, expected: dict[str, Result]
    ) -> None:
        graded.must("nbgrader", "export", "--to=grades.csv")
        with (graded.root / "grades.csv").open(newline="") as file:
            lines = {line["student_id"]: line for line in csv.DictReader(file)}
        assert {student: float(line["raw_score"]) for student, line in lines.items()} == {
            student: result.score for student, result in expected.items()
        }
        assert float(lines["ben"]["score"]) == 0.0  # two days late, and the plugin gives nothing
        assert float(lines["ada"]["score"]) == 100.0


@pytest.mark.proof
class TestTheFeedback:
    def test_a_reason_stands_under_the_criterion_that_lost(self, pages: dict[str, str]) -> None:
        cell = cell_of(pages["3_causal"], "causal-masking")
        assert "No token looks at the tokens after it: 9 points" in cell
        assert "Score: 4.0 / 9.0" in cell
        assert "<code>CausalAttention</code>: " in cell
        assert "All points." in cell_of(pages["3_causal"], "causal-scaling")

    def test_what_a_student_wrote_is_shown_as_text(self, pages: dict[str, str]) -> None:
        cell = cell_of(pages["1_simplified"], "simplified-softmax")
        assert "ValueError" in cell
        assert "alert(1)" in cell
        assert "<script>alert" not in cell
        assert "mathjax_ignore" in cell  # else a formula could carry a link


@pytest.mark.proof
class TestOtherCircumstances:
    def test_manual_scores_and_comments_outlive_the_formgraders_button(
        self, graded: Course
    ) -> None:
        with Gradebook(graded.db_url) as gradebook:
            grade = gradebook.find_grade("causal-masking", "3_causal", "attention", "cem")
            grade.manual_score = 1.5
            comment = gradebook.find_comment("causal_mask", "3_causal", "attention", "cem")
            comment.manual_comment = "We talked about it."
            gradebook.db.commit()
        ended = graded.run(sys.executable, "-c", BUTTON)
        assert ended.returncode == 0, ended.stderr
        told = json.loads(ended.stdout.splitlines()[-1])
        assert told["again"]["success"], told
        with Gradebook(graded.db_url) as gradebook:
            grade = gradebook.find_grade("causal-masking", "3_causal", "attention", "cem")
            comment = gradebook.find_comment("causal_mask", "3_causal", "attention", "cem")
            assert (grade.manual_score, grade.auto_score, grade.score) == (1.5, 9.0, 1.5)
            assert comment.comment == "We talked about it."
        # The same course has an assignment of another kind: nbgrader runs it as ever.
        assert told["other"]["success"], told
        with Gradebook(graded.db_url) as gradebook:
            assert gradebook.find_submission("warmup", "cem").score == 2.0

    def test_nbgrader_without_the_lines_says_so_and_gives_no_score(
        self, graded: Course, tmp_path: Path
    ) -> None:
        course = Course(tmp_path / "course")
        course.root.mkdir()
        shutil.copyfile(graded.root / "gradebook.db", course.root / "gradebook.db")
        shutil.copytree(graded.root / "source", course.root / "source")
        work = graded.root / "submitted" / "ada" / "attention" / "1_simplified.ipynb"
        handed_in = course.root / "submitted" / "new" / "attention"
        handed_in.mkdir(parents=True)
        shutil.copyfile(work, handed_in / work.name)
        ended = course.run("nbgrader", "autograde", "attention", "--student=new")
        told = ended.stdout + ended.stderr
        assert ended.returncode != 0
        assert "NOT GRADED, and no zeros given" in told
        scores = course.scores("new")
        assert {scores[name] for name in scores if name.startswith("simplified")} == {None}
        assert not (course.root / "autograded" / "new" / "attention").exists()


class TestCellsThatTheKitDoesNotKnow:
    """Without nbgrader's commands: the cells alone."""

    def test_an_automatic_test_of_a_teachers_own_is_refused(self) -> None:
        cell = v4.new_code_cell("assert True", metadata=marked("own-test", points=3))
        with pytest.raises(UsageError, match="the cell own-test is an automatic test"):
            fill(v4.new_notebook(cells=[cell]), {}, unreadable(ASSIGNMENT, "x", ""), True)

    def test_a_manually_graded_answer_and_a_test_of_no_points_are_left_alone(self) -> None:
        cells = [
            v4.new_code_cell("", metadata=marked("essay", points=3, solution=True)),
            v4.new_code_cell("", metadata=marked("check-softmax", points=0)),
        ]
        notebook = v4.new_notebook(cells=cells)
        fill(notebook, {}, unreadable(ASSIGNMENT, "x", ""), True)
        assert [cell.outputs for cell in notebook.cells] == [[], []]

    def test_points_that_changed_since_are_an_error(self) -> None:
        earned = results_of(unreadable(ASSIGNMENT, "x", ""), ASSIGNMENT)
        check_points({"causal-masking": 9.0}, earned)
        with pytest.raises(
            UsageError, match="causal-masking is worth 8 points and the criterion 9"
        ):
            check_points({"causal-masking": 8.0}, earned)

    @pytest.mark.parametrize(
        ("policy", "due", "explained"),
        [
            ("always", None, True),
            ("never", datetime(2020, 1, 1), False),
            ("after_due", datetime(2020, 1, 1), True),
            ("after_due", datetime(2999, 1, 1), False),
            ("after_due", None, False),
        ],
    )
    def test_reasons_are_shown_as_the_policy_says(
        self, policy: str, due: datetime | None, explained: bool
    ) -> None:
        feedback = msgspec.structs.replace(ASSIGNMENT.feedback, explanations=policy)
        assignment = msgspec.structs.replace(ASSIGNMENT, feedback=feedback)
        assert is_explained(assignment, due) is explained
        cell = v4.new_code_cell("", metadata=marked("causal-masking", points=9))
        result = unreadable(assignment, "x", "A telling reason.")
        fill(v4.new_notebook(cells=[cell]), results_of(result, assignment), result, explained)
        assert ("A telling reason." in str(cell.outputs)) is explained
        assert cell.outputs[1].data["text/plain"] == "0.0"


class TestTheDocumentation:
    def test_its_commands_are_those_that_were_run_here(self) -> None:
        page = (ROOT / "docs" / "nbgrader.md").read_text("utf-8")
        told = page.split("```")[1].split("\n")[1:-1]
        assert len(told) <= 10
        # The first is run by test_release_forms.py, with other places.
        assert told[:2] == ["autograder release nbgrader --out course", "cd course"]
        own = Path(__file__).read_text("utf-8").replace('", "', " ")
        for line in told[2:]:
            assert line in own, line


def marked(name: str, points: int, solution: bool = False) -> dict[str, object]:
    """The marks of a grade cell."""
    return {"nbgrader": {"grade_id": name, "grade": True, "solution": solution, "points": points}}


def cell_of(page: str, name: str) -> str:
    """What a page of feedback has of one grade cell: its head, its source, its outputs."""
    cells = page.split('<div class="cell border-box-sizing')
    (found,) = [cell for cell in cells if f'<a name="{name}">' in cell]
    return found


BUTTON = """
import json
from nbformat import v4, write
from nbgrader.apps import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from pathlib import Path
from traitlets.config import PyFileConfigLoader

config = PyFileConfigLoader("nbgrader_config.py").load_config()
config.CourseDirectory.root = str(Path.cwd())
api = NbGraderAPI(CourseDirectory(config=config), config=config)
again = api.autograde("attention", "cem", force=True)

def marks(name, **more):
    base = {"schema_version": 3, "grade_id": name, "grade": False, "solution": False,
            "locked": False, "task": False}
    return {"nbgrader": {**base, **more}}

cells = [
    v4.new_code_cell("x = 2", metadata=marks("x", solution=True)),
    v4.new_code_cell("assert x == 2", metadata=marks("test-x", grade=True, locked=True, points=2)),
]
kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
Path("source/warmup").mkdir(parents=True)
write(v4.new_notebook(cells=cells, metadata=kernel), "source/warmup/warmup.ipynb")
made = api.generate_assignment("warmup")
assert made["success"], made
Path("submitted/cem/warmup").mkdir(parents=True)
write(v4.new_notebook(cells=cells, metadata=kernel), "submitted/cem/warmup/warmup.ipynb")
print(json.dumps({"again": again, "other": api.autograde("warmup", "cem")}))
"""
