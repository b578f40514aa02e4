"""Runs a submission's files, statement by statement, and remembers what each name was given."""

import ast
import builtins
import linecache
import operator
import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Any

from . import jupyter
from .absences import Absences
from .modules import Modules
from .newer import no_python
from .nodes import ROOT, Node, SourceFile
from .notes import Notes, class_name, line_within
from .pieces import Broken, Piece, pieces, recovered, whole
from .sources import decode, is_ignored
from .statements import Script, Statement, execute, place

_BaseException = BaseException
_any, _map, _is_not = any, map, operator.is_not
_builtins = vars(builtins)
_DEFINED = re.compile(r"^(?:(?:async\s+)?def|class)\s+(\w+)|^(\w+)\s*=", re.M)

LARGE = 200_000  # characters of a file whose parsing alone takes noticeable time


@dataclass(frozen=True, slots=True)
class Source:
    """Text that was compiled under one file name: a module, or one cell of a notebook."""

    path: str
    cell: int | None
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Definition:
    """A value that a top-level statement gave to a name, whether or not it was kept."""

    name: str
    value: object
    node: Node
    cell: int | None
    line: int


@dataclass(frozen=True, slots=True)
class _Written:
    """A module that was not handed in as a file, but as a cell that writes it."""

    path: str
    data: bytes
    kind: str = "module"
    cells: tuple[str, ...] = ()


