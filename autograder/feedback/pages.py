"""The web pages: a student's feedback and the class at a glance. Jinja2 escapes all text."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from autograder.assignment import Assignment, Stage
from autograder.details import AttentionSeen, Details
from autograder.feedback.heatmap import Grid, Remark, caption, grids, remarks
from autograder.feedback.heatmap_svg import heatmap_svg
from autograder.feedback.plain import file_name, one_line, plain
from autograder.feedback.words import WORDS, points, status_of
from autograder.result import Result


@dataclass(frozen=True, slots=True)
class _Picture:
    """One name's attention, ready to be set."""

    caption: str
    heads: tuple[tuple[Grid, Grid], ...]
    remarks: tuple[Remark, ...]


def student_page(result: Result, assignment: Assignment, details: Details | None = None) -> str:
    """`feedback.html`: every criterion, for each that lost points the reason, and pictures of it.

    Of the details nothing is shown but the pictures, which are of inputs that are no hidden ones.
    """
    handouts = {
        (stage.id, criterion.id): (stage.handout.name, criterion.section)
        for stage in assignment.stages
        for criterion in stage.criteria
    }
    return (
        _environment()
        .get_template("student.html.j2")
        .render(
            title=assignment.title,
            result=result,
            handouts=handouts,
            attention=_pictures(details or Details(), assignment),
            explained=assignment.feedback.explanations == "always",
        )
    )


def _pictures(details: Details, assignment: Assignment) -> dict[str, list[_Picture]]:
    """Pictures of attention by stage."""
    numbers = assignment.feedback.show_expected_numbers

    def picture(seen: AttentionSeen) -> _Picture:
        return _Picture(caption(seen), grids(seen, numbers=numbers), remarks(seen))

    return {
        stage.id: [picture(seen) for seen in details.attention if seen.stage == stage.id]
        for stage in assignment.stages
    }


def class_page(results: Iterable[Result], stages: Iterable[Stage], assignment: Assignment) -> str:
    """`class.html`: a line a student, each with a link to the student's page."""
    rows = tuple(results)
    columns = tuple(stages)
    scores = [result.score for result in rows if result.score is not None]
    return (
        _environment()
        .get_template("class.html.j2")
        .render(
            title=assignment.title,
            results=rows,
            stages=columns,
            max_score=sum(stage.points for stage in columns),
            mean=sum(scores) / len(scores) if scores else None,
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        folder=file_name,
        heatmap=heatmap_svg,
        line=one_line,
        points=points,
        prose=_prose,
        prose_line=_with_code,
        words=WORDS.__getitem__,
    )
    environment.globals["status_of"] = status_of
    return environment


def _prose(text: str) -> Markup:
    """Paragraphs, with what stands in backticks as code; everything else is escaped."""
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
