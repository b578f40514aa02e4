"""The globals that a class depends on: layers, tensors and sizes defined outside of it.

Notebooks often have them unnoticed: the cell above has made a mask or a dropout layer of the right
size. They are read from code objects; no student code is run.
"""

from __future__ import annotations

import opcode
from collections.abc import Iterable, Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import torch

from .describe import is_a

_Tensor, _Module = torch.Tensor, torch.nn.Module
_members = type.__dict__["__dict__"].__get__
_ancestors = type.__dict__["__mro__"].__get__
_MOST = 16
_LOAD_GLOBAL, _EXTENDED = opcode.opmap["LOAD_GLOBAL"], opcode.opmap["EXTENDED_ARG"]
# By identity, since to hash code takes longer than to read it; what is kept here keeps its place.
_read: dict[int, tuple[CodeType, tuple[str, ...]]] = {}
_MOST_READ = 512


def globals_of(kind: type) -> dict[str, object]:
    """The global layers, tensors and whole numbers above 1 that the methods of a class use."""
    found: dict[str, object] = {}
    for ancestor in _ancestors(kind):
        if str(_members(ancestor).get("__module__", "")).startswith("torch."):
            break
        for function in list(_members(ancestor).values()):
            if type(function) is FunctionType:
                _look(function, found)
    return found


def _look(function: FunctionType, found: dict[str, object]) -> None:
    around: Any = function.__globals__
    for name in _global_names(function.__code__):
        if len(found) >= _MOST or type(around) is not dict:
            return
        value = around.get(name)
        kind: type = type(value)
        if kind is ModuleType or kind is FunctionType or kind is BuiltinFunctionType:
            continue  # nearly always
        size = type(value) is int and value > 1
        if size or is_a(value, _Tensor) or is_a(value, _Module):
            found[name] = value


def _global_names(code: CodeType) -> tuple[str, ...]:
    """The global names that code looks up, without attributes."""
    known = _read.get(id(code))
    if known is not None:
        return known[1]
    # Read by hand: `dis` takes 1.9 ms, this 0.03, for the 21 code objects of a long solution.
    names, instructions = [], code.co_code
    operations = instructions[::2]
    at = operations.find(_LOAD_GLOBAL)
    while at >= 0:
        # A large number is told by what stands before, eight bits each.
        number, before, shift = instructions[2 * at + 1], at - 1, 8
        while before >= 0 and operations[before] == _EXTENDED:
            number |= instructions[2 * before + 1] << shift
            before, shift = before - 1, shift + 8
        names.append(code.co_names[number >> 1])  # the last bit is Python's own
        at = operations.find(_LOAD_GLOBAL, at + 1)
    for inner in code.co_consts:  # comprehensions and lambdas
        if type(inner) is CodeType:
            names += _global_names(inner)
    found = tuple(dict.fromkeys(names))
    if len(_read) < _MOST_READ:
        _read[id(code)] = code, found
    return found


def notes_on(kind: type) -> tuple[str, ...]:
    """A line for each of them."""
    notes = []
    for name, value in globals_of(kind).items():
        what = "number" if type(value) is int else "tensor" if is_a(value, _Tensor) else "layer"
        notes.append(f"leans on {name}, a {what} outside of the class, whatever it is built with")
    return tuple(notes)


def layers_in(parts: Iterable[object]) -> Iterator[Any]:
    """The global layers that a module and its parts depend on."""
    for part in parts:
        for value in globals_of(type(part)).values():
            if is_a(value, _Module):
                yield value