class Runner:
    """Loads every file of a submission once, whatever its statements do."""

    def __init__(
        self,
        files: Sequence[SourceFile],
        skip: Set[int],
        started: Callable[[int], None],
        imported: Callable[[str], None],
        package: str,
    ) -> None:
        self._skip = skip
        self._started = started
        self.notes = Notes(ROOT)
        self.sources: dict[str, Source] = {}
        self.definitions: list[Definition] = []
        self.stubs: set[tuple[str, int, str]] = set()
        self._builtins: dict[str, Any] = {}
        self._running: list[tuple[Node, Statement, int]] = []
        self.any_broken = False  # whether some piece of some file is no Python
        self.modules = Modules(
            self._with_written(files), self._run, self._current, imported, package
        )
        self._absences = Absences(self.modules, self.notes, self._is_running)

    def run_all(self) -> None:
        """Run modules in the order of their paths, each after what it imports, then notebooks."""
        self._builtins = dict(_builtins)
        for path, name in self.modules.shadows():
            self.notes.add(f"{path} has the name of a library: `import {name}` is the library")
        for node in list(self.modules.nodes):
            self.modules.enter(node)

    def run_file(self, path: str) -> bool:
        """`%run path` in a notebook: its names come into the notebook's own."""
        wanted = path.strip("'\"").replace("\\", "/").removeprefix("./")
        for node in self.modules.nodes:
            if node.file is not None and ("/" + node.file.path).endswith("/" + wanted):
                self.modules.enter(node)
                public = {k: v for k, v in node.namespace.items() if not k.startswith("_")}
                self._current().namespace.update(public)
                return True
        return False

    def left_out(self, what: str) -> None:
        """Note a magic or shell line that the running statement asked for."""
        if self._running:
            _, statement, _ = self._running[-1]
            self.notes.left_out(statement.path, what, statement.where)

    def _current(self) -> Node:
        return self._running[-1][0] if self._running else self.modules.root

    def _is_running(self, node: Node | None) -> bool:
        return any(running is node for running, _, _ in self._running)

    def _with_written(self, files: Sequence[SourceFile]) -> list[SourceFile]:
        """The files, and the modules that cells write to disk where the work comes from."""
        there = {file.path for file in files}
        written: dict[str, _Written] = {}
        for file in files:
            for number, cell in enumerate(file.cells, 1):
                name, text, adds = jupyter.written_by(cell) or ("", "", False)
                path = "/".join([*file.path.split("/")[:-1], name])
                if not name.endswith(".py") or path in there or is_ignored(path):
                    continue
                before = written[path].data if adds and path in written else b""
                written[path] = _Written(path, before + text.encode("utf-8", "replace"))
                self.notes.add(f"{path} was read from {file.path} cell {number}, which writes it")
        return [*files, *written.values()]

    # --- one file ---------------------------------------------------------------------------

    def _run(self, node: Node) -> None:
        if node.file is not None:
            self._run_statements(node, node.file)
            self._absences.settle(node)
        if self._running:  # an import within a statement that now goes on
            self._started(self._running[-1][2])

    def _run_statements(self, node: Node, file: SourceFile) -> None:
        number = node.number << 32
        if len(file.data) + sum(map(len, file.cells)) > LARGE:
            self._started(number)
            if number in self._skip:
                self.notes.add(f"{file.path} was skipped: reading it used up the time for loading")
                return
        try:
            read = self._notebook if file.kind == "notebook" else self._module
            script = read(node, file)
        except _BaseException as error:  # the submission has changed what reading needs
            self.notes.add(f"{file.path} could not be read ({class_name(type(error))})")
            return
        self.stubs |= script.stubs
        if script.docstring is not None:
            node.namespace["__doc__"] = script.docstring
        for cell, broken in script.broken:
            self._note_broken(file.path, cell, broken)
        for position, statement in enumerate(script.statements, 1):
            self._running.append((node, statement, number + position))
            try:
                self._run_statement(node, statement, number + position)
            finally:
                self._running.pop()

    def _module(self, node: Node, file: SourceFile) -> Script:
        node.text, remark = decode(file.data)
        if remark:
            self.notes.add(f"{file.path} {remark}")
        script = Script(file.path)
        self._add(script, node.filename, None, node.text)
        return script

    def _notebook(self, node: Node, file: SourceFile) -> Script:
        script = Script(file.path)
        for cell, written in enumerate(file.cells, 1):
            text, magic = jupyter.body_of(written)
            if magic is not None and jupyter.written_by(written) is None:
                self.notes.left_out(file.path, magic, place(cell, None))
            self._add(script, f"{node.filename}#{cell}", cell, text)
        return script

    def _add(self, script: Script, filename: str, cell: int | None, text: str) -> None:
        """Parse one text into a script, and let tracebacks and `inspect` find its lines."""
        lines = tuple(text.split("\n"))
        self.sources[filename] = Source(script.path, cell, lines)
        # No time of change: such an entry is never compared with a file on disk.
        linecache.cache[filename] = (len(text), None, [line + "\n" for line in lines], filename)
        try:
            script.add(pieces(text), filename, cell)
        except SyntaxError:
            good, broken = _repaired(text, cell)
            script.broken.extend((cell, each) for each in broken)
            script.add(good, filename, cell)

    def _note_broken(self, path: str, cell: int | None, broken: Broken) -> None:
        self.any_broken = True
        where = f"line {broken.line}" if cell is None else f"cell {cell} line {broken.line}"
        message = f"{where} {no_python(broken.text, broken.message)}"
        self.notes.add(f"{path} {message}; the rest was read")
        names = [a or b for a, b in _DEFINED.findall(broken.text)]
        self._absences.failed(path, names, message)

    # --- one statement ----------------------------------------------------------------------

    def _run_statement(self, node: Node, statement: Statement, number: int) -> None:
        path, where = statement.path, statement.exactly
        if number in self._skip:
            self.notes.add(f"{path} {where} was skipped: it used up the time for loading")
            self._absences.failed(path, statement.defines, f"{where} takes too long")
            return
        if statement.code is None:
            self.notes.add(f"{path} {where} is no Python ({statement.error}); the rest ran")
            self._absences.failed(path, statement.defines, f"{where} is no Python")
            return
        self._started(number)
        try:
            execute(statement.code, node.namespace)
        except _BaseException as error:  # whatever it raises, the rest of the work counts
            self._restore()
            self._raised(node, statement, error)
        self._restore()
        for name in statement.defines:
            value = node.namespace.get(name)
            if callable(value):
                self.definitions.append(
                    Definition(name, value, node, statement.cell, statement.line)
                )

    def _raised(self, node: Node, statement: Statement, error: BaseException) -> None:
        tree = statement.piece.tree()
        if isinstance(tree, (ast.Import, ast.ImportFrom)):
            self._absences.bind(node, statement, tree)
            return
        if tree is not None and issubclass(type(error), ImportError):
            for inner in ast.walk(tree):
                if isinstance(inner, (ast.Import, ast.ImportFrom)):
                    self._absences.bind(node, statement, inner, unbound_only=True)
        where = place(statement.cell, line_within(error, statement.filename) or statement.line)
        words = self.notes.raised(statement.path, where, error)
        self._absences.failed(statement.path, statement.defines, f"{where} raised {words}")

    def _restore(self) -> None:
        """Put back builtins that a statement replaced: the rest of the work may lean on them."""
        if _any(_map(_is_not, _map(_builtins.get, self._builtins), self._builtins.values())):
            _builtins.update(self._builtins)


def _repaired(text: str, cell: int | None) -> tuple[list[Piece], list[Broken]]:
    """The statements of a text that could not simply be cut into lines.

    It is read by its syntax tree, then as a notebook's cell with magics, then as a text with
    mistakes.
    """
    texts = [text] if cell is None else [text, jupyter.transformed(text)]
    for each in texts:
        try:
            return whole(each), []
        except SyntaxError:
            pass
    return recovered(texts[-1])
