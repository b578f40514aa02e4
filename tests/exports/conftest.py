"""An invented class, graded, as exports get it."""

from collections.abc import Callable

import pytest

from autograder.assignment.assignment import Late
from autograder.exports.filling import Wanted
from autograder.exports.final import Final, final_scores
from autograder.gradebook.adjustments import Adjusted
from autograder.results.result import CriterionResult, Result, StageResult
from autograder.submissions.downloads.handin import Origin
from autograder.submissions.roster import Person
from tests.conftest import ASSIGNMENT

NEVER = Late()
Grade = Callable[..., Result]
Finals = Callable[..., tuple[Final, ...]]


@pytest.fixture
def wanted() -> Wanted:
    """The whole assignment, 100 points."""
    return Wanted(ASSIGNMENT.title, ASSIGNMENT.id, ASSIGNMENT.stages)


@pytest.fixture
def grade() -> Grade:
    """Makes a result of a part, 0 to 1, of all points."""

    def make(name: str, part: float | None = 1.0, message: str = "") -> Result:
        stages = tuple(
            StageResult(
                stage.id,
                stage.title,
                stage.points * (part or 0.0),
                float(stage.points),
                (
                    CriterionResult(
                        stage.criteria[0].id,
                        stage.criteria[0].title,
                        stage.points * (part or 0.0),
                        float(stage.points),
                        "passed" if part == 1.0 else "failed",
                        message,
                        (),
                        (),
                    ),
                ),
            )
            for stage in ASSIGNMENT.stages
        )
        score = None if part is None else 100 * part
        return Result(
            1, name, "d", "attention", score, 100.0, stages if score is not None else (), ()
        )

    return make


@pytest.fixture
def finals(grade: Grade) -> Finals:
    """Scores of a class: name to part, or to part and who the platform or roster says it is."""

    def make(late: Late = NEVER, **parts: float | tuple[float | None, Origin] | None) -> object:
        results, origins = [], {}
        for name, part in parts.items():
            if isinstance(part, tuple):
                part, origins[name] = part
            results.append(Adjusted(grade(name, part), grade(name, part)))
        return final_scores(results, origins, late)

    return make  # type: ignore[return-value]


@pytest.fixture
def known() -> Callable[..., Origin]:
    """An origin whose student is in a roster."""
    return lambda **marks: Origin("canvas", people=(Person(**marks),))
