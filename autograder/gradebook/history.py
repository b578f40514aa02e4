"""What changed between two runs over a class: whose score, in which criterion, and why. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from autograder.results.result import CriterionResult, Result, Status

#: Checks named in one reason; more would hide what matters.
MOST_CHECKS = 3

#: What a part of the grading key means to a teacher.
PARTS = {
    "assignment": "the assignment (points, criteria or policies)",
    "solutions": "the solutions",
    "checks": "the hidden checks",
    "misconceptions": "the catalogue of misconceptions",
    "kit": "the kit itself",
    "limits": "the limits",
    "secret": "the course's secret, so the hidden inputs",
    "torch": "the version of torch",
    "python": "Python or the kind of machine",
}


@dataclass(frozen=True, slots=True)
class CriterionChange:
    """One criterion whose score changed; None stands for a run that did not have it."""

    stage: str
    criterion: str
    before: float | None
    after: float | None
    why: str


@dataclass(frozen=True, slots=True)
class Change:
    """One student whose result changed; a score is None if the kit failed."""

    student: str
    before: float | None
    after: float | None
    handed_in_anew: bool
    criteria: tuple[CriterionChange, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """Two runs side by side.

    Attributes:
        changes: The students whose results changed.
        same: How many students' scores did not.
        joined: Students who are only in the later run.
        left: Students who are only in the earlier run.
    """

    changes: tuple[Change, ...]
    same: int
    joined: tuple[str, ...]
    left: tuple[str, ...]


def difference(before: Iterable[Result], after: Iterable[Result]) -> Difference:
    """Compare the results of two runs, student by student."""
    old = {result.submission: result for result in before}
    new = {result.submission: result for result in after}
    both = [name for name in new if name in old]
    changes = [change for name in both if (change := _change(old[name], new[name])) is not None]
    return Difference(
        changes=tuple(changes),
        same=len(both) - len(changes),
        joined=tuple(name for name in new if name not in old),
        left=tuple(name for name in old if name not in new),
    )


def _change(before: Result, after: Result) -> Change | None:
    """A student's change; None if every criterion has the same score."""
    olds, news = _criteria(before), _criteria(after)
    criteria = tuple(
        CriterionChange(
            *place,
            None if place not in olds else olds[place].score,
            None if place not in news else news[place].score,
            _why(olds.get(place), news.get(place)),
        )
        for place in dict.fromkeys([*olds, *news])
        if _scores(olds.get(place)) != _scores(news.get(place))
    )
    if not criteria and before.score == after.score:
        return None
    anew = before.digest != after.digest
    return Change(before.submission, before.score, after.score, anew, criteria, _note(after))


def _criteria(result: Result) -> dict[tuple[str, str], CriterionResult]:
    return {
        (stage.id, criterion.id): criterion
        for stage in result.stages
        for criterion in stage.criteria
    }


def _scores(criterion: CriterionResult | None) -> tuple[float, float] | None:
    return None if criterion is None else (criterion.score, criterion.max_score)


def _note(after: Result) -> str:
    """Why there are no criteria to compare."""
    return "" if after.message is None else after.message


def _why(before: CriterionResult | None, after: CriterionResult | None) -> str:
    """What the checks said before and say now."""
    if before is None or after is None:
        return "only the later run has it" if before is None else "only the earlier run has it"
    told = []
    if before.max_score != after.max_score:
        told.append(f"worth {before.max_score:g} before and {after.max_score:g} now")
    if _verdict(before) != _verdict(after):
        told.append(f"{_verdict(before)} before, {_verdict(after)} now")
    checks = _checks_that_changed(_outcomes(before), _outcomes(after))
    if checks:
        more = f" and {len(checks) - MOST_CHECKS} more" if len(checks) > MOST_CHECKS else ""
        told.append(", ".join(checks[:MOST_CHECKS]) + more)
    return "; ".join(told) or "its points are divided differently"


def _verdict(criterion: CriterionResult) -> str:
    return criterion.status + (
        f" ({', '.join(criterion.misconceptions)})" if criterion.misconceptions else ""
    )


def _outcomes(criterion: CriterionResult) -> dict[str, Status]:
    return {check.id: check.status for share in criterion.shares for check in share.checks}


def _checks_that_changed(before: Mapping[str, Status], after: Mapping[str, Status]) -> list[str]:
    return [
        f"{check}: {before.get(check, 'not run')} → {after.get(check, 'not run')}"
        for check in dict.fromkeys([*before, *after])
        if before.get(check) != after.get(check)
    ]


def parts_in_words(parts: Sequence[str]) -> str:
    """The parts of the grading key that changed, in a teacher's words."""
    return ", ".join(PARTS.get(part, part) for part in parts)
