"""Files and folders of a submission as things that can be imported."""

from __future__ import annotations

import importlib.abc
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any, Protocol

from .sources import VIRTUAL_ROOT

ROOT = "handed_in"  # the package that holds everything, so that no student's module is top-level


class SourceFile(Protocol):
    """One file of a submission."""

    @property
    def path(self) -> str:
        """The path within the submission."""

    @property
    def kind(self) -> Any:
        """`module`, `notebook` or `data`."""

    @property
    def data(self) -> bytes:
        """The bytes of a module or data file."""

    @property
    def cells(self) -> tuple[str, ...]:
        """The code cells of a notebook."""


class Node:
    """A file or folder of the submission, as an importable thing."""

    __slots__ = (
        *("children", "file", "module", "name", "namespace", "number", "parent", "part", "text"),
    )

    def __init__(self, part: str, parent: Node | None) -> None:
        self.part = part
        self.parent = parent
        self.name: str = f"{parent.name}.{part}" if parent else part
        self.children: dict[str, Node] = {}
        self.file: SourceFile | None = None
        self.text = ""  # what was compiled of a module, for `inspect`
        self.number = 0
        self.module: ModuleType | None = None
        self.namespace: dict[str, Any] = {}

    @property
    def is_package(self) -> bool:
        """Whether other modules may lie within it."""
        return bool(self.children) or self.parent is None or self._is_init

    @property
    def folder(self) -> Node:
        """The folder whose modules it reaches by a relative import."""
        return self if self.is_package or self.parent is None else self.parent

    @property
    def filename(self) -> str:
        """The path that it seems to have."""
        return f"{VIRTUAL_ROOT}/{self.file.path}" if self.file else VIRTUAL_ROOT

    @property
    def _is_init(self) -> bool:
        return self.file is not None and self.file.path.rsplit("/", 1)[-1] == "__init__.py"

    def ends_with(self, parts: Sequence[str]) -> bool:
        """Whether these are the last parts of its dotted name."""
        node: Node | None = self
        for part in reversed(parts):
            if node is None or node.parent is None or node.part != part:
                return False
            node = node.parent
        return True

    def below(self, parts: Sequence[str]) -> Node | None:
        """What those parts lead to from here."""
        node: Node | None = self
        for part in parts:
            node = node.children.get(part) if node else None
        return node


class Package(ModuleType):
    """A package whose modules are there when asked for, imported before or not."""

    def __getattr__(self, name: str) -> Any:
        enter = self.__dict__.get("__enter_child__")
        if enter is not None and not name.startswith("__"):
            module = enter(name)
            if module is not None:
                return module
        raise AttributeError(f"module {self.__dict__.get('__name__')!r} has no attribute {name!r}")


class Alias(importlib.abc.Loader):
    """The loader of one module under any of its names."""

    def __init__(self, node: Node, enter: Callable[[Node], ModuleType]) -> None:
        self._node = node
        self._enter = enter

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The one module object, run if need be."""
        return self._enter(self._node)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is run twice; the import system's note of the name is put right."""
        if getattr(self._node.namespace.get("__spec__"), "name", None) != self._node.name:
            own = ModuleSpec(self._node.name, self, origin=self._node.filename)
            own.has_location = self._node.file is not None
            self._node.namespace["__spec__"] = own

    def get_filename(self, fullname: str = "") -> str:
        """Where the module seems to lie."""
        return self._node.filename

    def get_source(self, fullname: str = "") -> str:
        """Its text, for `inspect` and tracebacks."""
        return self._node.text

    def get_data(self, path: str) -> bytes:
        """The bytes of its own file."""
        if path == self._node.filename and self._node.file is not None:
            return self._node.file.data
        raise FileNotFoundError(path)

    def get_code(self, fullname: str = "") -> CodeType | None:
        """Nothing: a module is compiled statement by statement."""
        return None

    def is_package(self, fullname: str = "") -> bool:
        """Whether it is a package."""
        return self._node.is_package
