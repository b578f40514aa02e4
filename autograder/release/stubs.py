"""From a solution's source to the stub that a student receives.

A solution stands between nbgrader's marks, `### BEGIN SOLUTION` and `### END SOLUTION`, which
enclose the whole body of a function. Whole lines are replaced, so every other line stays as it was
written; the syntax tree then proves that the stub kept each signature and docstring, and nothing
of a body.
"""

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from autograder.errors import InternalError

BEGIN = "### BEGIN SOLUTION"
END = "### END SOLUTION"
LINE_LENGTH = 100

# Shorter lines, such as `else:`, say nothing about a solution.
TELLING_LENGTH = 16

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Region(NamedTuple):
    """The lines of one solution, marks included, counted from 1."""

    first: int
    last: int


class Body(NamedTuple):
    """The lines of a function's body without its docstring, and the function's name."""

    owner: str  # such as `function` or `Class.forward`
    first: int
    last: int
    column: int


def stub(source: str, file: str, message: Callable[[str], str]) -> str:
    """Replace every solution by a `NotImplementedError`.

    Args:
        source: The solution's source.
        file: Its name, for error messages.
        message: What the error says, given the name of what is to be written.

    Raises:
        InternalError: A mark has no partner, or does not enclose a function's whole body.
    """
    lines = source.splitlines()
    regions = find_regions(source, file)
    bodies = {_region_of(body, regions, file): body for body in _bodies(ast.parse(source))}
    for region in reversed(regions):
        body = bodies.get(region)
        if body is None:
            raise InternalError(
                f"{file}:{region.first}: a solution must be a function's whole body"
            )
        lines[region.first - 1 : region.last] = _raise(message(body.owner), body.column)
    text = _without_unused_imports("\n".join(lines) + "\n")
    _prove(source, text, file)
    return text


def find_regions(source: str, file: str) -> tuple[Region, ...]:
    """The regions between the marks.

    Args:
        source: The solution's source.
        file: Its name, for error messages.

    Raises:
        InternalError: A mark has no partner.
    """
    regions: list[Region] = []
    begun: int | None = None
    for number, line in enumerate(source.splitlines(), start=1):
        mark = line.strip()
        if mark == BEGIN and begun is None:
            begun = number
        elif mark == END and begun is not None:
            regions.append(Region(begun, number))
            begun = None
        elif mark in (BEGIN, END):
            raise InternalError(f"{file}:{number}: {mark!r} without its partner")
    if begun is not None:
        raise InternalError(f"{file}:{begun}: {BEGIN!r} without its partner")
    return tuple(regions)


#: A line that every module of PyTorch begins with, and that the handouts name.
EVERYBODYS = frozenset(("super().__init__()",))


def solution_lines(source: str, file: str) -> frozenset[str]:
    """The lines of all solutions that would give one away, without white space.

    Raises:
        InternalError: See `find_regions`.
    """
    lines = source.splitlines()
    inside = (
        _squeezed(line)
        for region in find_regions(source, file)
        for line in lines[region.first : region.last - 1]
    )
    return frozenset(line for line in inside if len(line) >= TELLING_LENGTH) - EVERYBODYS


def leaks(released: str, secrets: Iterable[str]) -> tuple[str, ...]:
    """The lines of solutions that a text contains, whatever its white space."""
    text = _squeezed(released)
    return tuple(secret for secret in sorted(secrets) if secret in text)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _bodies(module: ast.Module) -> Iterator[Body]:
    """The bodies of a module's functions and of its classes' methods."""

    def visit(parent: ast.Module | ast.ClassDef, prefix: str) -> Iterator[Body]:
        for node in parent.body:
            if isinstance(node, ast.ClassDef):
                yield from visit(node, f"{prefix}{node.name}.")
            elif isinstance(node, Function):
                rest = node.body[1:] if ast.get_docstring(node) is not None else node.body
                if rest:
                    first, last = rest[0], rest[-1]
                    end = last.end_lineno or last.lineno
                    yield Body(prefix + node.name, first.lineno, end, first.col_offset)

    return visit(module, "")


def _region_of(body: Body, regions: tuple[Region, ...], file: str) -> Region:
    for region in regions:
        if region.first < body.first and body.last < region.last:
            return region
    raise InternalError(
        f"{file}:{body.first}: the body of {body.owner} is not all between the marks"
    )


def _raise(message: str, column: int) -> list[str]:
    margin = " " * column
    line = f'{margin}raise NotImplementedError("{message}")'
    if len(line) <= LINE_LENGTH:
        return [line]
    return [f"{margin}raise NotImplementedError(", f'{margin}    "{message}"', f"{margin})"]


def _without_unused_imports(text: str) -> str:
    """Remove imports that only solutions need; imports from the student's own package stay."""
    module = ast.parse(text)
    used = {node.id for node in ast.walk(module) if isinstance(node, ast.Name)}
    lines = text.splitlines()
    for node in reversed(module.body):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        bound = {(each.asname or each.name).partition(".")[0] for each in node.names}
        own = isinstance(node, ast.ImportFrom) and node.level > 0
        if not own and not bound & used:
            del lines[node.lineno - 1 : node.end_lineno]
    return "\n".join(lines) + "\n"


def _prove(source: str, text: str, file: str) -> None:
    """Make sure that the stub has the solution's signatures and docstrings, and no body."""
    promised, kept = (_promises(ast.parse(each)) for each in (source, text))
    if promised != kept:
        raise InternalError(f"{file}: the stub lost a signature or a docstring")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, Function):
            rest = node.body[1:] if ast.get_docstring(node) is not None else node.body
            if not (len(rest) == 1 and isinstance(rest[0], ast.Raise)):
                raise InternalError(f"{file}: the stub of {node.name} does more than raise")


def _promises(module: ast.Module) -> list[str]:
    """Signatures, base classes, decorators and docstrings, in order."""
    promises = [ast.get_docstring(module) or ""]
    for node in ast.walk(module):
        if isinstance(node, Function):
            parts: list[ast.AST | None] = [node.args, node.returns, *node.decorator_list]
        elif isinstance(node, ast.ClassDef):
            parts = [*node.bases, *node.keywords, *node.decorator_list]
        else:
            continue
        shown = ", ".join(ast.dump(part) for part in parts if part is not None)
        promises.append(f"{node.name}({shown}): {ast.get_docstring(node)}")
    return promises
