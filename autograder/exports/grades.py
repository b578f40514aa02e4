"""`grades.csv`: a line for each student, a column for each stage."""

import csv
import io
from collections.abc import Sequence

from autograder.assignment.assignment import Stage
from autograder.feedback.plain import spreadsheet_cell
from autograder.feedback.words import status_of
from autograder.gradebook.adjustments import Adjusted, Adjustment, adjusted
from autograder.results.result import Result


def grades_csv(
    results: Sequence[Result],
    stages: Sequence[Stage],
    adjustments: Sequence[Adjustment] = (),
) -> str:
    """The table as CSV.

    Args:
        results: The results as graded.
        stages: The stages that were graded.
        adjustments: The teacher's changes, which are applied. If there are any, a last column says
            by how much each score changed.

    Returns:
        The text. A stage is 0 if the work could not be read, empty if there is no score.
    """
    columns = [stage.id for stage in stages]
    told = [adjusted(result, adjustments, stages) for result in results]
    any_changed = any(each.applied for each in told)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["student", *columns, "score", "status", *["changed by hand"] * any_changed])
    for each in told:
        result = each.result
        scores = {stage.id: stage.score for stage in result.stages}
        unseen = None if result.score is None else 0.0
        row = [
            spreadsheet_cell(result.submission),
            *(_number(scores.get(stage, unseen)) for stage in columns),
            _number(result.score),
            status_of(result),
        ]
        if any_changed:
            row.append(_number(_difference(each)) if each.applied else "")
        writer.writerow(row)
    return text.getvalue()


def encoded(table: str) -> bytes:
    """A table as UTF-8; with the mark by which a spreadsheet knows it, where there are accents."""
    return table.encode() if table.isascii() else table.encode("utf-8-sig")


def _difference(told: Adjusted) -> float:
    return round((told.result.score or 0.0) - (told.raw.score or 0.0), 4)


def _number(score: float | None) -> str:
    return "" if score is None else f"{score:g}"
