"""Imports that failed: what each of their names is bound to instead, and what is told of it."""

import ast
import importlib.util
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .modules import Modules
from .nodes import ROOT, Node
from .notes import Notes, class_name
from .pieces import Piece
from .placeholders import Placeholder
from .statements import Statement, compiled, execute

_BaseException = BaseException
_missing_module = ImportError.__dict__["name"].__get__

Import = ast.Import | ast.ImportFrom


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why names of a file may be missing."""

    names: frozenset[str]
    why: str


@dataclass(frozen=True, slots=True)
class _Late:
    """A name that a module did not have when it was imported, as in a circle of imports."""

    namespace: dict[str, Any]
    target: str
    placeholder: object
    origin: Node
    name: str
    here: str


class Absences:
    """Binds what an import provides, and placeholders for the rest."""

    def __init__(
        self, modules: Modules, notes: Notes, is_running: Callable[[Node | None], bool]
    ) -> None:
        self._modules = modules
        self._notes = notes
        self._is_running = is_running
        self._failures: dict[str, list[_Failure]] = {}  # by path
        self._late: list[_Late] = []
        self._told: set[str] = set()

    def failed(self, path: str, names: Iterable[str], why: str) -> None:
        """Remember why names may be missing from a file, for those who import them."""
        self._failures.setdefault(path, []).append(_Failure(frozenset(names), why))

    def bind(
        self, node: Node, statement: Statement, wanted: Import, *, unbound_only: bool = False
    ) -> None:
        """Bind each name of an import on its own, and a placeholder where that fails too."""
        for alias in wanted.names:
            target = alias.asname or alias.name
            if isinstance(wanted, ast.Import) and not alias.asname:
                target = alias.name.partition(".")[0]
            if unbound_only and target in node.namespace:
                continue
            single: Import
            if isinstance(wanted, ast.Import):
                single = ast.Import([alias])
            else:
                single = ast.ImportFrom(wanted.module, [alias], wanted.level)
            ast.copy_location(single, wanted)
            code, _ = compiled(Piece(0, "", single), statement.filename, statement.flags)
            try:
                if code is not None:
                    execute(code, node.namespace)
            except _BaseException as error:
                self._replace(node, statement, single, target, error)

    def settle(self, origin: Node) -> None:
        """Give names that were asked for too early to those who asked, now that they are there."""
        for late in [each for each in self._late if each.origin is origin]:
            self._late.remove(late)
            if late.name not in origin.namespace:
                self._tell(late.here, self._why_not_in(origin, late.name))
                continue
            if late.namespace.get(late.target) is late.placeholder:
                late.namespace[late.target] = origin.namespace[late.name]
            self._notes.add(
                f"{late.here}: {late.name} was not there yet, as modules import one another "
                "in a circle; it was put in place later"
            )

    def _replace(
        self, node: Node, statement: Statement, single: Import, target: str, error: BaseException
    ) -> None:
        """Bind one name whose import raised."""
        name = single.names[0].name
        asked = name if isinstance(single, ast.Import) else _absolute(single, node)
        origin = self._modules.find(asked, node, real_too=True) if asked else None
        if isinstance(single, ast.Import) or origin is None or origin.file is None:
            what = _why_not_there(single, asked, error)
            placeholder = self._top_of(single, asked, node) or Placeholder(what)
            is_late = False
        else:
            self._modules.enter(origin)
            if name in origin.namespace and name != "*":  # a module with the name of a library
                node.namespace[target] = origin.namespace[name]
                return
            what = self._why_not_in(origin, name)
            placeholder = Placeholder(what)
            is_late = self._is_running(origin)
        here = f"{statement.path} {statement.exactly}"
        if name != "*":
            # A value that the name had before is kept, as Python keeps it.
            node.namespace.setdefault(target, placeholder)
        if is_late and origin is not None:
            self._late.append(_Late(node.namespace, target, placeholder, origin, name, here))
        else:
            self._tell(here, what)

    def _top_of(self, single: Import, asked: str, node: Node) -> Any:
        """The package that `import torch.nothing` binds all the same, if it is there."""
        if isinstance(single, ast.ImportFrom) or single.names[0].asname or "." not in asked:
            return None
        try:
            return self._modules.import_(asked.partition(".")[0], node.namespace)
        except _BaseException:
            return None

    def _why_not_in(self, origin: Node, name: str) -> str:
        """Why a file of the submission lacks a name."""
        path = origin.file.path if origin.file else origin.part
        for failure in reversed(self._failures.get(path, ())):
            if name in failure.names:
                return f"{name} could not be imported from {path}, where {failure.why}"
        return f"{path} has no {name}"

    def _tell(self, here: str, what: str) -> None:
        if what not in self._told:
            self._told.add(what)
            self._notes.add(f"{here}: {what}; it costs nothing unless a graded name uses it")


def _why_not_there(single: Import, asked: str, error: BaseException) -> str:
    """Why something that the submission does not hold could not be imported, in words."""
    shown = asked.removeprefix(ROOT + ".")
    kind = type(error)  # asking the error itself might run code of its class
    if issubclass(kind, ModuleNotFoundError):
        if asked.startswith(ROOT + ".") or (isinstance(single, ast.ImportFrom) and single.level):
            return f"the submission has no module {shown}"
        missing = _missing_module(error)
        return f"{missing if type(missing) is str else shown} is not installed here"
    if isinstance(single, ast.ImportFrom) and issubclass(kind, ImportError):
        return f"{shown or 'the submission'} has no {single.names[0].name}"
    return f"importing {shown} raised {class_name(kind)}"


def _absolute(wanted: ast.ImportFrom, node: Node) -> str:
    """The full name of the module that a from-import asks for."""
    module = wanted.module or ""
    if not wanted.level:
        return module
    try:
        return importlib.util.resolve_name("." * wanted.level + module, node.folder.name)
    except ImportError:
        return module
