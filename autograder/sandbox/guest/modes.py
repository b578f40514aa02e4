"""Training or evaluation mode for a module, its parts, and the global layers that it depends on.

A global layer belongs to all modules of its class and has one mode: it follows whichever module is
called, so that the order in which modules are called does not matter.
"""

from __future__ import annotations

from typing import Any

import torch

from . import globals_used
from .describe import is_a, own
from .modules import walk

_Module = torch.nn.Module
_train, _set_attribute = _Module.train, _Module.__setattr__
_children, _named_children = _Module.children, _Module.named_children
_MOST = 256  # modules in a module that are looked at one by one
_TRAINING = "training"
_outside: list[bool] = []  # not empty once anything put into a mode here leant on a layer outside


def put_into(module: Any, training: bool) -> None:
    """Do what `module.train(training)` does, for global layers as well."""
    parts = _plain_parts(module)
    if parts is None:
        module.train(training)
        parts = [part for _, part in walk(module)]
    else:
        for part in parts:
            own(part)[_TRAINING] = training  # type: ignore[index]
    # A layer outside knows nothing of modes, so that nothing could be compared; that it lies
    # outside is told, and shows where it does not follow what the module is built with.
    for layer in globals_used.layers_in(parts):
        layer.train(training)
        _outside[:] = [True]


def bring_along(module: Any) -> None:
    """Put global layers into the mode of the module that depends on them, before it is called."""
    if not _outside:
        return  # nearly always
    for _, part in walk(module):
        training = own(part).get(_TRAINING)
        if type(training) is bool:
            for layer in globals_used.layers_in([part]):
                layer.train(training)


def _plain_parts(module: object) -> list[Any] | None:
    """A module and all within, where torch's `train` would only set one entry of each.

    Going through torch for that takes several times as long. None where anything is unusual: then
    it is for `train` to do.
    """
    parts = [module]
    for part in parts:
        kind, held = type(part), own(part)
        inner = held.get("_modules")
        # What stands in its own dictionary is no property of the class.
        if type(inner) is not dict or _TRAINING not in held or not _is_plain(kind):
            return None
        if "train" in held or "children" in held or "named_children" in held:
            return None
        for child in inner.values():
            if child is None:
                continue
            if not is_a(child, _Module) or len(parts) >= _MOST:
                return None
            parts.append(child)
    return parts


def _is_plain(kind: Any) -> bool:
    return (
        kind.train is _train
        and kind.__setattr__ is _set_attribute
        and kind.children is _children
        and kind.named_children is _named_children
    )
