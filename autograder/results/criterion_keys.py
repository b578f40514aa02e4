"""What a criterion is called in another tool's gradebook: one name, in every notebook."""

from __future__ import annotations

from collections.abc import Iterator

from autograder.assignment.assignment import Assignment, Criterion, Stage
from autograder.results.result import CriterionResult, Result


def criterion_key(stage_id: str, criterion_id: str) -> str:
    """The name of a stage's criterion among those of all stages: `causal-masking`."""
    return f"{stage_id}-{criterion_id}"  # neither may hold a hyphen, so no two share a name


def criteria_of(assignment: Assignment) -> dict[str, tuple[Stage, Criterion]]:
    """Every criterion by its name."""
    return {
        criterion_key(stage.id, criterion.id): (stage, criterion)
        for stage in assignment.stages
        for criterion in stage.criteria
    }


def results_of(result: Result, assignment: Assignment) -> dict[str, CriterionResult]:
    """What every criterion earned, by its name; no points if the work could not be read."""
    return dict(_results_of(result, assignment))


def _results_of(result: Result, assignment: Assignment) -> Iterator[tuple[str, CriterionResult]]:
    if result.status == "error":
        for key, (_, criterion) in criteria_of(assignment).items():
            points = float(criterion.points)
            reason = result.message or ""
            yield (
                key,
                CriterionResult(
                    criterion.id, criterion.title, 0.0, points, "error", reason, (), ()
                ),
            )
    for stage in result.stages:
        for earned in stage.criteria:
            yield criterion_key(stage.id, earned.id), earned
