"""Torch's compiler, which no guest may start: stand-ins that leave everything as it is.

Importing the real one takes seconds and writes to disk. Torch's optimizers, and a few of its
settings, import it only to say where it must not look, so a demo that trains would pay for that.
"""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .placeholders import Placeholder

_QUIET = Placeholder("torch's compiler", quiet=True)
_NAMES = ("_dynamo", "_inductor")


class _Absent(ModuleType):
    """A part of the compiler: takes settings, and does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_QUIET, name)


def install() -> Callable[[], None]:
    """Put the stand-ins in the compiler's place; gives back how to undo it."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return lambda: None
    compiler = torch.compile
    torch.compile = _uncompiled
    made = [name for name in _NAMES if f"torch.{name}" not in sys.modules]
    for name in made:
        part = _Absent(f"torch.{name}")
        config = _Absent(f"torch.{name}.config")
        vars(part).update(
            config=config,
            disable=_uncompiled,
            is_compiling=_never,
            is_dynamo_supported=_never,
        )
        sys.modules[part.__name__], sys.modules[config.__name__] = part, config
        setattr(torch, name, part)

    def undo() -> None:
        torch.compile = compiler
        for name in made:
            delattr(torch, name)
            del sys.modules[f"torch.{name}"], sys.modules[f"torch.{name}.config"]

    return undo


def _uncompiled(model: Any = None, *rest: Any, **options: Any) -> Any:
    """`torch.compile` and `disable`, bare or as decorators with options: the model as it is."""
    return (lambda inner: inner) if model is None else model


def _never(*arguments: Any) -> bool:
    return False
