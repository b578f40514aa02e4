"""The class report as a web page: one file that needs no network, styled as students' pages are."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markupsafe import Markup

from autograder.assignment.assignment import Assignment, Stage
from autograder.feedback.figures import criteria_figure, score_figure
from autograder.feedback.pages import environment
from autograder.gradebook.adjustments import Adjusted, Adjustment, adjusted
from autograder.gradebook.class_analysis import Graded, analysed
from autograder.gradebook.item_analysis import remark
from autograder.gradebook.similarity import Pair
from autograder.results.result import Result


@dataclass(frozen=True, slots=True)
class _Change:
    """A teacher's change as the page shows it."""

    student: str
    stage: str
    criterion: str
    graded: float
    counts: float
    reason: str


def class_page(
    graded: Sequence[Graded],
    stages: Sequence[Stage],
    assignment: Assignment,
    adjustments: Sequence[Adjustment] = (),
    similar: Sequence[Pair] | None = None,
) -> str:
    """`class.html`: scores, criteria, misconceptions, and a line for each student.

    All figures are of the scores that count, the teacher's changes included.

    Args:
        graded: Every student's result as graded, with its details.
        stages: The stages that were graded.
        assignment: The assignment.
        adjustments: The teacher's changes.
        similar: Pairs of similar submissions; None if they were not compared.

    Returns:
        The page as HTML, all text escaped.
    """
    told = [adjusted(entry.result, adjustments, stages) for entry in graded]
    results = [each.result for each in told]
    found = analysed(
        [Graded(each.result, entry.details) for each, entry in zip(told, graded, strict=True)],
        [(stage.id, stage.title, float(stage.points)) for stage in stages],
    )
    script = _script()
    changes = [change for each in told for change in _changes(each)]
    items = found.items.items
    page = environment().overlay()
    page.filters = environment().filters | {
        "criteria_figure": criteria_figure,
        "remark": remark,
        "score_figure": score_figure,
    }
    return page.get_template("class.html.j2").render(
        title=assignment.title,
        results=results,
        stages=stages,
        max_score=sum(stage.points for stage in stages),
        found=found,
        of_stage=lambda stage: [item for item in items if item.stage == stage],
        named=_named,
        changes=changes,
        changed={change.student for change in changes},
        similar=similar,
        script=script,
        script_hash=_hash_of(script),
    )


def _named(result: Result) -> list[str]:
    """The ids of the misconceptions in a student's work, each once."""
    return list(
        dict.fromkeys(
            each
            for stage in result.stages
            for criterion in stage.criteria
            for each in criterion.misconceptions
        )
    )


def _changes(told: Adjusted) -> list[_Change]:
    counts = {
        (stage.id, criterion.id): criterion.score
        for stage in told.result.stages
        for criterion in stage.criteria
    }
    return [
        _Change(
            each.student,
            each.stage,
            each.criterion,
            graded,
            counts[each.stage, each.criterion],
            each.reason,
        )
        for each, graded in told.applied
    ]


@cache
def _script() -> Markup:
    return Markup((Path(__file__).parent / "templates" / "class.js").read_text())


def _hash_of(script: str) -> str:
    """The hash that lets this script run, and no other that might get into the page."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
