"""What is said of a submission in which nothing that is graded was found."""

from collections.abc import Sequence

from autograder.assignment.assignment import Stage
from autograder.sandbox.host.loaded import LoadReport
from autograder.submissions.submission import Submission


def why_nothing(submission: Submission, chosen: Sequence[Stage], report: LoadReport) -> str | None:
    """A line for the result, the table and the class page; None where some name was found.

    The first of the loader's notes says what there is instead of the names; those on the reading
    may say why.
    """
    asked = [name for stage in chosen for name in stage.names]
    if not report.missing or any(name in report.found for name in asked):
        return None
    if report.found:
        others = ", ".join(list(report.found)[:3])
        stages = " and ".join(stage.id for stage in chosen)
        return (
            f"{submission.name}: nothing of {stages} was found, but {others}"
            f"{' and more' if len(report.found) > 3 else ''}: is it the work of another stage?"
        )
    reason = report.notes[0] if report.notes else "no graded name was found"
    seen = f" ({'; '.join(submission.notes[:2])})" if submission.notes else ""
    return f"{submission.name}: {reason}{seen}"
