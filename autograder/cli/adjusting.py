"""A teacher's change, from the command line into the gradebook and onto the pages."""

from pathlib import Path

from autograder.errors import UsageError
from autograder.feedback.plain import one_line
from autograder.feedback.words import points as in_words
from autograder.gradebook.adjustments import Adjustment, adjusted, place_of
from autograder.gradebook.gradebook import Gradebook
from autograder.grading.class_report import last_class, report_class


def adjust_and_report(
    folder: Path,
    student: str,
    criterion: str,
    points: float | None,
    reason: str,
    *,
    remove: bool,
) -> str:
    """Store the change, write the pages again, and say what it did.

    Args:
        folder: The folder that `grade` wrote.
        student: The entry's name, as in `grades.csv`.
        criterion: The criterion's id, or `stage/criterion` where several stages have it.
        points: What the criterion counts from now on; None with `remove`.
        reason: What the student reads about it; needed with `points`.
        remove: Take an earlier change back.

    Returns:
        One line for the terminal: what counts now, and the new score.

    Raises:
        UsageError: The options contradict each other, or the folder has no such student or
            criterion.
    """
    if remove == (points is not None):
        raise UsageError("give either --points P or --remove")
    if points is not None and not reason.strip():
        raise UsageError("a change of points needs a --reason; the student will read it")
    with Gradebook(folder) as book:
        graded, stages, _ = last_class(book)
        stage, criterion_id, most = place_of(stages, criterion)
        place = f"{stage.id}/{criterion_id}"
        if points is not None and points > most:
            raise UsageError(f"{place} is worth {in_words(most)} points, not {in_words(points)}")
        entry = next((each for each in graded if each.student == student), None)
        if entry is None:
            known = ", ".join(each.student for each in graded)
            raise UsageError(f"{folder}: no student {student!r}; known are {known}")
        if entry.result.score is None:
            raise UsageError(f"{student} has no score yet because the kit failed; grade again")
        in_force = [
            each
            for each in book.adjustments()
            if (each.student, each.stage, each.criterion) == (student, stage.id, criterion_id)
        ]
        if remove and not in_force:
            raise UsageError(f"{student}: {place} has no change to remove")
        book.adjust(Adjustment(student, stage.id, criterion_id, points, reason.strip()))
        told = adjusted(entry.result, book.adjustments(), stages).result
    report_class(folder)
    now = "counts as graded again" if remove else f"counts {in_words(points)}"
    return (
        f"{one_line(student)}: {place} {now};"
        f" the score is {in_words(told.score)} of {in_words(told.max_score)}"
    )
