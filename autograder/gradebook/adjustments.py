"""A teacher's changes: points that a criterion of one student counts, whatever was graded.

They are kept in the gradebook beside the results and applied for every page, table and export.
`result.json` stays what the checks found, so a change survives every new run and can be taken
back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from autograder.assignment.assignment import Stage
from autograder.errors import UsageError
from autograder.results.result import CriterionResult, Result, StageResult


class Adjustment(msgspec.Struct, frozen=True):
    """What one criterion of one student counts instead.

    Attributes:
        student: The name of the entry.
        stage: The stage's id.
        criterion: The criterion's id.
        points: What it counts; None takes an earlier change back.
        reason: What the student reads about it.
        made: When, in ISO format; filled in by the gradebook.
    """

    student: str
    stage: str
    criterion: str
    points: float | None
    reason: str
    made: str = ""


class Adjusted(msgspec.Struct, frozen=True):
    """A result with the teacher's changes applied.

    Attributes:
        result: The result with the scores that count.
        raw: The result as graded.
        applied: The changes in effect, each with the points that were graded.
    """

    result: Result
    raw: Result
    applied: tuple[tuple[Adjustment, float], ...] = ()


def place_of(stages: Sequence[Stage], named: str) -> tuple[Stage, str, float]:
    """Find a criterion by its name.

    Args:
        stages: The stages to search.
        named: `masking` or, exactly, `causal/masking`.

    Returns:
        Its stage, its id and its points.

    Raises:
        UsageError: There is no such criterion, or several stages have one.
    """
    stage_id, _, criterion_id = named.rpartition("/")
    places = [
        (stage, criterion)
        for stage in stages
        for criterion in stage.criteria
        if criterion.id == criterion_id and stage_id in ("", stage.id)
    ]
    if not places:
        known = ", ".join(f"{stage.id}/{each.id}" for stage in stages for each in stage.criteria)
        raise UsageError(f"no criterion {named!r}; known are {known}")
    if len(places) > 1:
        told = ", ".join(f"{stage.id}/{criterion.id}" for stage, criterion in places)
        raise UsageError(f"several stages have a criterion {named!r}; choose one of {told}")
    stage, criterion = places[0]
    return stage, criterion.id, float(criterion.points)


def adjusted(
    result: Result, adjustments: Iterable[Adjustment], stages: Sequence[Stage]
) -> Adjusted:
    """Apply a teacher's changes to a result.

    Work that could not be read can be given points too: the teacher may have read it. A result
    that the kit failed on has no score to change.

    Args:
        result: The result as graded.
        adjustments: The changes, of all students.
        stages: The stages that were graded.

    Returns:
        The result as it counts. Points above a criterion's maximum count as its maximum.
    """
    mine = [each for each in adjustments if each.student == result.submission]
    if result.score is None or not mine:
        return Adjusted(result, result)
    applied = []
    changed = result.stages or tuple(_unseen(stage) for stage in stages)
    for each in mine:
        before = _find(changed, each)
        if before is not None and each.points is not None:
            applied.append((each, before.score))
            changed = tuple(_with(stage, each) for stage in changed)
    if not applied:
        return Adjusted(result, result)
    score = round(sum(stage.score for stage in changed), 4)
    told = msgspec.structs.replace(result, stages=changed, score=score)
    return Adjusted(told, result, tuple(applied))


def adjusted_results(
    results: Iterable[Result], adjustments: Sequence[Adjustment], stages: Sequence[Stage]
) -> tuple[Result, ...]:
    """The results as they count: what exports write."""
    return tuple(adjusted(result, adjustments, stages).result for result in results)


def _find(stages: Sequence[StageResult], wanted: Adjustment) -> CriterionResult | None:
    for stage in stages:
        for criterion in stage.criteria:
            if (stage.id, criterion.id) == (wanted.stage, wanted.criterion):
                return criterion
    return None


def _with(stage: StageResult, adjustment: Adjustment) -> StageResult:
    if stage.id != adjustment.stage:
        return stage
    assert adjustment.points is not None
    criteria = tuple(
        msgspec.structs.replace(each, score=min(float(adjustment.points), each.max_score))
        if each.id == adjustment.criterion
        else each
        for each in stage.criteria
    )
    score = round(sum(each.score for each in criteria), 4)
    return msgspec.structs.replace(stage, criteria=criteria, score=score)


def _unseen(stage: Stage) -> StageResult:
    """A stage of work that could not be read: every criterion is missing."""
    return StageResult(
        id=stage.id,
        title=stage.title,
        score=0.0,
        max_score=float(stage.points),
        criteria=tuple(
            CriterionResult(each.id, each.title, 0.0, float(each.points), "missing", "", (), ())
            for each in stage.criteria
        ),
    )
