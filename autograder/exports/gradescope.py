"""Gradescope's CSV of grades: `Total Score` is filled in.

Gradescope does not import such a file; it is for passing scores on to another system.
"""

from collections.abc import Iterable

from autograder.exports.filling import Filled, Wanted, matched, number, required, scaled, shown
from autograder.exports.final import Final
from autograder.submissions.sheet import Sheet


def fill(sheet: Sheet, finals: Iterable[Final], wanted: Wanted) -> Filled:
    """Fill in the scores; stages get columns of their own at the end.

    Args:
        sheet: The grades as Gradescope exported them; changed in place.
        finals: The scores.
        wanted: The assignment, and what to fill in.

    Returns:
        An account of who got a score and who did not.

    Raises:
        UsageError: The column is missing.
    """
    column = required(sheet, wanted.column or "Total Score", platform="Gradescope")
    most = sheet.column("Max Points")
    rows, filled = matched(sheet, finals, "gradescope")
    other_points = set()
    for row, final in sorted(rows.items()):
        if final.score is None:
            filled.left.append((final.student, "the kit failed on the work"))
            continue
        theirs = number(sheet.text(row, most), sheet.delimiter)
        sheet.put(row, column, shown(scaled(final.score, wanted.points, theirs)))
        filled.rows[row] = final
        if theirs is not None and theirs != wanted.points:
            other_points.add(shown(theirs))
    if other_points:
        filled.notes.append(
            f"the file has {', '.join(sorted(other_points))} points: the scores of"
            f" {shown(wanted.points)} are scaled to that"
        )
    for stage in wanted.stages if wanted.by_stage else ():
        title = f"{stage.id} ({shown(stage.points)} pts)"
        place = sheet.column(title)
        if place is None:
            place = len(sheet.header)
            sheet.insert(place, title)
        for row, final in filled.rows.items():
            score = final.stage(stage)
            sheet.put(row, place, "" if score is None else shown(score))
    return filled
