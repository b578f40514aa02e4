"""Source notebooks for nbgrader, one for each stage, and the lines of its configuration.

They go through `nbgrader generate_assignment` like any others. A criterion is a grade cell without
a test: it names the criterion, and `autograder.platforms.nbgrader` fills it. Public checks are
grade cells worth no points, since only grade cells are run by `nbgrader validate`.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from autograder.assignment.assignment import Assignment, Criterion, Stage
from autograder.assignment.location import find_assignment
from autograder.errors import InternalError, MissingRequirement, UsageError
from autograder.platforms.notebook_cells import Cell, code_cell, notebook_bytes, text_cell
from autograder.release.built import Files
from autograder.release.lesson import Lesson, figure_files, lessons_of
from autograder.release.public_checks import cell_of, shared_cell
from autograder.results.criterion_keys import criterion_key

CONFIG = "nbgrader_config.py"
BEGIN = "# >>> attention autograder: written by `autograder release nbgrader`, changes get lost\n"
END = "# <<< attention autograder\n"

_LINES = """\
from nbconvert.preprocessors import ClearMetadataPreprocessor
from nbgrader import preprocessors

from autograder.platforms.nbgrader import (
    BehindTheWall,
    CheckChanged,
    OverwriteChanged,
    RestoreCells,
)

c = get_config()
c.Autograde.sanitize_preprocessors = [
    preprocessors.ClearOutput,
    RestoreCells,  # instead of DeduplicateIds
    preprocessors.OverwriteKernelspec,
    OverwriteChanged,  # OverwriteCells and CheckCellMetadata, if there is anything to do
    CheckChanged,
]
c.OverwriteCells.add_missing_cells = True
c.Autograde.autograde_preprocessors = [
    BehindTheWall,  # instead of Execute
    preprocessors.IgnorePattern,
    ClearMetadataPreprocessor,
    preprocessors.LimitOutput,
    preprocessors.SaveAutoGrades,
    preprocessors.AssignLatePenalties,
    CheckChanged,
]
"""

_HEAD = """\
*You write in this notebook, in the cells below "{here}". Where the text names a file
`{package}/{module}.py`, it means those cells. Keep the names of functions and classes, and their
arguments; add cells of your own as you like. Cells with "public check" show how far you are.*"""

_EARLIER = """\
# Brings in what you wrote in earlier stages, from their notebooks as last saved.
%run {notebook}.ipynb"""

_JUDGED = """\
## Points

Your points come from hidden checks, after you have handed in. They try what the public checks
cannot show: other sizes, larger numbers, batches of different sequences. Each cell below stands for
one criterion; there is nothing to write or run in them. When your work comes back, score and reason
appear under each."""

_NOTICE = """\
# Nothing to do here.
import os

NOTICE = (
    "NOT GRADED, and no zeros given: the notebooks of the attention autograder need the lines that"
    " `autograder release nbgrader` wrote into nbgrader_config.py, and the autograder installed"
    " beside nbgrader. Add them and autograde again."
)
NOTICE if os.environ.get("NBGRADER_EXECUTION") == "autograde" else None"""

# Without the kit's lines nbgrader would run this and give all points for no output. A score above
# the maximum makes it refuse the submission instead, which leaves nobody with a wrong score.
_CRITERION = """\
# {title}: {points} {unit}. Hidden checks decide.
float("inf") if __import__("os").environ.get("NBGRADER_EXECUTION") == "autograde" else None"""


def nbgrader_files(assignment: Assignment, out: Path, named: Path | None = None) -> Files:
    """Everything that is built into a course's folder.

    Args:
        assignment: The assignment.
        out: The course's folder; other lines of its configuration are kept.
        named: The assignment's folder if graders would not find it by themselves; it is written
            into the configuration.

    Returns:
        Contents by path within the folder.

    Raises:
        MissingRequirement: nbgrader is not installed.
        UsageError: The configuration has lost one of the kit's two marks.
    """
    if find_spec("nbgrader") is None:
        raise MissingRequirement(
            "nbgrader is not installed: pip install 'attention-autograder[nbgrader]'"
        )
    files: dict[str, bytes] = {}
    source = f"source/{assignment.id}"
    lessons = lessons_of(assignment)
    shared = shared_cell(assignment)
    for lesson in lessons:
        cells = list(_cells(assignment, lesson, lessons, shared))
        _validate(cells)
        files[f"{source}/{notebook_name(lesson.stage)}.ipynb"] = notebook_bytes(cells)
        for path, data in figure_files(lesson).items():
            files[f"{source}/{path}"] = data
    files[CONFIG] = _config(out, named).encode()
    return files


def notebook_name(stage: Stage) -> str:
    """The name of a stage's notebook: its handout's, which begins with the stage's number."""
    return stage.handout.stem


