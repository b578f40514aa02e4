"""`results.json`, the file in which Gradescope looks for a submission's results.

The structs are the platform's format, read strictly: what they refuse, the platform would refuse
too. Source: its autograder specification, January 2025.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import msgspec

from autograder.assignment.assignment import Assignment, Feedback
from autograder.errors import InternalError
from autograder.feedback.markdown import inline, markdown
from autograder.feedback.words import WORDS, points
from autograder.results.result import CriterionResult, Result, StageResult

Visibility = Literal["hidden", "after_due_date", "after_published", "visible"]
Format = Literal["text", "html", "simple_format", "md", "ansi"]
Points = Annotated[float, msgspec.Meta(ge=0)]

MOST_TEXT = 20_000  # characters of one output


class _Table(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True
):
    """A table of the file: what is not set is not written."""


class Judged(_Table, frozen=True):
    """One line of the list that a student sees."""

    score: Points | None = None
    max_score: Points | None = None
    status: Literal["passed", "failed"] | None = None
    name: str | None = None
    name_format: Format | None = None
    number: str | None = None
    output: str | None = None
    output_format: Format | None = None
    tags: tuple[str, ...] = ()
    visibility: Visibility | None = None
    extra_data: dict[str, Any] = {}


class Leader(_Table, frozen=True):
    """One column of the leaderboard."""

    name: str
    value: float | str
    order: Literal["asc", "desc"] | None = None


class Results(_Table, frozen=True):
    """The whole file."""

    score: Points | None = None
    execution_time: Points | None = None
    output: str | None = None
    output_format: Format | None = None
    test_output_format: Format | None = None
    test_name_format: Format | None = None
    visibility: Visibility | None = None
    stdout_visibility: Visibility | None = None
    extra_data: dict[str, Any] = {}
    tests: tuple[Judged, ...] = ()
    leaderboard: tuple[Leader, ...] = ()


_WHEN: dict[str, Visibility] = {
    "always": "visible",
    "after_due": "after_due_date",
    "never": "after_due_date",  # points without reasons
}
_STRICTEST = ("never", "after_due", "always")


def encode(results: Results) -> bytes:
    """The bytes of the file.

    Raises:
        InternalError: The platform would refuse them.
    """
    data = msgspec.json.format(msgspec.json.encode(results), indent=2) + b"\n"
    check(data)
    return data


def check(data: bytes) -> Results:
    """Read the file as strictly as the platform may.

    Raises:
        InternalError: The platform would refuse it; says why.
    """
    try:
        results = msgspec.json.decode(data, type=Results)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InternalError(f"results.json: {error}") from None
    scores = [results.score, *(test.score for test in results.tests)]
    if all(score is None for score in scores):
        raise InternalError("results.json: neither the file nor a test has a score")
    for score in scores:
        if score is not None and not math.isfinite(score):
            raise InternalError(f"results.json: {score} is not a score")
    for test in results.tests:
        if test.score is not None and test.max_score is not None and test.score > test.max_score:
            raise InternalError(f"results.json: {test.number} earns more than its maximum")
    return results


def results_of(result: Result, assignment: Assignment, *, leaderboard: bool = False) -> Results:
    """A result in Gradescope's format: stages at once, criteria and reasons by the course's policy.

    Args:
        result: The result.
        assignment: The assignment, whose policy decides what is shown when.
        leaderboard: Whether to add the score to a leaderboard.
    """
    if result.score is None:
        return failed(result.message or "the kit failed")
    tests: list[Judged] = []
    policy = policy_of(assignment.feedback)
    for number, stage in enumerate(result.stages, 1):
        tests.append(_stage(stage, number))
        tests += [
            _criterion(stage, criterion, f"{number}.{place}", policy)
            for place, criterion in enumerate(stage.criteria, 1)
        ]
    said = [f"**{points(result.score)} of {points(result.max_score)} points.**"]
    if result.message:
        said.append(markdown(result.message))
    said += [f"Note: {inline(note)}" for note in result.notes]
    return Results(
        score=result.score,
        output=_cut("\n\n".join(said)),
        output_format="md",
        test_output_format="md",
        test_name_format="text",
        visibility="visible",
        stdout_visibility="hidden",
        tests=tuple(tests),
        leaderboard=(Leader(name="points", value=result.score, order="desc"),)
        if leaderboard
        else (),
    )


def failed(reason: str) -> Results:
    """The file for a submission that the kit failed on.

    The platform requires a number; the text says that this one does not count.

    Args:
        reason: What happened.
    """
    said = (
        "**Your work has not been graded.** The autograder itself failed, which is no fault of"
        " yours, and the 0 shown here does not count. Please tell your teacher, who can run it"
        " again.\n\n" + markdown(reason)
    )
    return Results(
        score=0.0,
        output=_cut(said),
        output_format="md",
        visibility="visible",
        stdout_visibility="hidden",
        extra_data={"kit_failed": True},
    )


def policy_of(feedback: Feedback) -> str:
    """When reasons are shown if students can hand in as often as they like: the stricter policy."""
    return min(feedback.explanations, feedback.explanations_online, key=_STRICTEST.index)


def _stage(stage: StageResult, number: int) -> Judged:
    return Judged(
        score=stage.score,
        max_score=stage.max_score,
        status="passed" if stage.score == stage.max_score else "failed",
        name=stage.title,
        number=str(number),
        output=f"{points(stage.score)} of {points(stage.max_score)} points",
        visibility="visible",
    )


def _criterion(stage: StageResult, criterion: CriterionResult, number: str, policy: str) -> Judged:
    kept = criterion.score == criterion.max_score
    reason = criterion.message if policy != "never" else ""
    said = "All points." if kept else markdown(reason) or WORDS[criterion.status]
    return Judged(
        score=criterion.score,
        max_score=criterion.max_score,
        status="passed" if kept else "failed",
        name=f"{stage.title}: {criterion.title}",
        number=number,
        output=_cut(said),
        tags=(stage.id, criterion.id),
        visibility=_WHEN[policy],
    )


def _cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + "\n\n\\[cut\\]"
