"""Mutants of the solutions: each must lose points, or be the same program as the solution."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from autograder.assignment.assignment import Assignment
from autograder.assignment.subject import hook
from autograder.calibration.cases import Case, Measure, Part, Shortfalls, lost
from autograder.calibration.operators import (
    OPERATORS,
    Operator,
    duplicate,
    other_attribute,
    other_name,
    statements_left_out,
)
from autograder.calibration.variants import overlaid
from autograder.results.result import Result
from autograder.submissions.submission import read_submission

KILLED = Measure("loses points, unless equal")
KEEPS_EVERYTHING = "keeps every point"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A solution module with one change.

    Attributes:
        module: The stem of its file.
        name: The function or class that was changed.
        place: Line and column in the module, from 1.
        change: What was replaced by what.
        source: The module's source with the change.
    """

    module: str
    name: str
    place: str
    change: str
    source: str

    @property
    def label(self) -> str:
        """Where and what, in a line."""
        return f"{self.module}.py:{self.place} {self.name}: {self.change}"


Exchanged = Mapping[str, tuple[str, ...]]


def mutants(module: str, source: str, exchanged: Exchanged) -> Iterator[Mutant]:
    """Every mutant of a module; no two with the same source, none that is the module itself.

    Args:
        module: The stem of its file.
        source: Its source.
        exchanged: Attributes, and which of them one may be mistaken for.
    """
    tree = ast.parse(source)
    seen = {ast.unparse(tree)}
    for definition in tree.body:
        if not isinstance(definition, ast.FunctionDef | ast.ClassDef):
            continue
        for place, change in _changes(definition, exchanged):
            text = ast.unparse(ast.fix_missing_locations(tree))
            if text not in seen and _compiles(text):
                seen.add(text)
                yield Mutant(module, definition.name, place, change, text)


def _changes(definition: ast.stmt, exchanged: Exchanged) -> Iterator[tuple[str, str]]:
    """Make each change in the tree in turn, yield while it is made, and take it back."""
    for function in ast.walk(definition):
        if isinstance(function, ast.FunctionDef):
            operators = (
                *OPERATORS,
                other_attribute(exchanged),
                other_name(_own_names(function)),
            )
            yield from _in_block(function.body, operators)


def _in_block(body: list[ast.stmt], operators: tuple[Operator, ...]) -> Iterator[tuple[str, str]]:
    whole = list(body)
    for index, rest in statements_left_out(whole):
        body[:] = rest
        yield _place(whole[index]), f"without `{_short(whole[index])}`"
        body[:] = whole
    for index, statement in enumerate(whole):
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef):
            for other in _others(statement, operators):
                body[index] = other  # type: ignore[call-overload]
                yield _place(statement), f"`{_short(other)}` for `{_short(statement)}`"
                body[index] = statement
            yield from _in_node(statement, operators)
            for block in ("body", "orelse"):
                inner = getattr(statement, block, None)
                if inner:
                    for index, rest in statements_left_out(inner):
                        setattr(statement, block, rest)
                        yield _place(inner[index]), f"without `{_short(inner[index])}`"
                        setattr(statement, block, inner)


def _in_node(node: ast.AST, operators: tuple[Operator, ...]) -> Iterator[tuple[str, str]]:
    """Every change of every part of a node, wherever it is held."""
    for held, value in list(ast.iter_fields(node)):
        if held in ("annotation", "returns", "exc"):
            continue
        if isinstance(value, list):
            for place, part in enumerate(value):
                if isinstance(part, ast.AST):
                    for other in _others(part, operators):
                        value[place] = other
                        yield _place(part, node), f"`{_short(other)}` for `{_short(part)}`"
                        value[place] = part
                    yield from _in_node(part, operators)
        elif isinstance(value, ast.AST):
            for other in _others(value, operators):
                setattr(node, held, other)
                yield _place(value, node), f"`{_short(other)}` for `{_short(value)}`"
                setattr(node, held, value)
            yield from _in_node(value, operators)


def _others(node: ast.AST, operators: tuple[Operator, ...]) -> Iterator[ast.AST]:
    for operator in operators:
        for other in operator(node):
            yield duplicate(other)


def _own_names(function: ast.FunctionDef) -> list[str]:
    """A function's arguments, `self` aside, and the names that it gives values."""
    names = [each.arg for each in function.args.args if each.arg != "self"]
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
    return list(dict.fromkeys(names))


def _place(node: ast.AST, around: ast.AST | None = None) -> str:
    held = node if hasattr(node, "lineno") or around is None else around
    return f"{getattr(held, 'lineno', 0)}:{getattr(held, 'col_offset', 0) + 1}"


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(ast.fix_missing_locations(duplicate(node))).split())
    return text if len(text) <= 60 else text[:57] + "..."


def _compiles(source: str) -> bool:
    try:
        compile(source, "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def sources_of(assignment: Assignment) -> dict[str, str]:
    """The solutions' sources by module, in the order of the stages."""
    return {
        stage.module: (assignment.solutions / f"{stage.module}.py").read_text("utf-8")
        for stage in assignment.stages
    }


def all_mutants(assignment: Assignment) -> Iterator[Mutant]:
    """Every mutant of every solution."""
    labels: Counter[str] = Counter()
    asked = hook(assignment, "exchanged")
    exchanged: Exchanged = asked() if asked is not None else {}
    for module, source in sources_of(assignment).items():
        for mutant in mutants(module, source, exchanged):
            labels[mutant.label] += 1
            if labels[mutant.label] > 1:  # labels of long changes are cut
                again = f"{mutant.change} ({labels[mutant.label]})"
                yield replace(mutant, change=again)
            else:
                yield mutant


def mutant_cases(assignment: Assignment, chosen: dict[str, Mutant]) -> Iterator[Case]:
    """The mutants as submissions: the solutions with one module changed."""
    base = read_submission(assignment.solutions, assignment.limits)
    for label, mutant in chosen.items():
        submission = overlaid(base, f"{mutant.module}.py", mutant.source.encode(), label)
        yield Case(label, submission, loses_points)


def survivors(part: Part) -> tuple[str, ...]:
    """The mutants that kept every point."""
    return tuple(
        label for label, reason in part.short.get(KILLED.title, ()) if reason == KEEPS_EVERYTHING
    )


def settled(part: Part, differences: Mapping[str, str | None]) -> None:
    """Take out mutants that are the solution itself, and report how the others differ.

    Args:
        part: The part with the mutants; changed in place.
        differences: In what each survivor differs from the solution; None for in nothing.
    """
    entries = part.short.get(KILLED.title, [])
    equal = [label for label, _ in entries if differences.get(label, "") is None]
    left = [
        (label, f"{reason}, yet differs: {told}" if (told := differences.get(label)) else reason)
        for label, reason in entries
        if label not in equal
    ]
    part.short[KILLED.title] = left
    part.remarks += [f"equal to the solution: {label}" for label in equal]


def changed_sources(assignment: Assignment, mutant: Mutant) -> dict[str, str]:
    """The solutions' sources with the mutant's module."""
    return {**sources_of(assignment), mutant.module: mutant.source}


def loses_points(result: Result) -> Shortfalls:
    """Something lost, whatever it is."""
    return {} if lost(result) else {KILLED.title: KEEPS_EVERYTHING}
