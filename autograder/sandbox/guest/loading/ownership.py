"""Whose a value is, told without running any of the student's code.

Only functions, classes and callable objects that the submission defines itself count as its work;
what it imports from a library does not, under whatever name.
"""

import functools
from collections.abc import Collection, Iterator
from inspect import getattr_static, isdatadescriptor
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Literal

from .nodes import ROOT
from .placeholders import Placeholder

Kind = Literal["function", "class", "object"]

_LAYERS = 8  # decorators around one another
_INNER = ("__wrapped__", "_torchdynamo_inline", "_torchdynamo_orig_callable", "__func__")
_members = type.__dict__["__dict__"].__get__
_ancestors = type.__dict__["__mro__"].__get__


class Ownership:
    """Tells the submission's own values from others, and its stubs from its work."""

    def __init__(
        self,
        filenames: Collection[str],
        namespaces: Collection[int],
        stubs: Collection[tuple[str, int, str]],
    ) -> None:
        self._filenames = filenames
        self._namespaces = namespaces  # identities of the submission's globals
        self._stubs = stubs

    def kind(self, value: Any) -> Kind | None:
        """What a value of the submission's own is; None for everything else."""
        inner = self.core(value)
        if type(inner) is FunctionType:
            return "function"
        if inner is not None and issubclass(type(inner), type):
            return "class"
        return "object" if inner is not None else None

    def core(self, value: Any) -> Any:
        """The function, class or object of the submission's own within decorators, or None."""
        for _ in range(_LAYERS):
            kind = type(value)
            if issubclass(kind, (Placeholder, ModuleType, BuiltinFunctionType)):
                return None
            if kind is FunctionType:
                if self._is_own_function(value):
                    return value
            elif issubclass(kind, type):
                return value if self._is_own_class(value) else None
            elif kind is functools.partial:
                value = value.func
                continue
            elif kind in (MethodType, staticmethod, classmethod):
                value = value.__func__
                continue
            elif self._is_own_class(kind) and callable(value):
                return value
            value = _wrapped(value)
            if value is None:
                return None
        return None

    def is_stub(self, value: Any) -> bool:
        """Whether a value was left unwritten: its body, or a class's constructor or forward."""
        inner = self.core(value)
        if type(inner) is FunctionType:
            return self._is_unwritten(inner)
        if inner is None or not issubclass(type(inner), type):
            return False
        own = _members(inner)
        if any(self._is_unwritten(own.get(name)) for name in ("__init__", "forward")):
            return True
        return not self._works(inner)

    def filename(self, value: Any) -> str | None:
        """The file in which a value of the submission's own was written, where that shows."""
        inner = self.core(value)
        if type(inner) is FunctionType:
            return inner.__code__.co_filename
        if inner is None:
            return None
        for function in _functions(inner if issubclass(type(inner), type) else type(inner)):
            if function.__code__.co_filename in self._filenames:
                return function.__code__.co_filename
        return None

    def first_line(self, value: Any) -> int | None:
        """The line at which a function begins; a class does not tell."""
        inner = self.core(value)
        return inner.__code__.co_firstlineno if type(inner) is FunctionType else None

    def _works(self, kind: type) -> bool:
        """Whether a class does anything: a forward or call that is not the library's empty one."""
        return any(
            ("forward" in members or "__call__" in members)
            and members.get("__module__") != "torch.nn.modules.module"
            for members in map(_members, _ancestors(kind))
        )

    def _is_own_function(self, function: FunctionType) -> bool:
        return (
            function.__code__.co_filename in self._filenames
            or id(function.__globals__) in self._namespaces
        )

    @staticmethod
    def _is_own_class(kind: type) -> bool:
        module = _members(kind).get("__module__")
        return type(module) is str and module.partition(".")[0] in (ROOT, "__main__")

    def _is_unwritten(self, member: Any) -> bool:
        if type(member) in (staticmethod, classmethod):
            member = member.__func__
        for _ in range(_LAYERS):
            if type(member) is not FunctionType:
                return False
            code = member.__code__
            if (code.co_filename, code.co_firstlineno, code.co_name) in self._stubs:
                return True
            member = _wrapped(member)
        return False


def _functions(kind: type) -> Iterator[FunctionType]:
    """The plain functions among a class's own members."""
    return (each for each in list(_members(kind).values()) if type(each) is FunctionType)


def _wrapped(value: Any) -> Any:
    """What a decorator put its layer around, if it says so."""
    if type(value) is FunctionType:  # the common case, and a quick one
        return value.__dict__.get("__wrapped__")
    for name in _INNER:
        inner = getattr_static(value, name, None)
        if inner is not None and not isdatadescriptor(inner):
            return inner
    return None
