"""Trusted sources as modules: the solutions, and mutants of them, side by side."""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from itertools import count

from autograder.checks.declaration import Namespace

_numbers = count()


def loaded(sources: Mapping[str, str]) -> dict[str, Namespace]:
    """The modules of a package by name, executed in order under a package name of their own."""
    package = f"_calibrated_{next(_numbers)}"
    parent = types.ModuleType(package)
    parent.__path__ = []
    sys.modules[package] = parent
    spaces: dict[str, Namespace] = {}
    made = [package]
    try:
        for name, source in sources.items():
            module = types.ModuleType(f"{package}.{name}")
            module.__package__ = package
            sys.modules[module.__name__] = module
            made.append(module.__name__)
            exec(compile(source, f"{name}.py", "exec"), module.__dict__)
            spaces[name] = module.__dict__
    finally:
        for each in made:
            sys.modules.pop(each, None)
    return spaces
