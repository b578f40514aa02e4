"""`grades.csv`: a line a student, a column a stage."""

import csv
import io
from collections.abc import Iterable

from autograder.assignment import Stage
from autograder.feedback.plain import spreadsheet_cell
from autograder.feedback.words import status_of
from autograder.result import Result


def grades_csv(results: Iterable[Result], stages: Iterable[Stage]) -> str:
    """The table as CSV. A stage is 0 where the work could not be read, empty without a score."""
    columns = [stage.id for stage in stages]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["student", *columns, "score", "status"])
    for result in results:
        scores = {stage.id: stage.score for stage in result.stages}
        unseen = None if result.score is None else 0.0
        writer.writerow(
            [
                spreadsheet_cell(result.submission),
                *(_number(scores.get(stage, unseen)) for stage in columns),
                _number(result.score),
                status_of(result),
            ]
        )
    return text.getvalue()


def _number(score: float | None) -> str:
    return "" if score is None else f"{score:g}"
