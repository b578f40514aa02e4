"""`result.json`: what one submission earned and why, as the contract of the design has it.

The structs hold nothing but what is written; durations and the isolation level live in the
gradebook, so that the same submission gives the same bytes on every run.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from autograder.errors import UsageError

#: The version of `result.json` that this kit reads and writes.
SCHEMA = 1

Status = Literal["passed", "failed", "error", "timeout", "killed", "missing", "blocked"]

#: From good to bad: the status of a whole is the worst of its parts that lost something.
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
    """One hidden check that gave evidence on a share."""

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
    """A rubric line. `message` is the text a student reads, empty where nothing was lost."""

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

    `score` is None when the kit failed; `status` is "error" and `message` set when the
    submission could not be read.
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
    """The bytes of `result.json`: indented, in the contract's order, one newline at the end."""
    return msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n"


def decode_result(data: bytes) -> Result:
    """Read `result.json` again. Raises `UsageError` for anything else."""
    try:
        result = msgspec.json.decode(data, type=Result)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"not a result.json: {error}") from error
    if result.schema != SCHEMA:
        raise UsageError(f"result.json has schema {result.schema}; this kit reads schema {SCHEMA}")
    return result


def worst(statuses: tuple[Status, ...]) -> Status:
    """The worst of several statuses; `passed` of none."""
    return max(statuses, key=SEVERITY.index, default="passed")
