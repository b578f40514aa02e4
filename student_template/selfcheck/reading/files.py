"""Files of a submission, each with its statements, and how they find one another by imports."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from pathlib import PurePosixPath

from ..course import ROOT, course
from .cells import body_of, code_cells, run_files, without_magics, written_by
from .pieces import recovered, whole
from .sources import decode, is_ignored

_DEFINED = re.compile(r"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Broken:
    """Lines that are no Python, and the names that they would have defined."""

    path: str
    cell: int | None
    line: int
    message: str
    names: tuple[str, ...]

    @property
    def where(self) -> str:
        """The place, such as `attention/causal.py:12`."""
        if self.cell is None:
            return f"{self.path}:{self.line}"
        return f"{self.path} cell {self.cell} line {self.line}"


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement at the top of a file, and the cell that it stands in."""

    node: ast.stmt
    cell: int | None


@dataclass(slots=True)
class File:
    """One module or notebook."""

    path: str
    statements: list[Statement] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    writes: list[File] = field(default_factory=list)  # modules that cells write to disk

    @property
    def is_notebook(self) -> bool:
        """Whether it is a notebook."""
        return self.path.lower().endswith(".ipynb")

    @property
    def parts(self) -> tuple[str, ...]:
        """Its path as a module's name."""
        *folders, name = self.path.split("/")
        stem = name.rsplit(".", 1)[0]
        return (*folders,) if stem == "__init__" else (*folders, stem)

    @property
    def folder(self) -> tuple[str, ...]:
        """The folder that a relative import starts from."""
        return tuple(self.path.split("/")[:-1])


def read(path: str, data: bytes) -> File:
    """A file as the grader reads it. Raises ValueError for a notebook that is none."""
    file = File(path)
    if not file.is_notebook:
        _add(file, decode(data)[0], None)
        return file
    for number, cell in enumerate(code_cells(data), start=1):
        text, _ = body_of(cell)
        _add(file, text, number)
        file.runs += run_files(text)
        name, written, _ = written_by(cell) or ("", "", False)
        inner = "/".join([*file.folder, name])
        if name.endswith(".py") and not is_ignored(inner):
            file.writes.append(read(inner, written.encode("utf-8", "replace")))
    return file


def _add(file: File, text: str, cell: int | None) -> None:
    texts = [text] if cell is None else [text, without_magics(text)]
    for each in texts:
        try:
            file.statements += [
                Statement(node, cell) for node in (piece.tree() for piece in whole(each)) if node
            ]
            return
        except SyntaxError:
            continue
    good, broken = recovered(texts[-1])
    file.statements += [Statement(each.node, cell) for each in good if each.node]
    for piece in broken:
        names = tuple(_DEFINED.findall(piece.text))
        file.broken.append(Broken(file.path, cell, piece.line, piece.message, names))


class Files:
    """All files that may be handed in, by path."""

    def __init__(self, files: Sequence[File]) -> None:
        there = {file.path for file in files}
        written = [each for file in files for each in file.writes if each.path not in there]
        self._by_path = {file.path: file for file in sorted(files, key=lambda each: each.path)}
        self._by_path |= {each.path: each for each in written}

    def __iter__(self) -> Iterator[File]:
        return iter(sorted(self._by_path.values(), key=lambda each: (each.is_notebook, each.path)))

    def find(self, parts: Sequence[str], near: tuple[str, ...]) -> File | None:
        """The module that a dotted name means in a folder: the nearest, as the grader finds it."""
        parts = tuple(parts)
        if not parts:
            return self._by_path.get("/".join([*near, "__init__.py"]))
        for depth in range(len(near), -1, -1):
            found = self._at((*near[:depth], *parts))
            if found is not None:
                return found
        fits = [each for each in self if not each.is_notebook and _ends_with(each.parts, parts)]
        if fits:
            return fits[0]
        return self.find(parts[1:], near) if parts[0] == "attention" and parts[1:] else None

    def _at(self, parts: tuple[str, ...]) -> File | None:
        for file in self:
            if file.parts == parts and not file.is_notebook:
                return file
        return None

    def asked_for(self, file: File, node: ast.stmt | ast.expr) -> Iterator[File]:
        """The files that an import asks for."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from self._found(alias.name.split("."), file)
        elif isinstance(node, ast.ImportFrom):
            module = (node.module or "").split(".") if node.module else []
            if node.level:
                base = file.folder[: max(0, len(file.folder) - node.level + 1)]
                inner = self._at((*base, *module))
                yield from [inner] if inner is not None else self._found(module, file)
                asked = [(*base, *module, alias.name) for alias in node.names]
                yield from filter(None, map(self._at, asked))
            else:
                yield from self._found(module, file)
                for alias in node.names:
                    yield from self._found([*module, alias.name], file)
        elif isinstance(node, ast.Call) and _last(node.func) == "import_module" and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield from self._found(first.value.strip(".").split("."), file)

    def _found(self, parts: Sequence[str], file: File) -> Iterator[File]:
        if parts and is_library(parts[0]):
            return
        found = self.find(parts, file.folder) if parts else None
        if found is not None and found is not file:
            yield found

    def needed_by(self, first: Sequence[File]) -> list[File]:
        """These files, and all that they import, and so on."""
        needed = {file.path: file for file in first}
        waiting = [*first]
        while waiting:
            file = waiting.pop()
            for other in [*self._imported_by(file), *self._inits_of(file)]:
                if other.path not in needed:
                    needed[other.path] = other
                    waiting.append(other)
        return [file for file in self if file.path in needed]

    def _imported_by(self, file: File) -> Iterator[File]:
        for statement in file.statements:
            for node in ast.walk(statement.node):
                if isinstance(node, ast.stmt | ast.expr):
                    yield from self.asked_for(file, node)
        for wanted in file.runs:
            inner = wanted.replace("\\", "/").removeprefix("./")
            yield from (each for each in self if f"/{each.path}".endswith(f"/{inner}"))

    def _inits_of(self, file: File) -> Iterator[File]:
        for depth in range(1, len(file.folder) + 1):
            init = self._by_path.get("/".join([*file.folder[:depth], "__init__.py"]))
            if init is not None:
                yield init


def is_library(name: str) -> bool:
    """Whether Python has a module of that name of its own or installed, outside of this folder."""
    if name == course().package:
        return False
    if name in sys.builtin_module_names or name in sys.stdlib_module_names:
        return True
    own = {"", ".", str(ROOT), str(ROOT.resolve())}
    try:
        return (
            PathFinder.find_spec(name, [each for each in sys.path if each not in own]) is not None
        )
    except (ImportError, ValueError):
        return False


def _ends_with(parts: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return parts[-len(wanted) :] == wanted


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def stem(path: str) -> str:
    """A file's name without its suffix."""
    return PurePosixPath(path).name.rsplit(".", 1)[0]
