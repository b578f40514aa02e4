"""A fifth stage, of a class that is like another: it touches its own files and the rubric alone."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.assignment.assignment import Assignment, load_assignment
from autograder.calibration.cases import Case
from autograder.calibration.mutants import all_mutants
from autograder.calibration.proof import Plan, graded
from autograder.checks.check_spec import hidden_checks
from autograder.diagnosis.catalogue import stage_catalogue
from autograder.grading.executor import LocalExecutor
from autograder.grading.worker import Worker
from autograder.release.template import template_files
from autograder.results.result import Result
from autograder.submissions.submission import SourceFile, Submission, read_submission
from tests.conftest import ASSIGNMENT, ROOT

STAGE = ROOT / "tests" / "grouped"
NAME = "GroupedQueryAttention"
SOURCE = (STAGE / "grouped.py").read_text("utf-8")


@pytest.fixture(scope="module")
def assignment(tmp_path_factory: pytest.TempPathFactory) -> Assignment:
    """The assignment with the stage added: its own files, and a table in `assignment.toml`."""
    top = tmp_path_factory.mktemp("course")
    folder = top / "assignments" / "attention"
    shutil.copytree(ASSIGNMENT.folder, folder)
    shutil.copytree(ASSIGNMENT.solutions, top / "solutions" / "attention")
    shutil.copytree(ROOT / "student_template", top / "student_template")
    (top / "tests").mkdir()
    (top / "tests" / "variants").symlink_to(ROOT / "tests" / "variants")
    shutil.copytree(STAGE / "grouped_queries", folder / "grouped_queries")
    shutil.copy(STAGE / "5_grouped.md", folder)
    shutil.copy(STAGE / "grouped.py", top / "solutions" / "attention")
    file = folder / "assignment.toml"
    text = file.read_text("utf-8").replace("points = 100", "points = 120", 1)
    file.write_text(text + (STAGE / "stage.toml").read_text("utf-8"), encoding="utf-8")
    return load_assignment(folder)


@pytest.fixture(scope="module")
def worker(assignment: Assignment) -> Iterator[Worker]:
    with Worker(assignment.folder, "process") as made:
        yield made


def graded_with(worker: Worker, before: str, after: str) -> Result:
    """A right submission whose fifth stage has one change."""
    assert before in SOURCE
    data = SOURCE.replace(before, after).encode()
    others = read_submission(ASSIGNMENT.solutions, ASSIGNMENT.limits)
    grouped = SourceFile("attention/grouped.py", "module", data)
    return worker.grade(Submission("ada", (*others.files, grouped), "d1")).result


def lost(result: Result) -> dict[str, tuple[str, ...]]:
    """What lost points, with the mistakes that are named."""
    return {
        f"{stage.id}/{criterion.id}": criterion.misconceptions
        for stage in result.stages
        for criterion in stage.criteria
        if criterion.score < criterion.max_score
    }


def test_the_solution_has_all_its_points(worker: Worker) -> None:
    result = graded_with(worker, "num_tokens", "num_tokens")
    assert (result.score, result.max_score) == (120.0, 120.0)


def test_it_is_asked_what_its_parent_is_asked(assignment: Assignment) -> None:
    specs = hidden_checks(assignment).specs
    own = {spec.run.__name__ for spec in specs if spec.check.name == NAME}
    parents = {spec.run.__name__ for spec in specs if spec.check.name == "MultiHeadAttention"}
    assert parents - own == {"it_equals_the_librarys_module"}  # which has no groups
    assert len(own) > 25
    assert all(spec.identifier.startswith("grouped::") for spec in specs if spec.check.name == NAME)


def test_it_can_have_its_parents_mistakes_and_one_of_its_own(assignment: Assignment) -> None:
    catalogue = stage_catalogue(assignment, assignment.stage("grouped"))
    parents = stage_catalogue(assignment, assignment.stage("multi_head"))
    wanted = {each.id for each in parents.of("MultiHeadAttention")}
    assert {each.id for each in catalogue.of(NAME)} == {"groups-in-turn", *wanted}
    assert all(each.text.title for each in catalogue.misconceptions)


@pytest.mark.parametrize(
    ("before", "after", "criterion", "mistake"),
    [
        ("repeat_interleave(share, dim=1)", "repeat(1, share, 1, 1)", "split", "groups-in-turn"),
        ("scores = scores / self.head_dim**0.5", "", "scaling", "no-scale"),
        ("self.head_dim**0.5", "self.head_dim", "scaling", "scale-by-dk"),
        ("softmax(scores, dim=-1)", "softmax(scores, dim=2)", "softmax", "softmax-over-queries"),
        ("scores = scores.masked_fill(mask, -torch.inf)", "", "masking", "no-mask"),
        (".triu(1)", ".triu(2)", "masking", "mask-starts-late"),
        ("weights = self.dropout(weights)", "", "dropout", "dropout-missing"),
        ("return self.out_proj(context)", "return context", "output", "no-output-projection"),
        (".transpose(1, 2).reshape(b", ".reshape(b", "merge", "merged-without-transpose"),
    ],
)  # fmt: skip
def test_a_mistake_costs_its_own_criterion_and_is_named(
    worker: Worker, before: str, after: str, criterion: str, mistake: str
) -> None:
    assert lost(graded_with(worker, before, after)) == {f"grouped/{criterion}": (mistake,)}


def test_nothing_computed_earns_nothing(worker: Worker) -> None:
    returned = "return self.out_proj(context)"
    result = graded_with(worker, returned, "return torch.zeros_like(self.out_proj(context))")
    assert result.stages[-1].score == 0
    assert result.score == 100


def test_its_stub_and_notebook_are_released(assignment: Assignment) -> None:
    shutil.copy(
        STAGE / "public_check.py", (assignment.template or Path()) / "tests" / "test_5_grouped.py"
    )
    files = template_files(assignment)
    assert f"class {NAME}" in files["attention/grouped.py"]
    assert "repeat_interleave" not in "".join(files.values())
    assert f'"{NAME}"' in files["selfcheck/course.json"]


@pytest.mark.proof
@pytest.mark.parametrize("part", ["solutions", "stubs", "null", "right", "misconceptions"])
def test_what_was_proved_of_the_other_stages_still_holds(assignment: Assignment, part: str) -> None:
    proved = Plan(assignment, sample=True).part(part)
    executor = LocalExecutor(lambda: Worker(assignment.folder, "process"), 2)
    try:
        graded(executor, [proved], lambda _: None)
    finally:
        executor.close()
    assert proved.count > 0
    assert proved.short == {}


def test_its_mutants_are_among_those_of_the_assignment(assignment: Assignment) -> None:
    own = [each for each in all_mutants(assignment) if each.module == "grouped"]
    assert len(own) > 50
    assert isinstance(own[0].label, str)
    assert all(isinstance(each.source, str) for each in own)


def test_cases_of_its_own_need_no_variant_of_the_others(assignment: Assignment) -> None:
    (case, *_) = Plan(assignment).part("right").cases
    assert isinstance(case, Case)
    assert any(file.path.endswith("grouped.py") for file in case.submission.files)
