"""Moodle's grading worksheet, and the zip of feedback files that goes with it.

Nothing but `Grade` is filled in: Moodle compares `Last modified (grade)` with what it has, so that
column stays as it is. With `--by-stage` an empty `Feedback comments` gets the points of the stages.
Worksheets are exported in the teacher's language: where the header is of none that is known here,
`--column` names the grade's column, and the two behind it are taken for maximum and lock.
"""

import io
import zipfile
from collections.abc import Callable, Iterable

from autograder.errors import UsageError
from autograder.exports.filling import Filled, Wanted, matched, number, required, scaled, shown
from autograder.exports.final import Final
from autograder.feedback.plain import file_name, one_line
from autograder.submissions.roster import people_of
from autograder.submissions.sheet import Sheet

# The headings of a worksheet in English, German, French, Spanish, Chinese.
GRADE = ("Grade", "Bewertung", "Note", "Calificación", "成绩", "分数")
MAXIMUM = (
    *("Maximum grade", "Bestwertung", "Maximale Bewertung", "Note maximale"),
    *("Calificación máxima", "最高成绩", "最高分"),
)
CHANGEABLE = (
    *("Grade can be changed", "Bewertung kann geändert werden", "La note peut être modifiée"),
    *("Note modifiable", "La calificación puede ser cambiada", "可以更改成绩"),
)
COMMENTS = (
    *("Feedback comments", "Feedback als Kommentar", "Commentaires de feedback"),
    *("Comentarios de retroalimentación", "反馈评论"),
)
# What "Grade can be changed" says of a locked grade, in a few languages.
LOCKED = frozenset(("no", "non", "nein", "nee", "não", "nej", "nei", "ne", "nie", "нет", "否"))
LONG_AGO = (2020, 1, 1, 0, 0, 0)  # the same bytes on every run


def fill(sheet: Sheet, finals: Iterable[Final], wanted: Wanted) -> Filled:
    """Fill in the grades.

    Args:
        sheet: The grading worksheet; changed in place.
        finals: The scores.
        wanted: The assignment, and what to fill in.

    Returns:
        An account of who got a grade and who did not.

    Raises:
        UsageError: Not a grading worksheet, or the assignment is graded by a scale.
    """
    if wanted.column:
        column = required(sheet, wanted.column, platform="Moodle")
    else:
        column = required(sheet, *GRADE, platform="Moodle")
    if sheet.column("Scale", "Skala", "Barème", "Escala", "量表") is not None:
        raise UsageError(f"{sheet.name}: graded by a scale; only numbers can be filled in")
    most = sheet.column(*MAXIMUM)
    lock = sheet.column(*CHANGEABLE)
    if sheet.column(*GRADE) is None:
        most, lock = most or column + 1, lock or column + 2
    comments = sheet.column(*COMMENTS)
    rows, filled = matched(sheet, finals, "moodle")
    other_points = set()
    for row, final in sorted(rows.items()):
        locked = sheet.text(row, lock).casefold() in LOCKED
        if final.score is None or locked:
            reason = "its grade cannot be changed" if locked else "the kit failed on the work"
            filled.left.append((final.student, reason))
            continue
        theirs = number(sheet.text(row, most), sheet.delimiter)
        comma = "," in sheet.text(row, most)
        sheet.put(row, column, shown(scaled(final.score, wanted.points, theirs), comma=comma))
        if theirs is not None and theirs != wanted.points:
            other_points.add(shown(theirs))
        if wanted.by_stage and comments is not None and not sheet.text(row, comments):
            sheet.put(row, comments, by_stage(final, wanted))
        filled.rows[row] = final
    if other_points:
        filled.notes.append(
            f"the worksheet has {', '.join(sorted(other_points))} points: the scores of"
            f" {shown(wanted.points)} are scaled to that"
        )
    return filled


def by_stage(final: Final, wanted: Wanted) -> str:
    """The points of the stages in one line, and the deduction for lateness."""
    parts = [
        f"{stage.id} {shown(final.stage(stage) or 0.0)} of {stage.points}"
        for stage in wanted.stages
    ]
    if final.lateness.percent:
        parts.append(f"{shown(final.lateness.percent)}% deducted: {final.lateness.reason}")
    return "; ".join(parts)


def feedback_zip(sheet: Sheet, filled: Filled, page: Callable[[Final], bytes]) -> bytes:
    """Pack each filled row's feedback page into the folder where Moodle looks for it.

    Args:
        sheet: The grading worksheet.
        filled: The account of filling it in.
        page: Makes the page of a score.

    Returns:
        The zip; the same scores give the same bytes.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        people = people_of(sheet)
        for row, final in sorted(filled.rows.items()):
            person = people[row]
            # Moodle ignores names that begin with a dot or a tilde.
            name = file_name(one_line(person.name).replace("_", " ")).lstrip(".~_ ")
            place = f"{name or 'Participant'}_{person.id}_assignfeedback_file/feedback.html"
            archive.writestr(zipfile.ZipInfo(place, LONG_AGO), page(final), zipfile.ZIP_DEFLATED)
    return packed.getvalue()