def _cells(
    assignment: Assignment, lesson: Lesson, lessons: tuple[Lesson, ...], shared: str
) -> Iterator[Cell]:
    stage = lesson.stage
    here = "Your code"
    if lesson.number > 1:
        before = notebook_name(lessons[lesson.number - 2].stage)
        yield code_cell("earlier", _EARLIER.format(notebook=before), _marks("earlier", locked=True))
    first, *rest = lesson.before
    yield text_cell("goal", first)
    head = _HEAD.format(here=here, package=assignment.solutions.name, module=stage.module)
    yield text_cell("how-to", head)
    for number, section in enumerate(rest, 1):
        yield text_cell(f"text-{number}", section)
    yield text_cell("code", f"## {here}\n\n{lesson.introduction}")
    yield code_cell("imports", lesson.imports)
    yield code_cell("public-checks", shared, _marks("public-checks", locked=True))
    for exercise in lesson.exercises:
        name = exercise.name
        yield code_cell(name, exercise.solution, _marks(name, solution=True))
        if exercise.checks:
            title = f"# The public checks that `{name}` is needed for."
            source = cell_of(exercise.checks, title)
            yield code_cell(f"check-{name}", source, _marks(f"check-{name}", points=0))
    for number, section in enumerate(lesson.after, len(rest) + 1):
        yield text_cell(f"text-{number}", section)
    yield text_cell("points", _JUDGED)
    yield code_cell("hidden-checks", _NOTICE, _marks("hidden-checks", points=0))
    for criterion in stage.criteria:
        yield _criterion_cell(stage, criterion)


def _criterion_cell(stage: Stage, criterion: Criterion) -> Cell:
    key = criterion_key(stage.id, criterion.id)
    unit = "point" if criterion.points == 1 else "points"
    source = _CRITERION.format(title=criterion.title, points=criterion.points, unit=unit)
    return code_cell(key, source, _marks(key, points=criterion.points))


def _marks(
    name: str, *, solution: bool = False, locked: bool = False, points: int | None = None
) -> dict[str, Any]:
    """Marks for nbgrader: an answer, a read-only cell, or one that carries points."""
    marks: dict[str, Any] = {
        "schema_version": 3,
        "grade_id": name,
        "grade": points is not None,
        "solution": solution,
        "locked": locked or points is not None,
        "task": False,
    }
    if points is not None:
        marks["points"] = points
    return {"nbgrader": marks}


def _validate(cells: list[Cell]) -> None:
    """Have nbgrader validate the cells now rather than when they are released."""
    from nbformat import v4
    from nbgrader.nbgraderformat import MetadataValidator, ValidationError

    try:
        MetadataValidator().validate_nb(v4.new_notebook(cells=cells))
    except ValidationError as error:
        raise InternalError(f"nbgrader refuses the notebooks: {error}") from None


def _config(out: Path, named: Path | None) -> str:
    """The course's configuration with the kit's lines in it, and everything else as it was."""
    lines = _LINES
    if named is not None:
        lines += f"c.BehindTheWall.assignment = {str(find_assignment(named).parent)!r}\n"
    block = f"{BEGIN}{lines}{END}"
    file = out / CONFIG
    if not file.is_file():
        return block
    text = file.read_text(encoding="utf-8")
    if BEGIN not in text and END not in text:
        return f"{text.rstrip()}\n\n\n{block}" if text.strip() else block
    before, begun, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (begun and ended):
        raise UsageError(f"{file}: a line is missing: {BEGIN.strip()!r} or {END.strip()!r}")
    return f"{before}{block}{after}"
