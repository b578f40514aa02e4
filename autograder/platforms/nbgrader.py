"""Preprocessors that replace nbgrader's own while notebooks of this kit are graded.

`RestoreCells` repairs what a student did to the cells that carry points. `BehindTheWall` replaces
`Execute`: it has the whole submitted folder graded behind the wall and writes score and reason into
each criterion's cell, in the form that nbgrader's next steps read. No kernel is started.
`OverwriteChanged` and `CheckChanged` are nbgrader's own steps, skipped if they have nothing to do.
Notebooks of other assignments are treated as nbgrader treats them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup
from nbformat import NotebookNode, from_dict
from nbgrader.api import Gradebook
from nbgrader.preprocessors import (
    CheckCellMetadata,
    DeduplicateIds,
    Execute,
    NbGraderPreprocessor,
    OverwriteCells,
)
from nbgrader.utils import is_grade, is_locked, is_task
from traitlets import Unicode

from autograder.assignment.assignment import Assignment
from autograder.errors import UsageError
from autograder.feedback.pages import prose
from autograder.feedback.plain import one_line, plain
from autograder.platforms.nbgrader_run import Released, next_submitted, run_of, submitted
from autograder.results.criterion_keys import results_of
from autograder.results.result import CriterionResult, Result

# The text of a criterion that lost nothing, and of one whose reason the policy holds back.
KEPT = "All points."
HELD_BACK = "The course does not show reasons now."


class RestoreCells(DeduplicateIds):  # type: ignore[misc] # nbgrader is not typed
    """Restores points, types, ids and missing cells as they were released; keeps all answers.

    Runs before nbgrader's own `OverwriteCells`, which stops at some of what this repairs. A
    student's first notebook starts the grading of the whole folder.
    """

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """See nbgrader's preprocessors; `resources["nbgrader"]` says whose notebook it is."""
        told = resources["nbgrader"]
        run = run_of(self)
        released = run.released(told)
        if released is None:
            return super().preprocess(nb, resources)  # type: ignore[no-any-return]
        if BehindTheWall(parent=self.parent).enabled:  # unless nbgrader was told to run nothing
            run.begin(submitted(self, told), told["student"])
        nb.cells = restored(nb.cells, released.cells, self.log)
        return nb, resources


class _OfWhatChanged(NbGraderPreprocessor):  # type: ignore[misc] # nbgrader is not typed
    """A step of nbgrader's that looks only at marks, types and locked sources of cells.

    Once it has accepted a notebook's cells as released, it would accept the same cells from every
    student, so it is skipped from the second student on. Most of nbgrader's time for a notebook
    goes into asking its gradebook and its schema about such cells.
    """

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """See nbgrader's preprocessors."""
        run = run_of(self)
        released = run.released(resources["nbgrader"])
        if released is None or not are_released(nb.cells, released):
            return super().preprocess(nb, resources)  # type: ignore[no-any-return]
        step = type(self).__name__
        if step not in released.in_order:
            nb, resources = super().preprocess(nb, resources)
            if are_released(nb.cells, released):
                released.in_order.add(step)
        return nb, resources


class OverwriteChanged(_OfWhatChanged, OverwriteCells):  # type: ignore[misc]
    """nbgrader's `OverwriteCells`, for notebooks that are not as they were released."""


class CheckChanged(_OfWhatChanged, CheckCellMetadata):  # type: ignore[misc]
    """nbgrader's `CheckCellMetadata`, for notebooks that are not as they were released."""


