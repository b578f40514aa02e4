"""What stands in for nbgrader's own preprocessors while notebooks of this kit are graded.

`RestoreCells` puts right what a student did to the cells that carry points. `BehindTheWall` takes
the place of `Execute`: it has the whole submitted folder graded behind the wall and writes score
and reason into each criterion's cell, in the form in which nbgrader's next steps read them. No
kernel is started. Notebooks of other assignments are treated as nbgrader treats them.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup
from nbformat import NotebookNode, v4
from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import DeduplicateIds, Execute
from nbgrader.utils import is_locked
from traitlets import Unicode

from autograder.assignment import Assignment, load_assignment
from autograder.errors import KitFault, WrongUse
from autograder.feedback.pages import prose
from autograder.feedback.plain import one_line, plain
from autograder.platforms.names import criteria_of, results_of
from autograder.platforms.warm import WarmJudge
from autograder.result import CriterionResult, Result

# What a criterion that lost nothing says, and one whose reason the policy holds back.
KEPT = "All points."
HELD_BACK = "The course does not show reasons now."

_judges: dict[tuple[Path, str], WarmJudge] = {}


class RestoreCells(DeduplicateIds):  # type: ignore[misc] # nbgrader is not typed
    """Puts back points, types, ids and missing cells as they were released; keeps all answers.

    Runs before nbgrader's own `OverwriteCells`, which stops at some of what it finds here.
    """

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """See nbgrader's preprocessors; `resources["nbgrader"]` tells whose notebook it is."""
        told = resources["nbgrader"]
        with Gradebook(told["db_url"]) as gradebook:
            notebook = gradebook.find_notebook(told["notebook"], told["assignment"])
            if not _is_ours(notebook, criteria_of(_assignment(self))):
                return super().preprocess(nb, resources)  # type: ignore[no-any-return]
            released = [_released(cell, notebook) for cell in notebook.source_cells]
        nb.cells = restored(nb.cells, released, self.log)
        return nb, resources


class BehindTheWall(Execute):  # type: ignore[misc] # nbgrader is not typed
    """Grades the student's submitted folder and fills the criteria's cells."""

    assignment = Unicode(
        "", help="The folder of the kit's assignment; else it is looked for from the course."
    ).tag(config=True)
    isolation = Unicode(
        "", help="bubblewrap, landlock or process; else the best that this machine offers."
    ).tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: Any, km: Any = None) -> tuple[Any, Any]:
        """See nbgrader's preprocessors. Raises what is not a student's to pay for."""
        told = resources["nbgrader"]
        judge = _judge(_assignment(self), self.isolation)
        criteria = criteria_of(judge.assignment)
        with Gradebook(told["db_url"]) as gradebook:
            notebook = gradebook.find_notebook(told["notebook"], told["assignment"])
            if not _is_ours(notebook, criteria):
                return super().preprocess(nb, resources, km)  # type: ignore[no-any-return]
            points = {cell.name: float(cell.max_score) for cell in notebook.grade_cells}
            explained = is_explained(judge.assignment, notebook.assignment.duedate)
        result = judge.grade(self._submitted(told, resources), told["student"])
        earned = results_of(result, judge.assignment)
        check_points(points, earned)
        fill(nb, earned, result, explained)
        _credit_absent(told, self._submitted(told, resources), earned)
        return nb, resources

    def _submitted(self, told: Mapping[str, str], resources: Any) -> Path:
        """What the student handed in, all of it; where it is gone, what was copied of it."""
        course = CourseDirectory(parent=self, config=self.config)
        place = Path(
            course.format_path(course.submitted_directory, told["student"], told["assignment"])
        )
        return place if place.is_dir() else Path(resources["metadata"]["path"])


def _is_ours(notebook: Any, criteria: Mapping[str, object]) -> bool:
    """Whether a notebook was released by this kit: told by the gradebook, never by a student."""
    return any(cell.name in criteria for cell in notebook.grade_cells)


def _assignment(preprocessor: Any) -> Assignment:
    named = preprocessor.config.BehindTheWall.get("assignment", "")
    return load_assignment(Path(named) if named else None)


def _judge(assignment: Assignment, isolation: str) -> WarmJudge:
    key = (assignment.folder, isolation)
    if key not in _judges:
        _judges[key] = WarmJudge(assignment, isolation or None)
    return _judges[key]


def is_explained(assignment: Assignment, due: datetime | None) -> bool:
    """Whether reasons are shown: by the policy and, where it says so, the date that is due."""
    policy = assignment.feedback.explanations
    if policy == "after_due":
        # nbgrader keeps dates in UTC and without a time zone.
        return due is not None and datetime.now(UTC).replace(tzinfo=None) > due
    return policy == "always"


