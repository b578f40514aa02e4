"""A stage as a notebook has it: to be read and written from top to bottom.

The text comes from the handout, the exercises from the solution, the public checks from the
template, points and criteria from `assignment.toml`.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from autograder.assignment.assignment import Assignment, Stage
from autograder.errors import InternalError
from autograder.release.handouts import with_rubric
from autograder.release.notebooks import LAST_BEFORE_CODE
from autograder.release.public_checks import PublicCheck, checks_of

_FIGURE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)[^)]*\)")


@dataclass(frozen=True)
class Exercise:
    """A function or class to write: its solution with its marks, and its public checks."""

    name: str
    solution: str
    checks: tuple[PublicCheck, ...]


@dataclass(frozen=True)
class Lesson:
    """One stage.

    Attributes:
        stage: The stage.
        number: Its number, from 1.
        before: The handout's sections up to where code is written.
        after: The sections after that.
        figures: The files beside the handout that it shows.
        introduction: The solution's docstring: what letters and shapes mean.
        imports: What solutions and stubs import, except from other stages.
        exercises: The names to write, in order.
    """

    stage: Stage
    number: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    figures: tuple[str, ...]
    introduction: str
    imports: str
    exercises: tuple[Exercise, ...]


def lessons_of(assignment: Assignment) -> tuple[Lesson, ...]:
    """All stages, in their order."""
    return tuple(
        _lesson(assignment, stage, number) for number, stage in enumerate(assignment.stages, 1)
    )


def figure_files(lesson: Lesson) -> dict[str, bytes]:
    """The figures of a lesson's handout: contents by path relative to it."""
    folder = lesson.stage.handout.parent
    return {path: (folder / path).read_bytes() for path in lesson.figures}


def _lesson(assignment: Assignment, stage: Stage, number: int) -> Lesson:
    handout = with_rubric(stage.handout.read_text(encoding="utf-8"), stage)
    file = assignment.solutions / f"{stage.module}.py"
    source = file.read_text(encoding="utf-8")
    module = ast.parse(source)
    sections = _sections(handout)
    middle = next(
        (at for at, text in enumerate(sections, 1) if text.startswith(f"## {LAST_BEFORE_CODE}")),
        len(sections),
    )
    return Lesson(
        stage,
        number,
        sections[:middle],
        sections[middle:],
        _figures(handout, stage.handout.parent),
        ast.get_docstring(module) or "",
        _imports(module),
        _exercises(assignment, stage, source, module, file),
    )


def _exercises(
    assignment: Assignment, stage: Stage, source: str, module: ast.Module, file: Path
) -> tuple[Exercise, ...]:
    """The stage's names in the order of the solution; a check goes with the last name it needs."""
    written = [
        node
        for node in module.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in stage.names
    ]
    order = [node.name for node in written]
    if set(order) != set(stage.names):
        missing = ", ".join(sorted({*stage.names} - {*order}))
        raise InternalError(f"{file.name} does not define {missing}")
    belongs: dict[str, list[PublicCheck]] = {name: [] for name in order}
    for check in checks_of(assignment, stage):
        known = [name for name in order if name in check.subjects]
        if not known:
            raise InternalError(f"{check.name} tests no name of the stage {stage.id}")
        belongs[known[-1]].append(check)
    lines = source.splitlines()
    return tuple(
        Exercise(
            node.name,
            "\n".join(lines[node.lineno - 1 : _last_line(node, lines)]),
            tuple(belongs[node.name]),
        )
        for node in written
    )


def _last_line(node: ast.FunctionDef | ast.ClassDef, lines: list[str]) -> int:
    """The last line of a definition, including comments after it, such as the closing mark."""
    last = node.end_lineno or node.lineno
    while last < len(lines) and (not lines[last].strip() or lines[last].startswith("    ")):
        last += 1
    while not lines[last - 1].strip():
        last -= 1
    return last


def _sections(handout: str) -> tuple[str, ...]:
    """A handout cut before each heading; lines in code fences are not headings."""
    sections: list[list[str]] = [[]]
    fenced = False
    for line in handout.splitlines():
        fenced ^= line.startswith("```")
        if line.startswith("#") and not fenced:
            sections.append([])
        sections[-1].append(line)
    return tuple(text for text in ("\n".join(each).strip() for each in sections) if text)


def _figures(handout: str, folder: Path) -> tuple[str, ...]:
    found = dict.fromkeys(path for path in _FIGURE.findall(handout) if "://" not in path)
    for path in found:
        if not (folder / path).resolve().is_relative_to(folder.resolve()):
            raise InternalError(
                f"{folder.name}: the figure {path} lies outside of the handouts' folder"
            )
    return tuple(found)


def _imports(module: ast.Module) -> str:
    """A solution's imports, except those from other stages, which notebooks get differently."""
    return "\n".join(
        ast.unparse(node)
        for node in module.body
        if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and not node.level)
    )
