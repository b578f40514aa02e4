"""Canvas's gradebook: the assignment's column is filled in, every other byte is left alone.

Canvas takes a blank over a score for a change, so a student without a result keeps the cell as it
was. `EX` (excused) and `N/A` (not assigned) stay. Missing columns for stages are inserted after
the assignment's; Canvas makes new assignments of them.
"""

import re
from collections.abc import Iterable, Iterator

from autograder.errors import UsageError
from autograder.exports.filling import Filled, Wanted, matched, number, scaled, shown
from autograder.exports.final import Final
from autograder.submissions.sheet import Sheet

COMPUTED = re.compile(r"(Current|Final|Override) (Score|Points|Grade|Status)")
TITLED = re.compile(r"(?P<title>.*?)\s*\((?P<id>\d+)\)")
KEPT = {"ex": "excused (EX)", "n/a": "not assigned (N/A)"}
POSSIBLE = "Points Possible"


def fill(sheet: Sheet, finals: Iterable[Final], wanted: Wanted) -> Filled:
    """Fill in the scores.

    Args:
        sheet: The gradebook as Canvas exported it; changed in place.
        finals: The scores.
        wanted: The assignment, and what to fill in.

    Returns:
        An account of who got a score and who did not.

    Raises:
        UsageError: Not Canvas's gradebook, or no column can be identified as the assignment's.
    """
    header = {title.casefold() for title in sheet.header}
    if not {"id", "section"} <= header:
        raise UsageError(
            f"{sheet.name}: line 1: expected Student, ID, Section as Canvas exports its gradebook;"
            f" found {', '.join(sheet.header)}"
        )
    column = _column(sheet, wanted)
    rows, filled = matched(sheet, finals, "canvas")
    _fill(sheet, column, rows, filled, wanted)
    if wanted.by_stage:
        _fill_stages(sheet, column, filled, wanted)
    return filled


def _fill(
    sheet: Sheet, column: int, rows: dict[int, Final], filled: Filled, wanted: Wanted
) -> None:
    possible = _possible(sheet)
    theirs = number(sheet.text(possible, column), sheet.delimiter) if possible else None
    if theirs is not None and theirs != wanted.points:
        filled.notes.append(
            f"{sheet.header[column]} has {shown(theirs)} points: the scores of"
            f" {shown(wanted.points)} are scaled to that"
        )
    for row, final in sorted(rows.items()):
        kept = KEPT.get(sheet.text(row, column).casefold())
        if final.score is None or kept:
            filled.left.append((final.student, kept or "the kit failed on the work"))
            continue
        sheet.put(row, column, shown(scaled(final.score, wanted.points, theirs)))
        filled.rows[row] = final


def _fill_stages(sheet: Sheet, column: int, filled: Filled, wanted: Wanted) -> None:
    title = _bare(sheet.header[column])
    behind = column
    for stage in wanted.stages:
        place = _titled(sheet, f"{title}: {stage.id}", stage.title, stage.id)
        if place is None:
            place = behind + 1
            sheet.insert(place, f"{title}: {stage.id}")
            possible = _possible(sheet)
            if possible:
                sheet.put(possible, place, str(stage.points))
        behind = max(behind, place)
        possible = _possible(sheet)
        theirs = number(sheet.text(possible, place), sheet.delimiter) if possible else None
        if theirs is not None and theirs != stage.points:
            filled.notes.append(
                f"{sheet.header[place]} has {shown(theirs)} points: the scores of"
                f" {stage.points} are scaled to that"
            )
        for row, final in filled.rows.items():
            score = final.stage(stage)
            if score is not None and sheet.text(row, place).casefold() not in KEPT:
                sheet.put(row, place, shown(scaled(score, float(stage.points), theirs)))


def _column(sheet: Sheet, wanted: Wanted) -> int:
    """The assignment's column: by number, by title, or the only one that can be filled in."""
    asked = (wanted.column,) if wanted.column else (wanted.title, wanted.id)
    found = _titled(sheet, *asked)
    stages = tuple(f": {stage.id}" for stage in wanted.stages)
    open_ones = [
        each for each in _assignments(sheet) if not _bare(sheet.header[each]).endswith(stages)
    ]
    if found is None and wanted.column is None and len(open_ones) == 1:
        return open_ones[0]
    if found is None:
        titles = "; ".join(sheet.header[each] for each in open_ones) or "none"
        raise UsageError(
            f"{sheet.name}: which column is the assignment's? There is no"
            f" {' or '.join(map(repr, asked))}; choose one with --column: {titles}"
        )
    return found


def _titled(sheet: Sheet, *wanted: str) -> int | None:
    """An assignment's column by its whole header, its title, or its number."""
    for each in wanted:
        for column in _assignments(sheet):
            header = sheet.header[column]
            parts = TITLED.fullmatch(header)
            names = [header, *(parts.groups() if parts else ())]
            if each.casefold() in (name.casefold() for name in names):
                return column
    return None


def _assignments(sheet: Sheet) -> Iterator[int]:
    """The columns that hold an assignment's scores and are not read-only."""
    first = sheet.column("section")
    possible = _possible(sheet)
    for column in range((first or 0) + 1, len(sheet.header)):
        read_only = possible and "read only" in sheet.text(possible, column).casefold()
        if sheet.header[column] and not COMPUTED.search(sheet.header[column]) and not read_only:
            yield column


def _possible(sheet: Sheet) -> int | None:
    """The row with each column's maximum points, if there is one."""
    return next((row for row in sheet.rows if sheet.text(row, 0) == POSSIBLE), None)


def _bare(header: str) -> str:
    parts = TITLED.fullmatch(header)
    return parts["title"] if parts else header
