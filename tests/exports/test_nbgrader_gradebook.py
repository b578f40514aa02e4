"""Scores in nbgrader's own gradebook, as nbgrader itself reads them."""

import os
import shutil
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from autograder.assignment.assignment import Late, load_assignment
from autograder.errors import MissingRequirement, UsageError
from autograder.exports.filling import Wanted
from autograder.exports.final import Final
from autograder.exports.nbgrader_gradebook import fill
from autograder.gradebook.adjustments import Adjusted
from autograder.submissions.downloads.handin import Origin
from autograder.submissions.roster import Person

Finals = Callable[..., tuple[Final, ...]]
LATE = Late(datetime(2026, 10, 1, tzinfo=UTC), flat_percent=10)


def test_without_the_extra_it_says_which_one_brings_it(
    finals: Finals, wanted: Wanted, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "nbgrader.api", None)
    with pytest.raises(MissingRequirement, match=r"pip install 'attention-autograder\[nbgrader\]'"):
        fill(tmp_path / "gradebook.db", finals(ada=1.0), wanted)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course's gradebook with the assignment, a notebook a stage, and three students."""
    api = pytest.importorskip("nbgrader.api", reason="the extra `nbgrader` is not installed")
    file = tmp_path_factory.mktemp("course") / "gradebook.db"
    assignment = load_assignment()
    with pytest.MonkeyPatch.context() as patch:
        # A new gradebook is made by a program that nbgrader looks for on the path.
        patch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        with api.Gradebook(f"sqlite:///{file}") as book:
            book.add_assignment(assignment.id)
            for stage in assignment.stages:
                book.add_notebook(stage.id, assignment.id)
                for criterion in stage.criteria:
                    name = f"{stage.id}-{criterion.id}"
                    points = {"max_score": criterion.points, "cell_type": "code"}
                    book.add_grade_cell(name, stage.id, assignment.id, **points)
            book.add_student("ada")
            book.add_student("gm1", first_name="Gabriel", last_name="García Márquez")
            book.add_student("idle", email="idle@x.org")
    return file


@pytest.fixture
def database(course: Path, tmp_path: Path) -> Path:
    """The course's gradebook, for one test to write into."""
    return Path(shutil.copy(course, tmp_path))


def scores(database: Path, student: str) -> tuple[float, float]:
    """Score and penalty, as nbgrader has them."""
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{database}") as book:
        found = book.find_submission("attention", student)
        return round(found.score, 4), round(found.late_submission_penalty, 4)


def test_each_criterion_has_its_score_and_lateness_stands_beside_them(
    finals: Finals, wanted: Wanted, database: Path
) -> None:
    gabo = Origin("moodle", Person(name="Gabriel García Márquez"), late=True)
    graded = finals(LATE, ada=0.5, gabo=(0.5, gabo), stranger=1.0)
    account = fill(database, graded, wanted)
    # The sample results give each stage's points to its first criterion, at most its own.
    assert account.strangers == [("stranger", "no matching student")]
    assert account.left == [("idle", "nothing graded")]
    assert len(account.rows) == 2
    assert scores(database, "ada") == (50.0, 0.0)
    assert scores(database, "gm1") == (50.0, 5.0)


def test_a_manual_score_stays(finals: Finals, wanted: Wanted, database: Path) -> None:
    from nbgrader.api import Gradebook

    fill(database, finals(ada=0.5), wanted)
    with Gradebook(f"sqlite:///{database}") as book:
        grade = book.find_grade("causal-masking", "causal", "attention", "ada")
        grade.manual_score = 9.0
        book.db.commit()
    fill(database, finals(ada=0.5), wanted)
    assert scores(database, "ada")[0] == 59.0


def test_work_that_could_not_be_read_has_nothing_in_the_graded_stages(
    finals: Finals, wanted: Wanted, database: Path
) -> None:
    fill(database, finals(ada=0.5), wanted)
    (final,) = finals(ada=0.5)
    unread = msgspec.structs.replace(final.result, stages=(), score=0.0, status="error")
    one_stage = msgspec.structs.replace(wanted, stages=wanted.stages[2:3])
    told = msgspec.structs.replace(final, told=Adjusted(unread, unread))
    fill(database, [told], one_stage)
    assert scores(database, "ada")[0] == 50.0 - 15.0


def test_another_release_is_refused_before_anything_is_written(
    finals: Finals, wanted: Wanted, database: Path
) -> None:
    stage = wanted.stages[0]
    criterion = msgspec.structs.replace(stage.criteria[0], points=99)
    changed = msgspec.structs.replace(stage, criteria=(criterion, *stage.criteria[1:]))
    other = msgspec.structs.replace(wanted, stages=(changed, *wanted.stages[1:]))
    with pytest.raises(UsageError, match=r"a grade cell simplified-scores of 99 points.*found 3"):
        fill(database, finals(ada=0.5), other)


def test_an_unknown_assignment_is_refused(finals: Finals, wanted: Wanted, database: Path) -> None:
    other = msgspec.structs.replace(wanted, id="other")
    with pytest.raises(UsageError, match="no assignment other; known are attention"):
        fill(database, finals(ada=0.5), other)


def test_a_gradebook_that_is_not_there_is_not_made(
    finals: Finals, wanted: Wanted, database: Path
) -> None:
    with pytest.raises(UsageError, match="no such file"):
        fill(database.parent / "no.db", finals(ada=0.5), wanted)
    assert not (database.parent / "no.db").exists()
