"""Writes what a run leaves in its folder; each file is written beside the old one, then renamed."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from autograder.assignment.assignment import Assignment, Stage
from autograder.errors import MissingRequirement
from autograder.exports.grades import encoded, grades_csv
from autograder.feedback.pages import student_page
from autograder.feedback.plain import file_name
from autograder.gradebook.adjustments import Adjustment, adjusted
from autograder.gradebook.class_analysis import Graded
from autograder.gradebook.similarity import Pair
from autograder.results.result import encode_result


def write_student(
    folder: Path,
    graded: Graded,
    stages: Sequence[Stage],
    assignment: Assignment,
    adjustments: Sequence[Adjustment] = (),
    encoded: bytes | None = None,
) -> None:
    """Write a student's `result.json`, as graded, and `feedback.html`, as it counts.

    Args:
        folder: The folder of the class's results.
        graded: The result with its details.
        stages: The stages that were graded.
        assignment: The assignment.
        adjustments: The teacher's changes, of all students.
        encoded: The bytes of `result.json`, if they are known already.

    Raises:
        MissingRequirement: A file cannot be written.
    """
    place = folder / "students" / file_name(graded.student)
    told = adjusted(graded.result, adjustments, stages)
    page = student_page(told.result, assignment, graded.details, told.applied)
    write(place / "result.json", encoded or encode_result(graded.result))
    write(place / "feedback.html", page.encode())


def write_class(
    folder: Path,
    graded: Sequence[Graded],
    stages: Sequence[Stage],
    assignment: Assignment,
    adjustments: Sequence[Adjustment] = (),
    similar: Sequence[Pair] | None = None,
) -> None:
    """Write `grades.csv` and `class.html`.

    Args:
        folder: The folder of the class's results.
        graded: Every student's result with its details.
        stages: The stages that were graded.
        assignment: The assignment.
        adjustments: The teacher's changes.
        similar: Pairs of similar submissions; None if they were not compared.

    Raises:
        MissingRequirement: A file cannot be written.
    """
    from autograder.feedback.class_page import class_page  # brings what draws figures

    results = [entry.result for entry in graded]
    write(folder / "grades.csv", encoded(grades_csv(results, stages, adjustments)))
    page = class_page(graded, stages, assignment, adjustments, similar)
    write(folder / "class.html", page.encode())


def write(file: Path, data: bytes) -> None:
    """Write a file so that a reader finds the old content or the new, never half of it.

    Raises:
        MissingRequirement: The disk refuses it; finished results are in the gradebook.
    """
    beside = file.with_name(file.name + ".new")
    try:
        try:
            beside.write_bytes(data)
        except FileNotFoundError:  # rare: a folder gets several files
            file.parent.mkdir(parents=True, exist_ok=True)
            beside.write_bytes(data)
        beside.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise MissingRequirement(
            f"{file}: cannot be written ({error.strerror or error}); finished results are in the"
            " gradebook: make room, then run again"
        ) from None