# ------------------------------------------------------------------------------ filling cells


def check_points(points: Mapping[str, float], earned: Mapping[str, CriterionResult]) -> None:
    """Refuse to write scores into cells that were made for other points."""
    for name, criterion in earned.items():
        if points.get(name, criterion.max_score) != criterion.max_score:
            raise WrongUse(
                f"the cell {name} is worth {points[name]:g} points and the criterion"
                f" {criterion.max_score:g}: run `autograder release nbgrader` and `nbgrader"
                " generate_assignment --force` again"
            )


def fill(
    nb: NotebookNode, earned: Mapping[str, CriterionResult], result: Result, explained: bool
) -> None:
    """Write score and reason into every criterion's cell; `WrongUse` for a cell that has none."""
    notes = result.notes
    for cell in nb.cells:
        marks = cell.metadata.get("nbgrader", {})
        if not marks.get("grade") or cell.cell_type != "code" or marks.get("solution"):
            continue
        criterion = earned.get(marks["grade_id"])
        if criterion is not None:
            cell.outputs = _outputs(criterion, notes, explained)
            notes = ()  # once a notebook
        elif float(marks["points"]) > 0:
            raise WrongUse(
                f"the cell {marks['grade_id']} is an automatic test that no criterion knows;"
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
    # Whoever shows the page is not to take a dollar of a student's for a formula.
    page = Markup('<div class="tex2jax_ignore mathjax_ignore">{}{}</div>').format(
        prose(reason),
        Markup().join(Markup("<p><em>{}</em></p>").format(one_line(note)) for note in notes),
    )
    text = "\n".join([plain(reason), *map(one_line, notes)])
    return [
        v4.new_output("display_data", {"text/html": str(page), "text/plain": text}),
        v4.new_output("execute_result", {"text/plain": repr(float(criterion.score))}),
    ]


def _credit_absent(
    told: Mapping[str, str], submitted: Path, earned: Mapping[str, CriterionResult]
) -> None:
    """Names count wherever they are defined, also when a stage's notebook was not handed in."""
    with Gradebook(told["db_url"]) as gradebook:
        for notebook in gradebook.find_assignment(told["assignment"]).notebooks:
            if (submitted / f"{notebook.name}.ipynb").exists():
                continue
            absent = gradebook.find_submission_notebook(
                notebook.name, told["assignment"], told["student"]
            )
            for grade in absent.grades:
                if grade.name in earned:
                    grade.auto_score = earned[grade.name].score
        gradebook.db.commit()


# ----------------------------------------------------------------------------- restoring cells


def _released(source: Any, notebook: Any) -> NotebookNode:
    """A cell as it was released, from the gradebook."""
    grade = _named(notebook.grade_cells, source.name)
    is_solution = _named(notebook.solution_cells, source.name) is not None
    task = _named(notebook.task_cells, source.name)
    make: dict[str, Any] = {
        "code": v4.new_code_cell,
        "markdown": v4.new_markdown_cell,
        "raw": v4.new_raw_cell,
    }
    if source.cell_type not in make:
        raise KitFault(f"the gradebook has a cell {source.name} of the type {source.cell_type}")
    marks: dict[str, Any] = {
        "schema_version": 3,
        "grade_id": source.name,
        "grade": grade is not None,
        "solution": is_solution,
        "locked": bool(source.locked),
        "task": task is not None,
        "cell_type": source.cell_type,
        "checksum": source.checksum,
    }
    worth = grade or task
    if worth is not None:
        marks["points"] = float(worth.max_score)
    cell: NotebookNode = make[source.cell_type](source.source or "")
    cell.metadata["nbgrader"] = NotebookNode(marks)
    return cell


def _named(cells: Any, name: str) -> Any:
    return next((cell for cell in cells if cell.name == name), None)


def restored(
    handed_in: list[NotebookNode], released: list[NotebookNode], log: Any
) -> list[NotebookNode]:
    """The student's cells, each released one once and with its own marks; the missing put back."""
    known = {cell.metadata.nbgrader.grade_id: cell for cell in released}
    cells = list(handed_in)
    places: dict[str, int] = {}
    for place, cell in reversed(list(enumerate(cells))):
        marks = cell.metadata.pop("nbgrader", None)
        name = marks.get("grade_id") if isinstance(marks, dict) else None
        if not isinstance(name, str) or name not in known:
            continue
        if name in places:  # of two with one id the last counts, as in nbgrader
            log.warning("the cell %s is there twice; the last one counts", name)
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
            if not with_ids:
                del cell["id"]
            added.setdefault(before, []).append(cell)
    whole = added.get(-1, [])
    for place, cell in enumerate(cells):
        whole += [cell, *added.get(place, [])]
    return whole


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
