"""What a file defines at its top, told from its text.

Nothing is run. A value that only running could tell is left out, so what is found is there.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from .files import File, Files

Kind = Literal["function", "class", "object"]
Functions = ast.FunctionDef | ast.AsyncFunctionDef

_PARTS = ("body", "orelse", "finalbody")
_GIVEN = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__", "get_ipython", "display"}


@dataclass(frozen=True, slots=True)
class Definition:
    """A function, class or callable object, under the name that it was given."""

    name: str
    kind: Kind
    stub: bool
    path: str
    notebook: bool
    cell: int | None
    line: int
    order: int
    node: ast.AST | None = None  # where its value was made
    works: bool = True  # of a class: whether it, or one that it comes from, can be called

    @property
    def where(self) -> str:
        """The place, such as `attention/causal.py:12`, or a notebook's cell."""
        return f"{self.path}:{self.line}" if self.cell is None else f"{self.path} cell {self.cell}"


@dataclass(frozen=True, slots=True)
class Raises:
    """A definition that would raise when it is run, as a name in it is not there."""

    name: str
    path: str
    cell: int | None
    line: int
    unknown: str

    @property
    def where(self) -> str:
        """The place, as a definition tells it."""
        return f"{self.path}:{self.line}" if self.cell is None else f"{self.path} cell {self.cell}"


Value = Definition | None  # None: something is there, and it is not a definition of one's own


