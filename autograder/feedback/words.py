"""The words and numbers that all tables and pages share."""

from autograder.results.result import Result, Status

WORDS: dict[Status, str] = {
    "passed": "",
    "failed": "wrong",
    "error": "raised an error",
    "timeout": "took too long",
    "killed": "was stopped",
    "missing": "not found",
    "blocked": "could not be seen",
}


def status_of(result: Result) -> str:
    """The status of a submission: `graded`, `error` (unreadable) or `ungraded` (kit failed)."""
    if result.score is None:
        return "ungraded"
    return result.status or "graded"


def points(score: float | None) -> str:
    """A score for people: without decimals if it is whole, a dash if there is none."""
    return "–" if score is None else f"{score:g}"
