"""From a class's gradebook to the files of a platform."""

from collections.abc import Callable, Iterable
from datetime import datetime, tzinfo
from pathlib import Path

import msgspec

from autograder.assignment.assignment import Assignment
from autograder.errors import UsageError
from autograder.exports import canvas, gradescope, moodle, nbgrader_gradebook, neutral
from autograder.exports.filling import Filled, Wanted
from autograder.exports.final import Final, final_scores, without_hand_in
from autograder.exports.grades import encoded
from autograder.exports.late import Times, parse_time, read_times, zone_of
from autograder.feedback.pages import student_page
from autograder.gradebook.adjustments import adjusted
from autograder.gradebook.gradebook import Gradebook
from autograder.grading.class_report import last_class
from autograder.results.details import Details
from autograder.submissions.sheet import Sheet

SHEETS: dict[str, Callable[[Sheet, Iterable[Final], Wanted], Filled]] = {
    "canvas": canvas.fill,
    "moodle": moodle.fill,
    "gradescope": gradescope.fill,
}
FORMATS = (*SHEETS, "nbgrader", "csv", "junit")


class ClassScores(msgspec.Struct, frozen=True):
    """The scores of a class's last run as they are handed on."""

    assignment: Assignment
    wanted: Wanted
    finals: tuple[Final, ...]
    details: dict[str, Details]  # by student, for the pages
    unused_times: tuple[str, ...]  # students whom the times name, and who have no result


class Export(msgspec.Struct, frozen=True):
    """The bytes of an export, and the account of a sheet or gradebook that was filled in.

    Attributes:
        data: The file's bytes; None for nbgrader's gradebook, which has been written already.
        filled: Who got a score and who did not; None for formats that nothing is filled into.
        feedback: A zip of feedback pages for Moodle, if it was asked for.
    """

    data: bytes | None
    filled: Filled | None = None
    feedback: bytes | None = None


def class_scores(
    folder: Path,
    *,
    times: Path | None = None,
    due: str | None = None,
    zone: str | None = None,
    assignment: Assignment | None = None,
) -> ClassScores:
    """Every score of the last run, after the late policy.

    `due` and `zone` take the place of the assignment's due date and time zone; `assignment` that
    of the run's.
    """
    with Gradebook(folder) as book:
        graded, stages, found = last_class(book)
        run = book.last_run()
        origins = book.origins(run) if run else {}
        adjustments = book.adjustments()
    loaded = assignment or found
    stages = tuple(loaded.stage(stage.id) for stage in stages)
    results = [adjusted(each.result, adjustments, stages) for each in graded]
    late = loaded.late
    if zone is not None:
        late = msgspec.structs.replace(late, zone=zone)
    place = zone_of(late.zone) if late.zone else None
    if due is not None:
        late = msgspec.structs.replace(late, due=_due(due, place))
    if late.due is not None and place is not None:
        late = msgspec.structs.replace(late, due=late.due.astimezone(place))
    known = read_times(times, late.due.tzinfo if late.due else None) if times else None
    finals = final_scores(results, origins, late, known)
    return ClassScores(
        loaded,
        Wanted(loaded.title, loaded.id, stages),
        finals,
        {each.student: each.details for each in graded},
        _names(finals, known) if known else (),
    )


def export(
    form: str,
    scores: ClassScores,
    into: Path | None = None,
    *,
    by_stage: bool = False,
    column: str | None = None,
    feedback: bool = False,
) -> Export:
    """A class's scores in a platform's format.

    Args:
        form: One of `FORMATS`.
        scores: What `class_scores` gives.
        into: The file that the platform exported, for formats that are filled in.
        by_stage: Fill in each stage's score too, where the format has room for it.
        column: The column to fill in, by its title; on Canvas also by its number.
        feedback: Pack the feedback pages as well (Moodle).

    Returns:
        The bytes, and the account of what was filled in. nbgrader's gradebook is written.

    Raises:
        UsageError: The format is unknown, or `into` is missing or not of this format.
        MissingRequirement: An extra is needed that is not installed.
    """
    wanted = msgspec.structs.replace(scores.wanted, by_stage=by_stage, column=column)
    if form in SHEETS:
        if into is None:
            raise UsageError(
                f"{form}: name the file that {form.capitalize()} exported with --into; the scores"
                " are filled into it"
            )
        sheet = Sheet.read(into)
        filled = SHEETS[form](sheet, scores.finals, wanted)
        zipped = None
        if feedback:
            zipped = moodle.feedback_zip(sheet, filled, lambda final: _page(final, scores))
        return Export(sheet.encode(), filled, zipped)
    is_gradebook = into is not None and into.suffix == ".db"
    if is_gradebook and form != "nbgrader":
        raise UsageError(
            f"{into}: only the format nbgrader can be written into nbgrader's gradebook"
        )
    if form == "nbgrader" and into is not None and is_gradebook:
        return Export(None, nbgrader_gradebook.fill(into, scores.finals, wanted))
    if form == "nbgrader":
        due = scores.assignment.late.due
        text = neutral.as_nbgrader(scores.finals, wanted, due.isoformat() if due else "")
        return Export(text.encode())
    if form == "csv":
        return Export(encoded(neutral.as_csv(scores.finals, wanted)))
    if form == "junit":
        return Export(neutral.as_junit(scores.finals, wanted))
    raise UsageError(f"unknown format {form!r}; choose from {', '.join(FORMATS)}")


def _page(final: Final, scores: ClassScores) -> bytes:
    """The page that `grade` writes for the student."""
    details = scores.details.get(final.student)
    return student_page(final.result, scores.assignment, details, final.told.applied).encode()


def _names(finals: tuple[Final, ...], times: Times) -> tuple[str, ...]:
    return tuple(person.student for person in without_hand_in(finals, times))


def _due(text: str, zone: tzinfo | None) -> datetime:
    found = parse_time(text, zone)
    if found is None:
        raise UsageError(
            "--due: expected a time with its offset, such as 2026-10-01T23:59+02:00, or --zone"
            f" with its place, such as Europe/Berlin; found"
            f" {text!r}"
        )
    return found
