"""The same class by nbgrader as it is, which runs each notebook in a kernel of its own.

Twice: with everything in one notebook, which is the cheapest way to ask these checks, and with a
notebook for each stage, as the kit releases them. What the notebooks ask is the same.
"""

from __future__ import annotations

import csv
import inspect
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path

from autograder.assignment.assignment import Assignment, load_assignment
from bench import notebooks
from bench.classroom import ROOT, STAGES, Member
from bench.kernel_checks import CHECKS, call_of, source_of
from bench.peers import Peers, judged
from bench.table import STARTED, WHOLE, Row, Tell, median_interval

HOMEWORK = "homework"
STAGED = "nbgrader, a notebook a stage"

Notebooks = Mapping[str, Sequence[notebooks.Cell]]  # by file name, without its ending
Check = Callable[..., None]


def nbgrader(peers: Peers, students: tuple[Member, ...], tell: Tell) -> list[Row]:
    """`nbgrader autograde` of the whole class in one command, a notebook a student."""
    cells = [notebooks.cell("imports", notebooks.IMPORTS)]
    cells += [notebooks.cell(stage, "...", _marked(stage, solution=True)) for stage in STAGES]
    cells += _check_cells(CHECKS)
    course = peers.scratch / "nbgrader"
    answers = [student.cells for student in students]
    seconds = _autograde(peers, course, {"attention": cells}, students, answers)
    graded = list(course.glob(f"autograded/*/{HOMEWORK}/attention.ipynb"))
    tell(f"nbgrader autograde: {seconds:.1f} s for {len(graded)}")
    started = median_interval([path.stat().st_mtime for path in graded])
    return [
        Row("nbgrader", WHOLE, seconds / len(students), "s"),
        Row("nbgrader", STARTED, started, "ms"),
    ]


def staged(peers: Peers, students: tuple[Member, ...], tell: Tell) -> list[Row]:
    """The same with a notebook a stage: the kit's texts, and what was written so far."""
    course = peers.scratch / "staged"
    answers = [written_so_far(student) for student in students]
    seconds = _autograde(peers, course, stage_notebooks(load_assignment(ROOT)), students, answers)
    tell(f"{STAGED}, nbgrader autograde: {seconds:.1f} s for {len(students)}")
    return [Row(STAGED, WHOLE, seconds / len(students), "s")]


def written_so_far(student: Member) -> tuple[str, ...]:
    """For each stage the code of this stage and of those before it, which it may lean on."""
    return tuple(accumulate(student.cells, lambda before, cell: f"{before}\n\n{cell}"))


def stage_notebooks(assignment: Assignment) -> Notebooks:
    """The teacher's notebooks, one a stage: the texts that the kit releases, and its checks."""
    sources = assignment.folder / "nbgrader" / "source" / assignment.id
    found = {}
    for stage in assignment.stages:
        name = stage.handout.stem
        cells = notebooks.read(sources / f"{name}.ipynb")
        texts = [cell for cell in cells if cell["cell_type"] == "markdown"]
        checks = [check for check in CHECKS if _stage_of(check, assignment) == stage.id]
        found[name] = [
            *texts,
            notebooks.cell("imports", notebooks.IMPORTS),
            notebooks.cell(stage.id, "...", _marked(stage.id, solution=True)),
            *_check_cells(checks),
        ]
    return found


def _autograde(
    peers: Peers,
    course: Path,
    sources: Notebooks,
    students: tuple[Member, ...],
    answers: Sequence[Sequence[str]],
) -> float:
    """The seconds of `nbgrader autograde`, by which everybody got the points they should.

    answers: each student's, for the cell of each stage.
    """
    there = f"--course-dir={course}"
    for name, cells in sources.items():
        notebooks.write(course / "source" / HOMEWORK / f"{name}.ipynb", cells)
    peers.run("nbgrader", "generate_assignment", HOMEWORK, "--create", there)
    for student, answer in zip(students, answers, strict=True):
        for name in sources:
            released = notebooks.read(course / "release" / HOMEWORK / f"{name}.ipynb")
            path = course / "submitted" / student.name / HOMEWORK / f"{name}.ipynb"
            notebooks.write(path, notebooks.filled(released, answer))
    seconds = peers.run("nbgrader", "autograde", HOMEWORK, "--create", there)
    grades = course / "grades.csv"
    peers.run("nbgrader", "export", f"--to={grades}", f"--db=sqlite:///{course}/gradebook.db")
    with grades.open(encoding="utf-8", newline="") as file:
        scores = {line["student_id"]: float(line["raw_score"]) for line in csv.DictReader(file)}
    judged("nbgrader", students, scores)
    return seconds


def _check_cells(checks: Sequence[Check]) -> list[notebooks.Cell]:
    """A graded cell for each check."""
    return [
        notebooks.cell(
            check.__name__,
            f"{source_of(check)}\n\n{call_of(check)}\n",
            _marked(check.__name__, solution=False),
        )
        for check in checks
    ]


def _stage_of(check: Check, assignment: Assignment) -> str:
    """The stage by which everything is written that a check asks for."""
    asked = {assignment.stage_of(name).id for name in inspect.signature(check).parameters}
    return max(asked, key=STAGES.index)


def _marked(name: str, solution: bool) -> dict[str, object]:
    """What nbgrader wants to know of a cell."""
    marks: dict[str, object] = {
        "schema_version": 3,
        "grade_id": name,
        "grade": not solution,
        "solution": solution,
        "locked": not solution,
        "task": False,
    }
    return {"nbgrader": marks if solution else marks | {"points": 1}}
