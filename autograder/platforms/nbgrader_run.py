"""What one `nbgrader autograde` looks up once, although it goes from notebook to notebook.

nbgrader makes new preprocessors for every notebook. What they share is kept here for one command,
or one press of the formgrader's button: the assignment, the notebooks as they were released, and
the result of the current student.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from nbformat import NotebookNode, v4
from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory

from autograder.assignment.assignment import Assignment, load_assignment
from autograder.assignment.secret import load_secret
from autograder.errors import InternalError
from autograder.platforms.warm import WarmJudge
from autograder.results.criterion_keys import criteria_of
from autograder.results.grading_key import grading_key
from autograder.results.result import Result

_judges: dict[tuple[Path, str], tuple[str, WarmJudge]] = {}


@dataclass(frozen=True)
class Released:
    """One of this kit's notebooks as it was released, from the gradebook.

    Attributes:
        cells: The cells with nbgrader's marks; to be copied, not changed.
        points: The points of each grade cell.
        due: The due date, in UTC and without a time zone.
        in_order: nbgrader's steps that have accepted the cells as released.
    """

    cells: tuple[NotebookNode, ...]
    points: Mapping[str, float]
    due: datetime | None
    in_order: set[str] = field(default_factory=set)


class Run:
    """What is shared from the first notebook of one command to the last."""

    def __init__(self, assignment: Assignment, isolation: str) -> None:
        self.assignment = assignment
        self.criteria = criteria_of(assignment)
        self._isolation = isolation
        self._released: dict[tuple[str, str], Released | None] = {}
        self._names: tuple[str, ...] | None = None
        self._judge: WarmJudge | None = None
        self._begun: set[Path] = set()
        self._graded: tuple[Path, Result] | None = None

    def released(self, told: Mapping[str, str]) -> Released | None:
        """The notebook as it was released. The gradebook decides, never a student's file.

        Args:
            told: What nbgrader says about a notebook: assignment, notebook, student, `db_url`.

        Returns:
            The notebook; None if it is not one of this kit.
        """
        key = told["assignment"], told["notebook"]
        if key not in self._released:
            with Gradebook(told["db_url"]) as gradebook:
                notebook = gradebook.find_notebook(told["notebook"], told["assignment"])
                points = {cell.name: float(cell.max_score) for cell in notebook.grade_cells}
                self._released[key] = (
                    Released(tuple(_cells(notebook)), points, notebook.assignment.duedate)
                    if any(name in self.criteria for name in points)
                    else None
                )
        return self._released[key]

    def notebooks(self, told: Mapping[str, str]) -> tuple[str, ...]:
        """The names of all notebooks of the assignment that `told` names."""
        if self._names is None:
            with Gradebook(told["db_url"]) as gradebook:
                notebooks = gradebook.find_assignment(told["assignment"]).notebooks
                self._names = tuple(notebook.name for notebook in notebooks)
        return self._names

    def begin(self, place: Path, student: str) -> None:
        """Have a student's folder graded while nbgrader does something else."""
        if place not in self._begun:
            self._begun.add(place)
            self._started().begin(place, student)

    def grade(self, place: Path, student: str) -> Result:
        """The result of a student's folder, one for all its notebooks.

        Raises:
            InternalError: The kit failed.
            MissingRequirement: Nothing can be graded on this machine.
        """
        if self._graded is None or self._graded[0] != place:
            self._graded = place, self._started().grade(place, student)
        return self._graded[1]

    def _started(self) -> WarmJudge:
        """The judge of this process; a new one if something that it grades by has changed."""
        if self._judge is None:
            key = self.assignment.folder, self._isolation
            digest = grading_key(self.assignment, load_secret(self.assignment)).digest
            known, judge = _judges.get(key, ("", None))
            if judge is None or known != digest:
                if judge is not None:
                    judge.close()
                judge = WarmJudge(self.assignment, self._isolation or None)
                _judges[key] = digest, judge
            self._judge = judge
        return self._judge


_runs: WeakKeyDictionary[Any, Run] = WeakKeyDictionary()


def run_of(preprocessor: Any) -> Run:
    """The run that a preprocessor belongs to: all preprocessors of a run share an exporter."""
    run = _runs.get(preprocessor.parent) if preprocessor.parent is not None else None
    if run is None:
        settings = preprocessor.config.BehindTheWall
        named = settings.get("assignment", "")
        assignment = load_assignment(Path(named) if named else None)
        run = Run(assignment, settings.get("isolation", ""))
        if preprocessor.parent is not None:
            _runs[preprocessor.parent] = run
    return run


def submitted(preprocessor: Any, told: Mapping[str, str]) -> Path:
    """The folder that a student handed in."""
    course = _course(preprocessor)
    return Path(course.format_path(course.submitted_directory, told["student"], told["assignment"]))


def next_submitted(preprocessor: Any, told: Mapping[str, str]) -> tuple[Path, str] | None:
    """Folder and name of the student whom nbgrader will grade next, if that is known."""
    converter = _converter(preprocessor)
    if converter is None:
        return None
    course = converter.coursedir
    asked = re.compile(
        course.format_path(
            course.submitted_directory,
            "(?P<student>.*)",
            re.escape(told["assignment"]),
            escape=True,
        )
    )
    excluded = (course.student_id_exclude or "").split(",")
    here = str(submitted(preprocessor, told))
    for place in sorted(place for place in converter.assignments if place > here):
        match = asked.fullmatch(place)
        if match is None or match["student"] in excluded:
            continue
        done = course.format_path(course.autograded_directory, match["student"], told["assignment"])
        if converter.force or not Path(done).exists():
            return Path(place), match["student"]
    return None


def _converter(preprocessor: Any) -> Any:
    """The application `Autograde`, which knows the class; None if the preprocessor runs alone."""
    converter = getattr(preprocessor.parent, "parent", None)
    return converter if hasattr(converter, "assignments") else None


def _course(preprocessor: Any) -> Any:
    converter = _converter(preprocessor)
    if converter is not None:
        return converter.coursedir
    return CourseDirectory(parent=preprocessor, config=preprocessor.config)


def _cells(notebook: Any) -> Iterator[NotebookNode]:
    """The cells as they were released."""
    make: dict[str, Any] = {
        "code": v4.new_code_cell,
        "markdown": v4.new_markdown_cell,
        "raw": v4.new_raw_cell,
    }
    solutions = {cell.name for cell in notebook.solution_cells}
    grades = {cell.name: cell for cell in notebook.grade_cells}
    tasks = {cell.name: cell for cell in notebook.task_cells}
    for source in notebook.source_cells:
        if source.cell_type not in make:
            raise InternalError(
                f"the gradebook has a cell {source.name} of the type {source.cell_type}"
            )
        marks: dict[str, Any] = {
            "schema_version": 3,
            "grade_id": source.name,
            "grade": source.name in grades,
            "solution": source.name in solutions,
            "locked": bool(source.locked),
            "task": source.name in tasks,
            "cell_type": source.cell_type,
            "checksum": source.checksum,
        }
        worth = grades.get(source.name) or tasks.get(source.name)
        if worth is not None:
            marks["points"] = float(worth.max_score)
        cell: NotebookNode = make[source.cell_type](source.source or "")
        cell.metadata["nbgrader"] = NotebookNode(marks)
        yield cell
