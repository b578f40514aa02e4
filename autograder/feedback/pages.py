"""A student's feedback as a web page, and the environment of all pages. Jinja2 escapes all text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from autograder.assignment.assignment import Assignment
from autograder.feedback.heatmap import Grid, Remark, caption, grids, remarks
from autograder.feedback.heatmap_svg import heatmap_svg
from autograder.feedback.plain import file_name, one_line, plain
from autograder.feedback.words import WORDS, points, status_of
from autograder.gradebook.adjustments import Adjustment
from autograder.results.details import AttentionSeen, Details
from autograder.results.result import Result


@dataclass(frozen=True, slots=True)
class _Picture:
    """One name's attention, ready for the template."""

    caption: str
    heads: tuple[tuple[Grid, Grid], ...]
    remarks: tuple[Remark, ...]


def student_page(
    result: Result,
    assignment: Assignment,
    details: Details | None = None,
    changes: Sequence[tuple[Adjustment, float]] = (),
) -> str:
    """`feedback.html`: every criterion, the reasons for lost points, and pictures of attention.

    Args:
        result: The result as it counts.
        assignment: The assignment, whose policy decides what is shown.
        details: The judge's details. Only the pictures are shown; they use public inputs.
        changes: The teacher's changes, already in the scores, each with the points graded.

    Returns:
        The page as HTML, all text escaped.
    """
    handouts = {
        (stage.id, criterion.id): (stage.handout.name, criterion.section)
        for stage in assignment.stages
        for criterion in stage.criteria
    }
    return (
        environment()
        .get_template("student.html.j2")
        .render(
            title=assignment.title,
            result=result,
            handouts=handouts,
            changes={(each.stage, each.criterion): (each, graded) for each, graded in changes},
            attention=_pictures(details or Details(), assignment),
            explained=assignment.feedback.explanations == "always",
        )
    )


def _pictures(details: Details, assignment: Assignment) -> dict[str, list[_Picture]]:
    """Pictures of attention by stage."""
    numbers = assignment.feedback.show_expected_numbers

    def picture(seen: AttentionSeen) -> _Picture:
        heads = grids(seen, numbers=numbers)
        return _Picture(caption(seen), heads, remarks(heads))

    return {
        stage.id: [picture(seen) for seen in details.attention if seen.stage == stage.id]
        for stage in assignment.stages
    }


@cache
def environment() -> Environment:
    """The environment of all pages: templates, filters, autoescape."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(
        folder=file_name,
        heatmap=heatmap_svg,
        line=one_line,
        points=points,
        prose=prose,
        prose_line=_with_code,
        words=WORDS.__getitem__,
    )
    made.globals["status_of"] = status_of
    return made


def prose(text: str) -> Markup:
    """Paragraphs; what is in backticks becomes code, everything else is escaped."""
    paragraphs = (part for part in re.split(r"\n\s*\n", plain(text).strip()) if part)
    return Markup("\n").join(Markup("<p>{}</p>").format(_with_code(each)) for each in paragraphs)


def _with_code(text: str) -> Markup:
    parts = text.split("`")
    if len(parts) % 2 == 0:  # an unpaired backtick is just a character
        return escape(text)
    return Markup().join(
        Markup("<code>{}</code>").format(part) if position % 2 else escape(part)
        for position, part in enumerate(parts)
    )
