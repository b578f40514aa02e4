"""otter-grader's own commands: assign, check and run, with our judge in the place of its kernel."""

import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from otter.test_files import GradingResults, abstract_test
from otter.test_files.exception_test import ExceptionTestFile

from autograder.assignment.assignment import Assignment, load_assignment
from autograder.errors import InternalError
from autograder.platforms import gradescope
from autograder.platforms.otter import BehindTheWall
from autograder.platforms.warm import WarmJudge
from autograder.release import stubs
from autograder.release.otter import otter_files
from autograder.release.template import solution_lines
from autograder.results.criterion_keys import criteria_of, results_of
from tests.conftest import ASSIGNMENT, ROOT
from tests.notebooks import notebook_class

BIN = Path(sys.executable).parent
DEFINES = re.compile(r"^(?:def|class) (\w+)", re.MULTILINE)


def name_of(cell: notebook_class.Cell) -> str | None:
    """The name that is to be written in a cell of a student's notebook."""
    source = "".join(cell["source"])
    found = DEFINES.match(source)
    return found[1] if found and "NotImplementedError" in source else None


def otter(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """One of otter's commands, away from the user's own settings."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    return subprocess.run(
        [BIN / "otter", *command],
        cwd=folder,
        env={**os.environ, "HOME": str(home), "PATH": f"{BIN}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def assignment(tmp_path_factory: pytest.TempPathFactory) -> Assignment:
    return load_assignment(notebook_class.small_course(tmp_path_factory.mktemp("course")))


def told() -> list[str]:
    """The commands of docs/otter.md."""
    page = (ROOT / "docs" / "otter.md").read_text("utf-8")
    return page.split("```")[1].split("\n")[1:-1]


def shell(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    """A command of the documentation, as it stands there."""
    return subprocess.run(
        ["sh", "-c", line],
        cwd=folder,
        env={**os.environ, "HOME": str(folder), "PATH": f"{BIN}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def assigned(assignment: Assignment) -> Path:
    """What `otter assign` makes of the notebook of a course that lies outside of the checkout."""
    release, enter, assign = told()[:3]
    assert shell(assignment.folder, release).returncode == 2, "there are no public checks yet"
    (assignment.folder.parents[1] / "student_template").symlink_to(ROOT / "student_template")
    built = shell(assignment.folder, release)
    assert built.returncode == 0, built.stderr
    assert enter == "cd course"
    ended = shell(assignment.folder / "course", assign)
    assert ended.returncode == 0, ended.stderr
    return assignment.folder / "course" / "dist"


@pytest.fixture(scope="module")
def student(assigned: Path) -> notebook_class.Notebook:
    notebook: notebook_class.Notebook = json.loads(
        (assigned / "student" / "attention.ipynb").read_text("utf-8")
    )
    return notebook


@pytest.fixture(scope="module")
def handed_in(assigned: Path, student: notebook_class.Notebook) -> dict[str, Path]:
    """Right work, and work with a mistake and a name unwritten, as students save them."""
    kinds = {
        "right": notebook_class.solved(),
        "wrong": notebook_class.modules_of(wrong="causal/no-mask"),
    }
    places = {}
    for kind, modules in kinds.items():
        notebook = student
        if kind == "wrong":
            modules["multi_head"] = modules["multi_head"].split("def gpt2_attention")[0]
        for stage in notebook_class.STAGES:
            notebook = notebook_class.filled(notebook, modules[stage], name_of)
        places[kind] = assigned / "student" / f"{kind}.ipynb"
        notebook_class.write(notebook, places[kind])
    return places


@pytest.fixture(scope="module")
def judge(assignment: Assignment) -> Iterator[WarmJudge]:
    judge = WarmJudge(assignment)
    yield judge
    judge.close()


def scores_of(results: Any) -> dict[str, float]:
    return {test["name"]: test["score"] for test in results["tests"]}


@pytest.mark.proof
class TestWhatStudentsGet:
    def test_building_the_notebook_again_changes_nothing(self) -> None:
        for name, data in otter_files(ASSIGNMENT).items():
            assert (ASSIGNMENT.folder / "otter" / name).read_bytes() == data, name

    def test_it_gives_no_solution_away(self, assigned: Path) -> None:
        secrets = solution_lines(ASSIGNMENT)
        for path in (assigned / "student").rglob("*.*"):
            text = path.read_text("utf-8")
            if path.suffix == ".ipynb":
                cells = json.loads(text)["cells"]
                text = "\n".join("".join(cell["source"]) for cell in cells)
            assert stubs.leaks(text, secrets) == (), path

    def test_every_name_is_a_stub(self, student: notebook_class.Notebook) -> None:
        assert [name for cell in student["cells"] if (name := name_of(cell))] == list(
            ASSIGNMENT.names
        )

    def test_it_has_public_checks_with_messages_and_no_test_of_a_criterion(
        self, assigned: Path
    ) -> None:
        tests = {path.stem: path.read_text("utf-8") for path in assigned.glob("student/tests/*.py")}
        assert set(tests) <= set(ASSIGNMENT.names)
        assert {"softmax", "copy_weights", "CausalAttention", "merge_heads"} <= set(tests)
        for text in tests.values():
            assert text.count("success_message") == text.count("failure_message") > 0
            assert "hidden=True" not in text

    def test_check_tells_what_is_wrong_what_is_right_and_what_is_not_written(
        self, assigned: Path, handed_in: dict[str, Path]
    ) -> None:
        said = otter(assigned / "student", "check", handed_in["wrong"]).stdout
        assert "A public check failed: a later token cannot change an earlier output." in said
        assert "A public check passed: shorter sequences work." in said
        assert "A public check failed: gpt2 attention has the sizes" in said
        assert "NotImplementedError: not written yet" in said


class TestTheGrades:
    @pytest.mark.proof
    @pytest.mark.parametrize("kind", ["right", "wrong"])
    def test_our_bundle_for_gradescope_gives_the_same_scores(
        self, kind: str, handed_in: dict[str, Path], judge: WarmJudge, tmp_path: Path
    ) -> None:
        (tmp_path / "source").mkdir()
        settings = {"assignment": str(judge.assignment.folder)}
        (tmp_path / "source" / "settings.json").write_text(json.dumps(settings))
        (tmp_path / "submission").mkdir()
        (tmp_path / "submission" / "work.ipynb").write_bytes(handed_in[kind].read_bytes())
        assert gradescope.main(tmp_path) == 0
        told = json.loads((tmp_path / "results" / "results.json").read_text("utf-8"))
        assert told["score"] == judge.grade(handed_in[kind], kind).score

    @pytest.mark.proof
    def test_run_gives_the_judges_scores_and_reasons_and_springs_no_trap(
        self,
        assigned: Path,
        handed_in: dict[str, Path],
        judge: WarmJudge,
        tmp_path: Path,
    ) -> None:
        mark = tmp_path / "sprung"
        trap = f"open({str(mark)!r}, 'a').write(__name__)\n"
        with zipfile.ZipFile(tmp_path / "work.zip", "w") as archive:
            archive.writestr("attention.ipynb", handed_in["wrong"].read_bytes())
            archive.writestr(".OTTER_LOG", pickle.dumps(Trap(str(mark))))
            for name in ("torch.py", "json.py", "sitecustomize.py", "ipykernel/__init__.py"):
                archive.writestr(name, trap)
            archive.writestr("conftest.py", trap)
            archive.writestr("tests/causal-masking.py", f"{trap}name = 'causal-masking'\n")
        (bundle,) = (assigned / "autograder").glob("*.zip")
        ended = otter(tmp_path, "run", "-a", bundle, "work.zip")
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert not mark.exists()
        results = json.loads((tmp_path / "results.json").read_text("utf-8"))
        expected = results_of(judge.grade(handed_in["wrong"], "wrong"), judge.assignment)
        assert scores_of(results) == {name: each.score for name, each in expected.items()}
        assert list(scores_of(results)) == list(criteria_of(ASSIGNMENT))
        assert sum(scores_of(results).values()) == 94.0
        said = {test["name"]: test["output"] for test in results["tests"]}
        assert "All points." in said["causal-scaling"]
        assert "`CausalAttention`: " in said["causal-masking"]
        assert "Read 3_causal.md, section “Masking”." in said["causal-masking"]
        assert "NameError" not in json.dumps(results)

    @pytest.mark.parametrize(
        ("name", "points", "told"),
        [("another", 9.0, "has no question causal-masking"), ("causal-masking", 8.0, "worth 8")],
    )
    def test_a_notebook_that_does_not_fit_the_definition_is_an_error_and_no_score(
        self, name: str, points: float, told: str, tmp_path: Path
    ) -> None:
        work = tmp_path / "submission" / "empty.ipynb"
        work.parent.mkdir()
        work.write_text("{}")
        plugin = BehindTheWall(str(work), {}, {"assignment": str(ASSIGNMENT.folder)})
        plugin.before_grading(None)  # no notebook: nothing is earned, and nothing has to start
        questions = {key: float(each.points) for key, (_, each) in criteria_of(ASSIGNMENT).items()}
        del questions["causal-masking"]
        results = GradingResults([question(*each) for each in [*questions.items(), (name, points)]])
        with pytest.raises(InternalError, match=told):
            plugin.after_grading(results)


def question(name: str, points: float) -> ExceptionTestFile:
    """A question of otter's with one test."""
    return ExceptionTestFile(
        name, name, [abstract_test.TestCase(name, None, True, points, None, None)]
    )


@pytest.mark.proof
class TestTheDocumentation:
    def test_its_last_commands_check_and_grade_what_a_student_saved(
        self, assigned: Path, handed_in: dict[str, Path], tmp_path: Path
    ) -> None:
        enter, check, run = told()[3:]
        assert enter == "cd dist/student"
        assert len(told()) <= 10
        shutil.copytree(assigned, tmp_path / "dist", ignore=shutil.ignore_patterns("home"))
        student = tmp_path / "dist" / "student"
        shutil.copyfile(handed_in["right"], student / "attention.ipynb")
        assert "All tests passed!" in shell(student, check).stdout
        ended = shell(student, run)
        assert ended.returncode == 0, ended.stderr
        results = json.loads((student / "results.json").read_text("utf-8"))
        assert sum(scores_of(results).values()) == 100.0


class Trap:
    """Writes a file when it is unpickled."""

    def __init__(self, mark: str) -> None:
        self._mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (self._mark, "w")
