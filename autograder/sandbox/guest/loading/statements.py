"""Statements compiled one by one, so that one that fails takes nothing else along."""

import __future__

import ast
import inspect
import opcode
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType
from typing import Any
from warnings import catch_warnings, simplefilter

from . import coroutines
from .pieces import Broken, Piece

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_STORES = frozenset((opcode.opmap["STORE_NAME"], opcode.opmap["STORE_GLOBAL"]))
_EXTENDED = opcode.opmap["EXTENDED_ARG"]
_IMPORT = re.compile(r"(?:import|from)\b")
_STRING = re.compile(r"[a-zA-Z]{0,2}['\"(]")
_EMPTY_BODY = 10  # bytes of code of a function that does nothing
_compile: Any = compile  # kept, like other builtins here, from a submission that replaces it


@dataclass(frozen=True, slots=True)
class Statement:
    """One top-level statement: where it is, what it defines, and its code if it compiled."""

    piece: Piece
    path: str
    cell: int | None
    line: int
    filename: str
    code: CodeType | None
    error: str | None  # why there is no code
    flags: int
    defines: tuple[str, ...]  # names that it gives a value, imports aside

    @property
    def where(self) -> str:
        """Its place within the file, in words."""
        return place(self.cell, self.line)

    @property
    def exactly(self) -> str:
        """Its place with the line, in a cell too."""
        return f"line {self.line}" if self.cell is None else f"{self.where} line {self.line}"


@dataclass(slots=True)
class Script:
    """What a file consists of: statements, broken pieces, and which functions are stubs."""

    path: str
    statements: list[Statement] = field(default_factory=list)
    broken: list[tuple[int | None, Broken]] = field(default_factory=list)  # with the cell
    stubs: set[tuple[str, int, str]] = field(default_factory=set)  # filename, first line, name
    docstring: str | None = None
    flags: int = 0

    def add(self, pieces: list[Piece], filename: str, cell: int | None) -> None:
        """Compile statements in order; a `from __future__` holds for all that come after it.

        Raises SyntaxError, having added nothing, for a piece that should have been a statement.
        """
        with catch_warnings():
            simplefilter("ignore")  # else `"\d"` is an error to who made warnings errors
            added = self._compiled(pieces, filename, cell)
        for statement in added:
            if statement.code is not None and _may_hold_stubs(statement.code):
                tree = statement.piece.tree()
                if tree is not None:
                    self.stubs.update(_stubs(tree, filename))
        self.statements.extend(added)

    def _compiled(self, pieces: list[Piece], filename: str, cell: int | None) -> list[Statement]:
        awaits = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if cell is not None else 0
        added: list[Statement] = []
        for piece in pieces:
            node = piece.node
            if node is None and _STRING.match(piece.text):
                node = piece.tree()
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                if not (self.statements or added) and isinstance(node.value.value, str):
                    self.docstring = self.docstring or node.value.value
                continue
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                for alias in node.names:
                    feature = getattr(__future__, alias.name, None)
                    self.flags |= getattr(feature, "compiler_flag", 0)
            flags = self.flags | awaits
            code, error = compiled(piece, filename, flags)
            if code is None and piece.node is None:
                raise SyntaxError(error)
            line = first_line(piece.node) if piece.node else piece.start + 1
            names = () if _is_import(piece) else _stored(code)
            added.append(
                Statement(piece, self.path, cell, line, filename, code, error, flags, names)
            )
        return added


def place(cell: int | None, line: int | None) -> str:
    """A place within a file, in words: a notebook's cell, a module's line."""
    if cell is not None:
        return f"cell {cell}"
    return f"line {line}" if line else "somewhere"


def compiled(piece: Piece, filename: str, flags: int) -> tuple[CodeType | None, str | None]:
    """The code of one statement, or why there is none."""
    source: Any = ast.Module([piece.node], []) if piece.node else "\n" * piece.start + piece.text
    try:
        code = _compile(source, filename, "exec", flags, True)
    except SyntaxError as error:
        return None, str(error.msg)
    except (ValueError, MemoryError, RecursionError, OverflowError, SystemError) as error:
        return None, f"cannot be compiled ({type(error).__name__})"
    return code, None


def execute(code: CodeType, namespace: dict[str, Any]) -> None:
    """Run code in a namespace; one that awaits is driven to its end."""
    if code.co_flags & inspect.CO_COROUTINE:
        coroutines.drive(eval(code, namespace))
    else:
        exec(code, namespace)


def first_line(node: ast.stmt) -> int:
    """The first line of a statement, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _is_import(piece: Piece) -> bool:
    if piece.node is not None:
        return isinstance(piece.node, (ast.Import, ast.ImportFrom))
    return _IMPORT.match(piece.text) is not None


def _stored(code: CodeType | None) -> tuple[str, ...]:
    """The names that a statement gives a value at the top, by any kind of statement."""
    if code is None:
        return ()
    names: dict[str, None] = {}
    instructions, high = code.co_code, 0
    for at in range(0, len(instructions) - 1, 2):
        operation, argument = instructions[at], instructions[at + 1] | high
        high = argument << 8 if operation == _EXTENDED else 0
        if operation in _STORES:
            names[code.co_names[argument]] = None
    return tuple(names)


def _may_hold_stubs(code: CodeType) -> bool:
    """Whether a function within was perhaps left unwritten; its tree tells for certain."""
    return any(
        len(inner.co_code) <= _EMPTY_BODY
        or "NotImplementedError" in inner.co_names
        or _may_hold_stubs(inner)
        for inner in code.co_consts
        if isinstance(inner, CodeType)
    )


def _inner(node: ast.stmt) -> Iterator[ast.stmt]:
    for name in ("body", "orelse", "finalbody"):
        yield from getattr(node, name, ())
    for handler in getattr(node, "handlers", ()):
        yield from handler.body


def _stubs(node: ast.stmt, filename: str) -> Iterator[tuple[str, int, str]]:
    """The functions in a statement that were left unwritten, by file, first line and name."""
    if isinstance(node, _FUNCTIONS):
        if is_unwritten(node.body):
            yield filename, first_line(node), node.name
    else:
        for inner in _inner(node):
            yield from _stubs(inner, filename)


def is_unwritten(body: list[ast.stmt]) -> bool:
    """Whether a function's body does nothing, or ends in NotImplementedError before a return."""
    for number, node in enumerate(body):
        if isinstance(node, ast.Raise):
            error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if isinstance(error, ast.Name) and error.id == "NotImplementedError":
                return not any(_returns(each) for each in body[:number])
    return all(
        isinstance(node, ast.Pass)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in body
    )


def _returns(node: ast.stmt) -> bool:
    return any(isinstance(each, (ast.Return, ast.Yield, ast.YieldFrom)) for each in ast.walk(node))