class Definitions:
    """The definitions of all files, and what would raise."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._namespaces: dict[str, dict[str, Value]] = {}
        self._order = 0
        self.found: list[Definition] = []
        self.raises: list[Raises] = []
        for file in files:
            self.of(file)

    def of(self, file: File) -> dict[str, Value]:
        """The namespace of a file: all names that have a value when it was run."""
        if file.path not in self._namespaces:
            namespace = self._namespaces[file.path] = {}
            _Reader(self, self._files, file, namespace).read()
        return self._namespaces[file.path]

    def add(self, definition: Definition) -> None:
        """Keep a definition, once for each name that a value has."""
        same = [
            each
            for each in self.found
            if each.name == definition.name and each.node is definition.node
        ]
        if not same:
            self.found.append(definition)

    def next(self) -> int:
        """The number of the next definition."""
        self._order += 1
        return self._order


class _Reader:
    """Goes through the statements of one file in their order."""

    def __init__(
        self, all_: Definitions, files: Files, file: File, namespace: dict[str, Value]
    ) -> None:
        self._all = all_
        self._files = files
        self._file = file
        self._names = namespace
        self._anything = False  # a star import may have brought any name
        self._cell: int | None = None

    def read(self) -> None:
        for wanted in self._file.runs:
            inner = wanted.replace("\\", "/").removeprefix("./")
            for other in self._files:
                if f"/{other.path}".endswith(f"/{inner}"):
                    self._names |= self._all.of(other)
        for statement in self._file.statements:
            self._cell = statement.cell
            self._statement(statement.node)

    def _statement(self, node: ast.stmt, careful: bool = False) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self._definition(node, careful)
            case ast.Import() | ast.ImportFrom():
                self._import(node)
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assign(target, value)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._assign(target, value)
            case ast.If(test=test, body=body, orelse=orelse):
                for each in _taken(test, body, orelse, self._file.is_notebook):
                    self._statement(each, True)
            case _:
                for name in _bound(node):
                    self._names.setdefault(name, None)
                for each in _inner(node):
                    self._statement(each, True)

    def _definition(self, node: Functions | ast.ClassDef, careful: bool) -> None:
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        unknown = next((each for each in _needed(node) if not self._known(each)), None)
        if unknown is not None and not careful:
            self._all.raises.append(Raises(node.name, self._file.path, self._cell, first, unknown))
            return
        kind: Kind = "class" if isinstance(node, ast.ClassDef) else "function"
        works = isinstance(node, ast.ClassDef) and self._works(node)
        stub = (
            is_unwritten(node.body)
            if not isinstance(node, ast.ClassDef)
            else any(
                is_unwritten(each.body)
                for each in node.body
                if isinstance(each, Functions) and each.name in ("__init__", "forward")
            )
            or not works
        )
        self._bind(node.name, kind, stub, node, first, works)

    def _works(self, node: ast.ClassDef) -> bool:
        """Whether a class, or one that it comes from, has a forward or call of its own."""
        own = {each.name for each in node.body if isinstance(each, Functions)}
        own |= {
            target.id
            for each in node.body
            if isinstance(each, ast.Assign)
            for target in each.targets
            if isinstance(target, ast.Name)
        }
        if own & {"forward", "__call__"}:
            return True
        for base in node.bases:
            value = self._value(base)
            if value is not None:
                if value.works:
                    return True
            elif _words(base)[-1:] not in (["Module"], ["object"], ["ABC"], ["Protocol"]):
                return True
        return False

    def _bind(
        self, name: str, kind: Kind, stub: bool, node: ast.AST, line: int, works: bool
    ) -> None:
        file = self._file
        made = Definition(
            name, kind, stub, file.path, file.is_notebook, self._cell, line, self._all.next(),
            node, works,
        )  # fmt: skip
        self._names[name] = made
        self._all.add(made)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if not isinstance(target, ast.Name):
            for each in ast.walk(target):
                if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                    self._names[each.id] = None
            return
        if isinstance(value, ast.Lambda):
            self._bind(target.id, "function", False, value, target.lineno, True)
            return
        known = self._value(value)
        if known is None:
            self._names[target.id] = None
            return
        self._rename(target.id, known, target.lineno)

    def _value(self, node: ast.expr) -> Value:
        """The definition that an expression gives, where that is plain to see."""
        match node:
            case ast.Name(id=name):
                return self._names.get(name)
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                for other in self._files:
                    if other.parts[-1:] == (module,) and module in self._names:
                        return self._all.of(other).get(name)
            case ast.Call(func=func, args=[first, *_]) if _words(func)[-1:] in (
                ["partial"], ["compile"], ["script"], ["staticmethod"], ["no_grad"],
            ):  # fmt: skip
                return self._value(first)
            case ast.Call(func=func):
                made = self._value(func)
                if made is not None and made.kind == "class" and made.works and not made.stub:
                    return replace(made, kind="object", node=node)
        return None

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        asked = [*self._files.asked_for(self._file, node)]
        for alias in node.names:
            if alias.name == "*":
                assert isinstance(node, ast.ImportFrom)
                own = asked[:1]
                for other in own:
                    public = {k: v for k, v in self._all.of(other).items() if k[:1] != "_"}
                    self._names |= public
                self._anything |= not own
                continue
            bound = alias.asname or alias.name
            if isinstance(node, ast.Import):
                self._names[bound if alias.asname else bound.partition(".")[0]] = None
                continue
            values = [self._all.of(other).get(alias.name) for other in asked]
            known = next((each for each in values if each is not None), None)
            self._names[bound] = known
            if known is not None and bound != known.name:
                self._rename(bound, known, node.lineno)

    def _rename(self, name: str, known: Definition, line: int) -> None:
        """A definition under another name, in this file."""
        made = replace(
            known,
            name=name,
            path=self._file.path,
            notebook=self._file.is_notebook,
            cell=self._cell,
            line=line,
            order=self._all.next(),
        )
        self._names[name] = made
        self._all.add(made)

    def _known(self, name: str) -> bool:
        return self._anything or name in self._names or name in _GIVEN


def _needed(node: Functions | ast.ClassDef) -> Iterator[str]:
    """Names that must be there when a definition is run, not only when it is called."""
    asked: list[ast.AST | None] = [*node.decorator_list]
    if isinstance(node, ast.ClassDef):
        asked += [*node.bases, *(each.value for each in node.keywords)]
    else:
        arguments = node.args
        asked += [*arguments.defaults, *arguments.kw_defaults]
        if not node.name.startswith("__"):
            every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            asked += [each.annotation for each in every] + [node.returns]
    for each in asked:
        for inner in _outside_of_functions(each):
            if isinstance(inner, ast.Name):
                yield inner.id


def _outside_of_functions(node: ast.AST | None) -> Iterator[ast.AST]:
    if node is None or isinstance(node, ast.Lambda | ast.GeneratorExp | ast.ListComp):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _outside_of_functions(child)


def _taken(
    test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt], notebook: bool
) -> list[ast.stmt]:
    """The branch of an `if` that is run; both where that is not plain to see."""
    match test:
        case ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()]):
            return body if notebook else orelse
        case ast.Constant(value=value):
            return body if value else orelse
        case ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"):
            return orelse
    return [*body, *orelse]


def _bound(node: ast.stmt) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            yield each.id
        elif isinstance(each, ast.ExceptHandler) and each.name:
            yield each.name


def _inner(node: ast.stmt) -> Iterator[ast.stmt]:
    for part in _PARTS:
        yield from getattr(node, part, ())
    for handler in getattr(node, "handlers", ()):
        yield from handler.body


def _words(node: ast.expr) -> list[str]:
    """A dotted name as its parts; empty for anything else."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [*_words(node.value), node.attr]
    return []


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
