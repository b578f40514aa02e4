"""The student's modules, which the checks may hold before anything is in them.

The checks import `attention` when they are collected, and that is to be done before a file is
saved. So they are given empty modules, and the files are read into these same modules later.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

from .course import ROOT, Stage, course


def load_module(stage: Stage) -> ModuleType:
    """Import a stage's module from the folder `attention/`."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    return importlib.import_module(f"{course().package}.{stage.module}")


class Awaited(MetaPathFinder):
    """Stands for `attention` and the stages' modules until the first of them is loaded."""

    def __init__(self) -> None:
        package = ModuleType(course().package)
        package.__path__ = []
        self._modules = {package.__name__: package}
        for stage in course().stages:
            module = ModuleType(f"{package.__name__}.{stage.module}")
            setattr(package, stage.module, module)
            self._modules[module.__name__] = module
        self._waiting = True
        sys.modules.update(self._modules)

    def load(self, stage: Stage) -> ModuleType:
        """Read a stage's file into its module, or raise what that raises."""
        if self._waiting:
            self._waiting = False
            for name in self._modules:
                del sys.modules[name]
            sys.meta_path.insert(0, self)
            sys.dont_write_bytecode = True  # a file saved twice in a second is read twice
        return load_module(stage)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where a module lies as ever, and that it is to be read into the one that waits."""
        if fullname not in self._modules:
            return None
        where = [str(ROOT)] if path is None else path  # not a library of that name
        spec = PathFinder.find_spec(fullname, where, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Into(self._modules[fullname], spec.loader.path)
        return spec


class _Into(SourceFileLoader):
    """Reads a file into a module that there is already, and always the file itself."""

    def __init__(self, module: ModuleType, path: str) -> None:
        super().__init__(module.__name__, path)
        self._module = module

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        vars(self._module).clear()
        return self._module

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)
