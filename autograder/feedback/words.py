"""The few words and numbers that every table and page says in the same way."""

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
    """How a submission fared as a whole: `graded`, `error` (unreadable) or `ungraded`."""
    if result.score is None:
        return "ungraded"
    return result.status or "graded"


def points(score: float | None) -> str:
    """A score for people: whole where it is whole; a dash where there is none."""
    return "–" if score is None else f"{score:g}"
