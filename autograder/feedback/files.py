"""Writes what a run leaves in its folder, each file beside its old self and then renamed."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from autograder.assignment import Assignment, Stage
from autograder.details import read_details
from autograder.errors import SurroundingsLack
from autograder.exports.grades import grades_csv
from autograder.feedback.pages import class_page, student_page
from autograder.feedback.plain import file_name
from autograder.result import Result, encode_result


def write_student(
    folder: Path, result: Result, assignment: Assignment, details: bytes = b""
) -> None:
    """A student's `result.json` and `feedback.html`."""
    place = folder / "students" / file_name(result.submission)
    write(place / "result.json", encode_result(result))
    page = student_page(result, assignment, read_details(details))
    write(place / "feedback.html", page.encode())


def write_class(
    folder: Path, results: Sequence[Result], stages: Sequence[Stage], assignment: Assignment
) -> None:
    """`grades.csv` and `class.html`."""
    write(folder / "grades.csv", grades_csv(results, stages).encode())
    write(folder / "class.html", class_page(results, stages, assignment).encode())


def write(file: Path, data: bytes) -> None:
    """Put `data` into `file` so that a reader finds the old content or the new, never a half."""
    beside = file.with_name(file.name + ".new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(data)
        beside.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise SurroundingsLack(
            f"{file}: cannot be written ({error.strerror or error}); what was graded is kept in the"
            " gradebook: make room, then run again"
        ) from None
