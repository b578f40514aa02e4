"""`result.json`: what one submission earned and why.

Programs outside of the kit rely on its format, which `SCHEMA` numbers. The structs hold only what
is written; durations and the isolation level are kept in the gradebook, so that the same submission
gives the same bytes on every run.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from autograder.errors import UsageError

#: The version of `result.json` that this kit reads and writes.
SCHEMA = 1

Status = Literal["passed", "failed", "error", "timeout", "killed", "missing", "blocked"]

#: From good to bad: a criterion's status is the worst of its shares that lost something.
SEVERITY: tuple[Status, ...] = (
    "passed",
    "blocked",
    "missing",
    "failed",
    "error",
    "timeout",
    "killed",
)


class CheckOutcome(msgspec.Struct, frozen=True, gc=False):
    """One hidden check that gave evidence about a share."""

    id: str
    status: Status


class ShareResult(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The part of a criterion's points that one name shows; kept or lost on its own."""

    name: str
    score: float
    max_score: float
    status: Status
    checks: tuple[CheckOutcome, ...]
    aspect: str | None = None


class CriterionResult(msgspec.Struct, frozen=True, gc=False):
    """A rubric line. `message` is the text that a student reads, empty if nothing was lost."""

    id: str
    title: str
    score: float
    max_score: float
    status: Status
    message: str
    misconceptions: tuple[str, ...]
    shares: tuple[ShareResult, ...]


class StageResult(msgspec.Struct, frozen=True, gc=False):
    """One stage with its criteria in the rubric's order."""

    id: str
    title: str
    score: float
    max_score: float
    criteria: tuple[CriterionResult, ...]


class Result(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A whole `result.json`, its fields in the order in which they are written.

    Attributes:
        schema: The version of the format.
        submission: The name of the student's entry.
        digest: SHA-256 over the names and bytes handed in; empty if they could not be read.
        assignment: The assignment's id.
        score: The points; None if the kit failed on the submission.
        max_score: The points of the stages that were graded.
        stages: The stages, in the assignment's order.
        notes: What the student should know about the reading.
        status: "error" if the submission could not be read.
        message: Why it has no stages, or what there is where nothing to grade was found.
    """

    schema: int
    submission: str
    digest: str
    assignment: str
    score: float | None
    max_score: float
    stages: tuple[StageResult, ...]
    notes: tuple[str, ...]
    status: Literal["error"] | None = None
    message: str | None = None


def encode_result(result: Result) -> bytes:
    """The bytes of `result.json`: indented, fields in order, one newline at the end."""
    return msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n"


def decode_result(data: bytes) -> Result:
    """Read a `result.json`.

    Raises:
        UsageError: Not a result, or one of another schema.
    """
    try:
        result = msgspec.json.decode(data, type=Result)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"not a result.json: {error}") from error
    if result.schema != SCHEMA:
        raise UsageError(f"result.json has schema {result.schema}; this kit reads schema {SCHEMA}")
    return result


def worst(statuses: tuple[Status, ...]) -> Status:
    """The worst of several statuses; `passed` if there are none."""
    return max(statuses, key=SEVERITY.index, default="passed")