class BehindTheWall(Execute):  # type: ignore[misc] # nbgrader is not typed
    """Grades the student's submitted folder and fills the criteria's cells."""

    assignment = Unicode(
        "", help="The folder of the kit's assignment. Default: searched from the course upward."
    ).tag(config=True)
    isolation = Unicode(
        "", help="bubblewrap, landlock or process. Default: the best level this machine offers."
    ).tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: Any, km: Any = None) -> tuple[Any, Any]:
        """See nbgrader's preprocessors.

        Raises:
            InternalError: The kit failed; no score is written.
            MissingRequirement: Nothing can be graded on this machine.
            UsageError: The notebook does not fit the assignment.
        """
        told = resources["nbgrader"]
        run = run_of(self)
        released = run.released(told)
        if released is None:
            return super().preprocess(nb, resources, km)  # type: ignore[no-any-return]
        place = submitted(self, told)
        if not place.is_dir():
            place = Path(resources["metadata"]["path"])  # nbgrader's copy of it
        result = run.grade(place, told["student"])
        following = next_submitted(self, told)
        if following is not None:
            run.begin(*following)
        earned = results_of(result, run.assignment)
        check_points(released.points, earned)
        fill(nb, earned, result, is_explained(run.assignment, released.due))
        absent = [name for name in run.notebooks(told) if not (place / f"{name}.ipynb").exists()]
        if absent:
            _credit(absent, told, earned)
        return nb, resources


def is_explained(assignment: Assignment, due: datetime | None) -> bool:
    """Whether reasons are shown.

    Args:
        assignment: The assignment, whose policy decides.
        due: The due date, in UTC and without a time zone; None hides reasons under `after_due`.
    """
    policy = assignment.feedback.explanations
    if policy == "after_due":
        # nbgrader keeps dates in UTC and without a time zone.
        return due is not None and datetime.now(UTC).replace(tzinfo=None) > due
    return policy == "always"


# ------------------------------------------------------------------------------ filling cells


def check_points(points: Mapping[str, float], earned: Mapping[str, CriterionResult]) -> None:
    """Make sure that cells and criteria have the same points.

    Args:
        points: The points of each grade cell.
        earned: The criteria's results, by the name of their cell.

    Raises:
        UsageError: They differ: the notebooks are older than the rubric.
    """
    for name, criterion in earned.items():
        if points.get(name, criterion.max_score) != criterion.max_score:
            raise UsageError(
                f"the cell {name} is worth {points[name]:g} points and the criterion"
                f" {criterion.max_score:g}: run `autograder release nbgrader` and `nbgrader"
                " generate_assignment --force` again"
            )


def fill(
    nb: NotebookNode, earned: Mapping[str, CriterionResult], result: Result, explained: bool
) -> None:
    """Write score and reason into every criterion's cell.

    Args:
        nb: The notebook; changed in place.
        earned: The criteria's results, by the name of their cell.
        result: The whole result, whose notes go under the first criterion.
        explained: Whether reasons are shown.

    Raises:
        UsageError: A grade cell with points belongs to no criterion.
    """
    notes = result.notes
    for cell in nb.cells:
        marks = cell.metadata.get("nbgrader", {})
        if not marks.get("grade") or cell.cell_type != "code" or marks.get("solution"):
            continue
        criterion = earned.get(marks["grade_id"])
        if criterion is not None:
            cell.outputs = _outputs(criterion, notes, explained)
            notes = ()  # once in each notebook
        elif float(marks["points"]) > 0:
            raise UsageError(
                f"the cell {marks['grade_id']} is an automatic test that belongs to no criterion;"
                " nothing would run it here: make it a manually graded cell, or add a criterion"
                " to assignment.toml"
            )


def _outputs(
    criterion: CriterionResult, notes: tuple[str, ...], explained: bool
) -> list[NotebookNode]:
    """Score and reason as nbgrader reads and shows them.

    The score is a plain float in an execute result: the one output that decides. The reason is
    only shown, and escaped.
    """
    if criterion.score == criterion.max_score:
        reason = KEPT
    else:
        reason = criterion.message if explained else HELD_BACK
    # A student's dollar sign must not become a formula where the page is shown.
    page = Markup('<div class="tex2jax_ignore mathjax_ignore">{}{}</div>').format(
        prose(reason),
        Markup().join(Markup("<p><em>{}</em></p>").format(one_line(note)) for note in notes),
    )
    text = "\n".join([plain(reason), *map(one_line, notes)])
    shown = {"text/html": str(page), "text/plain": text}
    score = {"text/plain": repr(float(criterion.score))}
    # Not by `v4.new_output`, which validates each output: the whole notebook is validated anyway.
    return [
        from_dict({"output_type": "display_data", "metadata": {}, "data": shown}),
        from_dict(
            {
                "output_type": "execute_result",
                "metadata": {},
                "data": score,
                "execution_count": None,
            }
        ),
    ]


