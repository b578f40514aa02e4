"""Looking into a student's module: its parameters, buffers, submodules and other attributes.

torch's own dictionaries are read directly, since `named_parameters` and the like may be overridden.
Modules that torch does not know of, because they are in a plain list, are found too and marked as
such.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from ..protocol.tensors import facts
from ..protocol.wire import MAX_ITEMS, MAX_NAME, ModuleValue, Slot
from .describe import children, is_a, label, members, own, type_name

_Tensor, _Module = torch.Tensor, torch.nn.Module
_Exception = Exception
_requires_grad: Any = torch._C.TensorBase.requires_grad.__get__  # type: ignore[attr-defined]
_DEEPEST = 24
_REGISTERED = ("_parameters", "_buffers", "_modules")
_OWN = frozenset(torch.nn.Module().__dict__)  # what every module keeps for torch's sake


def _entries(module: object, which: str) -> list[tuple[str, object]]:
    """One of torch's dictionaries of a module, as pairs."""
    found: Any = own(module).get(which)
    if type(found) is dict and not found:
        return []  # most of them
    return children(found) if found and is_a(found, dict) else []


def walk(
    module: object, prefix: str = "", above: tuple[int, ...] = ()
) -> Iterator[tuple[str, object]]:
    """A module and its registered submodules with their paths.

    Args:
        module: The module.
        prefix: The path that paths begin with.
        above: The modules above it, which are not entered again.
    """
    yield prefix, module
    if len(above) >= _DEEPEST:
        return
    for name, child in _entries(module, "_modules"):
        if is_a(child, _Module) and id(child) not in above:
            path = f"{prefix}.{name}" if prefix else name
            yield from walk(child, path, (*above, id(module)))


def tables(module: object) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Parameters and buffers by path, and the keys of the state dictionary, in one walk.

    A shared parameter stands under each of its paths; a buffer that is not persistent is no key.
    """
    found: dict[str, dict[str, Any]] = {"_parameters": {}, "_buffers": {}}
    names: list[str] = []
    for prefix, part in walk(module):
        for which, table in found.items():
            entries = _entries(part, which)
            loose = own(part).get("_non_persistent_buffers_set") if entries else None
            for name, tensor in entries:
                path = f"{prefix}.{name}" if prefix else name
                if not is_a(tensor, _Tensor) or len(path) > MAX_NAME or len(table) >= MAX_ITEMS:
                    continue
                table[path] = tensor
                if which == "_parameters" or type(loose) is not set or name not in loose:
                    names.append(path)
    return found["_parameters"], found["_buffers"], names[:MAX_ITEMS]


def parameters(module: object) -> dict[str, Any]:
    """Registered parameters by path."""
    return tables(module)[0]


def buffers(module: object) -> dict[str, Any]:
    """Registered buffers by path, persistent or not."""
    return tables(module)[1]


def slots(found: Mapping[str, Any]) -> tuple[Slot, ...]:
    """A table of tensors without their numbers; one that cannot tell its shape is not in it."""
    known: list[Slot] = []
    for path, tensor in found.items():
        try:
            shape, dtype, device = facts(tensor)
            needs = bool(_requires_grad(tensor))
            known.append(Slot(label(path), shape, dtype, label(device), needs))
        except _Exception:  # a nested tensor
            continue
    return tuple(known)


def module_value(handle: int, module: object) -> ModuleValue:
    """A module as the judge sees it."""
    if not is_a(module, _Module):
        return ModuleValue(handle, type_name(module))
    held, kept, names = tables(module)
    return ModuleValue(handle, type_name(module), slots(held), slots(kept), tuple(names))


def submodules(module: object) -> list[tuple[str, str, bool]]:
    """Path, class name and whether torch knows of it, of everything inside a module."""
    found: list[tuple[str, str, bool]] = []
    known: set[int] = set()
    for path, part in walk(module):
        known.add(id(part))
        if path:
            found.append((path, type_name(part), True))
    for path, item in attributes(module):
        if is_a(item, _Module) and id(item) not in known:
            for inner, part in walk(item, path):
                found.append((inner, type_name(part), False))
    return [entry for entry in found if len(entry[0]) <= MAX_NAME][:MAX_ITEMS]


def attributes(module: object) -> Iterator[tuple[str, object]]:
    """Everything that a module and its submodules hold outside torch's dictionaries.

    Modules in plain lists are gone into, so that their parameters are told as well.
    """
    count = 0
    for prefix, part in walk(module):
        for name, item in list(members(part).items()):
            if name in _OWN or name in _REGISTERED:
                continue
            for path, leaf in _leaves(f"{prefix}.{name}" if prefix else name, item, 0):
                count += 1
                if count > MAX_ITEMS:
                    return
                yield path, leaf


def _leaves(path: str, item: object, depth: int) -> Iterator[tuple[str, object]]:
    container = is_a(item, list) or is_a(item, tuple) or is_a(item, dict)
    if container and depth < 3:
        for name, inner in children(item):
            yield from _leaves(f"{path}.{name}", inner, depth + 1)
        return
    yield path, item
    if is_a(item, _Module) and depth:
        held, kept, _ = tables(item)
        for name, tensor in (*held.items(), *kept.items()):
            yield f"{path}.{name}", tensor


def locate(module: object, path: str) -> object:
    """What lies at a path: registered or not, through lists and dictionaries."""
    here = module
    for step in path.split(".") if path else []:
        here = _step(here, step)
    return here


def _step(here: object, step: str) -> object:
    if is_a(here, _Module):
        held = own(here)
        for which in _REGISTERED:
            table: Any = held.get(which)
            if type(table) is dict and step in table:
                return table[step]
            for name, item in _entries(here, which):
                if name == step:
                    return item
    for name, item in children(here):
        if name == step:
            return item
    raise KeyError(f"nothing is called {step!r} there")
