"""The plugin through which otter-grader asks our judge.

otter runs a submission and its tests in one kernel, in the teacher's own account. So everything
happens before that: the submission is graded behind the wall, then moved out of otter's reach, and
otter gets an empty notebook to run. What otter finds there is replaced by the judge's results.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nbformat import NotebookNode, v4
from otter.plugins import AbstractOtterPlugin
from otter.test_files import GradingResults
from otter.test_files.abstract_test import TestCaseResult

from autograder.assignment.assignment import load_assignment
from autograder.errors import InternalError
from autograder.feedback.plain import one_line, plain
from autograder.feedback.words import points
from autograder.platforms.notebook_cells import KERNEL
from autograder.platforms.warm import WarmJudge
from autograder.results.criterion_keys import criteria_of, results_of
from autograder.results.result import CriterionResult, Result

KEPT = "All points."
HELD_BACK = "The course does not show reasons now."


class BehindTheWall(AbstractOtterPlugin):  # type: ignore[misc] # otter is not typed
    """Grades with the kit's judge. Configuration: `assignment` and `isolation`, both optional."""

    def __init__(self, submission_path: str, submission_metadata: Any, plugin_config: Any) -> None:
        super().__init__(submission_path, submission_metadata, plugin_config)
        settings: Mapping[str, str] = plugin_config or {}
        named = settings.get("assignment")
        self._assignment = load_assignment(Path(named) if named else None)
        self._isolation = settings.get("isolation")
        self._result: Result | None = None

    def during_assign(self, assignment: Any) -> None:
        """Remove the criteria from what students get: without their test they would seem passed."""
        tests = Path(assignment.get_stu_path("tests"))
        for name in criteria_of(self._assignment):
            (tests / f"{name}.py").unlink(missing_ok=True)

    def before_grading(self, config: Any) -> None:
        """Grade what was handed in, then remove it from where otter would load or run it.

        That includes more than the notebook: otter's log is a pickle, and a file called `torch.py`
        would be imported.
        """
        work = Path(self.submission_path)
        judge = WarmJudge(self._assignment, self._isolation)
        try:
            self._result = judge.grade(work.parent, work.stem)
        finally:
            judge.close()
        for path in work.parent.iterdir():
            if path.is_dir() and not path.is_symlink():
                if path.name != "tests":  # otter's own, copied over the student's
                    shutil.rmtree(path)
            else:
                path.unlink()
        empty = "" if work.suffix == ".py" else _json(_empty_notebook())
        work.write_text(empty, encoding="utf-8")

    def before_execution(self, submission: Any) -> NotebookNode:
        """Replace the submission by an empty notebook."""
        return _empty_notebook()

    def after_grading(self, results: GradingResults) -> None:
        """Replace what the empty notebook got by scores and reasons.

        Raises:
            InternalError: otter failed before, or its notebook does not fit the assignment.
        """
        if self._result is None or results.has_catastrophic_failure():
            raise InternalError("otter failed before it reached the judge's results")
        earned = results_of(self._result, self._assignment)
        missing = [name for name in earned if name not in results.results]
        if missing:
            raise InternalError(
                f"the notebook has no question {missing[0]}: run `autograder release otter` and"
                " `otter assign` again"
            )
        explained = self._assignment.feedback.explanations == "always"
        # In the rubric's order, and without the public checks, which were not run.
        results.results = {name: results.results[name] for name in earned}
        for name, criterion in earned.items():
            _put(results, name, criterion, explained)
        results.set_output(_summary(self._result))

    def generate_report(self) -> str:
        """What the teacher sees in the terminal."""
        assert self._result is not None
        return _summary(self._result)


def _put(results: GradingResults, name: str, criterion: CriterionResult, explained: bool) -> None:
    question = results.get_result(name)
    if question.possible != criterion.max_score:
        raise InternalError(
            f"the question {name} is worth {points(question.possible)} points, the criterion"
            f" {points(criterion.max_score)}: run `autograder release otter` and `otter assign`"
            " again"
        )
    kept = criterion.score == criterion.max_score
    reason = KEPT if kept else plain(criterion.message) if explained else HELD_BACK
    question.update_score(criterion.score)
    case = question.test_cases[0]
    case.success_message = reason if kept else None
    question.test_case_results = [TestCaseResult(case, "" if kept else reason, kept)]


def _summary(result: Result) -> str:
    lines = [f"{points(result.score)} of {points(result.max_score)} points"]
    lines += [
        f"{stage.title}: {points(stage.score)} of {points(stage.max_score)}"
        for stage in result.stages
    ]
    if result.message:
        lines.append(one_line(result.message))
    lines += [f"note: {one_line(note)}" for note in result.notes]
    return "\n".join(lines)


def _empty_notebook() -> NotebookNode:
    notebook: NotebookNode = v4.new_notebook(metadata={"kernelspec": dict(KERNEL)})
    return notebook


def _json(notebook: NotebookNode) -> str:
    text: str = v4.writes(notebook)
    return text