def _credit(
    absent: Iterable[str], told: Mapping[str, str], earned: Mapping[str, CriterionResult]
) -> None:
    """Give points for names that are defined elsewhere if a stage's notebook is missing."""
    with Gradebook(told["db_url"]) as gradebook:
        for name in absent:
            notebook = gradebook.find_submission_notebook(name, told["assignment"], told["student"])
            for grade in notebook.grades:
                if grade.name in earned:
                    grade.auto_score = earned[grade.name].score
        gradebook.db.commit()


# ----------------------------------------------------------------------------- restoring cells


def restored(
    handed_in: Sequence[NotebookNode], released: Sequence[NotebookNode], log: Any
) -> list[NotebookNode]:
    """Restore the cells of a notebook.

    Args:
        handed_in: The student's cells.
        released: The cells with marks, as released.
        log: nbgrader's logger, which hears of repairs.

    Returns:
        The student's cells, each released one exactly once and with its own marks; missing ones
        are put back.
    """
    known = {cell.metadata.nbgrader.grade_id: cell for cell in released}
    cells = list(handed_in)
    places: dict[str, int] = {}
    for place, cell in reversed(list(enumerate(cells))):
        marks = cell.metadata.pop("nbgrader", None)
        name = marks.get("grade_id") if isinstance(marks, dict) else None
        if not isinstance(name, str) or name not in known:
            continue
        if name in places:  # of two with one id the last counts, as in nbgrader
            log.warning("the cell %s appears twice; the last one counts", name)
            continue
        cells[place] = _with_marks(cell, known[name])
        places[name] = place
    with_ids = any("id" in cell for cell in handed_in)  # since version 4.5 of the format
    before = len(cells) - 1 if not places else -1
    added: dict[int, list[NotebookNode]] = {}
    for name, cell in known.items():
        before = places.get(name, before)
        marks = cell.metadata.nbgrader
        if name not in places and (marks.grade or marks.task):
            log.warning("the cell %s is missing; it is put back", name)
            whole_cell = copy.deepcopy(cell)
            if not with_ids:
                del whole_cell["id"]
            added.setdefault(before, []).append(whole_cell)
    whole = added.get(-1, [])
    for place, cell in enumerate(cells):
        whole += [cell, *added.get(place, [])]
    return whole


def are_released(cells: Iterable[NotebookNode], released: Released) -> bool:
    """Whether all cells with marks are as they were released, and none is missing."""
    known = {cell.metadata.nbgrader.grade_id: cell for cell in released.cells}
    found = set()
    for cell in cells:
        marks = cell.metadata.get("nbgrader")
        if marks is None:
            continue
        name = marks.get("grade_id")
        like = known.get(name)
        if (
            like is None
            or name in found
            or marks != like.metadata.nbgrader
            or cell.cell_type != like.cell_type
            or (is_locked(like) and cell.source != like.source)
        ):
            return False
        found.add(name)
    judged = {name for name, cell in known.items() if is_grade(cell) or is_task(cell)}
    return judged <= found


def _with_marks(cell: NotebookNode, released: NotebookNode) -> NotebookNode:
    """A student's cell with the type and the marks of the released one, and its own source."""
    whole = copy.deepcopy(released)
    if not is_locked(released):
        whole.source = cell.source
    if "id" in cell:
        whole["id"] = cell["id"]
    else:
        del whole["id"]
    return whole
