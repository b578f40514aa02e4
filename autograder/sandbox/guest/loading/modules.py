"""The submission's modules: in memory, each one object, under every name that means it.

A file `a/attention/causal.py` is reached as `a.attention.causal`, `attention.causal`, `causal`, by
a relative import, and by its own full name below a root package that no library bears. The
nearest file wins: first in the importer's folder, then in those above it, then anywhere. A name
that a real library has always means the library.
"""

from __future__ import annotations

import builtins
import importlib
import linecache
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from . import jupyter
from .nodes import ROOT, Alias, Node, Package, SourceFile
from .sources import VIRTUAL_ROOT

# The kit's own packages: refused as if they were not there.
_PRIVATE = frozenset((__name__.partition(".")[0], "autograder"))


class Modules:
    """Finds, makes and remembers the modules of one submission."""

    def __init__(
        self,
        files: Sequence[SourceFile],
        run: Callable[[Node], None],
        current: Callable[[], Node],
        imported: Callable[[str], None],
        package: str,
    ) -> None:
        self._run = run
        self._package = package  # the folder in which the template has its modules
        self._imported = imported
        self._current = current
        self.root = Node(ROOT, None)
        self.nodes: list[Node] = []  # files in the order of loading
        self.notebooks: list[Node] = []
        self._by_namespace: dict[int, Node] = {}
        self._index: dict[str, list[Node]] = {}  # by the last part of the name, in path order
        for number, file in enumerate(sorted(files, key=lambda each: each.path), 1):
            if file.kind == "module":
                self._place(file).number = number
            elif file.kind == "notebook":
                self._place_notebook(file).number = number
        self.nodes.extend(self.notebooks)
        tops = {part for node in self._walk(self.root) for part in node.name.split(".")[1:]}
        self.tops = tops | {package}
        self.real = {top for top in self.tops if _is_real(top)}
        self._import = builtins.__import__
        self._import_module = importlib.import_module

    def shadows(self) -> list[tuple[str, str]]:
        """Paths of modules that carry the name of a library, and the name."""
        return [
            (node.file.path, node.part)
            for node in self.nodes
            if node.file and node.part in self.real and node.file.kind == "module"
        ]

    def install(self) -> None:
        """Make the modules importable, after everything real."""
        sys.meta_path.append(self)
        builtins.__import__ = self.import_
        importlib.import_module = self.import_module

    def remove(self) -> None:
        """Take everything back; only a process that outlives the submission needs it."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        builtins.__import__ = self._import
        importlib.import_module = self._import_module
        own = {id(node.module) for node in self._all() if node.module}
        for name, module in list(sys.modules.items()):
            if id(module) in own:
                del sys.modules[name]
        for filename in list(linecache.cache):
            if filename.startswith(VIRTUAL_ROOT + "/"):
                del linecache.cache[filename]

    def node_of(self, namespace: object) -> Node | None:
        """The module whose globals these are."""
        return self._by_namespace.get(id(namespace))

    def namespaces(self) -> dict[int, Node]:
        """The modules that were run, by the identity of their globals."""
        return self._by_namespace

    def find(self, name: str, near: Node, *, real_too: bool = False) -> Node | None:
        """What a dotted name means in a folder; nothing where it means a library."""
        parts = name.split(".")
        if parts[0] == ROOT:
            return self.root.below(parts[1:])
        if parts[0] in self.real and not real_too:
            return None
        folder: Node | None = near.folder
        while folder is not None:
            node = folder.below(parts)
            if node is not None:
                return node
            folder = folder.parent
        for node in self._index.get(parts[-1], ()):
            if node.ends_with(parts):
                return node
        if parts[0] == self._package:  # the folder was left out of what was handed in
            return self.find(".".join(parts[1:]), near) if parts[1:] else self.root
        if len(parts) == 1:
            return next((node for node in self.notebooks if node.part == name), None)
        return None

    def enter(self, node: Node) -> ModuleType:
        """The module of a node, run now if it was not before."""
        if node.module is None and node.parent is not None:
            self.enter(node.parent)
        if node.module is None:
            node.module = self._made(node)
            if node.file is not None:
                spec = node.module.__spec__
                spec._initializing = True  # type: ignore[union-attr]
                try:
                    self._run(node)
                finally:
                    spec._initializing = False  # type: ignore[union-attr]
        if node.parent is not None and node.parent.children.get(node.part) is node:
            node.parent.namespace.setdefault(node.part, node.module)
        return node.module

    # --- what Python's import system calls --------------------------------------------------

    def import_(
        self,
        name: str,
        globals: Any = None,
        locals: Any = None,
        fromlist: Any = (),
        level: int = 0,
    ) -> Any:
        """`__import__`: absolute names of the submission are looked up from where they stand."""
        if level == 0 and type(name) is str:
            top = name.partition(".")[0]
            if top in _PRIVATE and not _is_ours(globals):
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
            if top in self.tops and top not in self.real:
                importer = self.node_of(globals)
                node = self.find(name, importer) if importer is not None else None
                if node is not None:
                    module = self.enter(node)
                    if fromlist:
                        return module
                    for _ in range(name.count(".")):
                        node = node.parent or node
                    return self.enter(node)
            self._imported(top)
        return self._import(name, globals, locals, fromlist, level)

    def import_module(self, name: str, package: str | None = None) -> Any:
        """`importlib.import_module`, with the kit's own packages left out."""
        if type(name) is str and name.partition(".")[0] in _PRIVATE:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if type(name) is str:
            self._imported(name.partition(".")[0])
        return self._import_module(name, package)

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> ModuleSpec | None:
        """The last of `sys.meta_path`: asked only for what is no library."""
        node = self.find(fullname, self._current())
        if node is not None:
            return ModuleSpec(fullname, Alias(node, self.enter), is_package=node.is_package)
        return jupyter.find_spec(fullname)

    # --- making nodes and modules -----------------------------------------------------------

    def _place(self, file: SourceFile) -> Node:
        *folders, name = file.path.split("/")
        folder = self.root
        for part in folders:
            folder = self._child(folder, part.replace(".", "_"))
        stem = name[:-3] if name.casefold().endswith(".py") else name
        if stem == "__init__" and folder.file is None:
            node = folder
        else:
            node = self._child(folder, stem.replace(".", "_"))
            while node.file is not None:  # a module and a package of one name
                node = self._child(folder, node.part + "_")
        node.file = file
        self.nodes.append(node)
        return node

    def _place_notebook(self, file: SourceFile) -> Node:
        *folders, name = file.path.split("/")
        folder = self.root
        for part in folders:
            folder = self._child(folder, part.replace(".", "_"))
        node = Node(name.rsplit(".", 1)[0], folder)
        node.name = "__main__"
        node.file = file
        self.notebooks.append(node)
        return node

    def _child(self, folder: Node, part: str) -> Node:
        if part not in folder.children:
            node = folder.children[part] = Node(part, folder)
            self._index.setdefault(part, []).append(node)
        return folder.children[part]

    def _made(self, node: Node) -> ModuleType:
        module = (Package if node.is_package else ModuleType)(node.name)
        spec = ModuleSpec(
            node.name, Alias(node, self.enter), origin=node.filename, is_package=node.is_package
        )
        spec.has_location = node.file is not None
        namespace = node.namespace = module.__dict__
        namespace.update(__spec__=spec, __loader__=spec.loader, __package__=node.folder.name)
        namespace["__builtins__"] = builtins
        if node.name == "__main__":
            namespace.update(jupyter.names())
        elif node.file is not None:
            namespace["__file__"] = node.filename
        if node.is_package:
            where = node.filename.rsplit("/", 1)[0] if node.file else VIRTUAL_ROOT
            namespace["__path__"] = [where]

            def enter_child(part: str) -> ModuleType | None:
                child = node.children.get(part)
                return self.enter(child) if child is not None else None

            namespace["__enter_child__"] = enter_child
        self._by_namespace[id(namespace)] = node
        sys.modules[node.name] = module
        return module

    def _walk(self, node: Node) -> Iterator[Node]:
        for child in node.children.values():
            yield child
            yield from self._walk(child)

    def _all(self) -> list[Node]:
        return [self.root, *self._walk(self.root), *self.notebooks]


def _is_ours(namespace: object) -> bool:
    """Whether an import stands in the kit's own code."""
    if type(namespace) is not dict:
        return False
    name = namespace.get("__name__")
    return isinstance(name, str) and name.partition(".")[0] in _PRIVATE


def _is_real(top: str) -> bool:
    """Whether a library has the name, imported by now or not."""
    if top in sys.stdlib_module_names or top in sys.modules or top == "IPython":
        return True
    try:
        spec = PathFinder.find_spec(top)
    except (ImportError, ValueError, OSError):
        return False
    return spec is not None and spec.loader is not None
