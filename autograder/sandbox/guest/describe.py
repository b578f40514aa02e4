"""A student's objects as values of the protocol, without asking them anything.

Types are looked up with `type(...)` and their true ancestry, exact builtins are made with the
builtins' own methods, and containers are walked with theirs: what an object says of itself
through `__class__`, `__eq__`, `__iter__` or `__getattr__` is never consulted.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from types import CodeType, FrameType, TracebackType
from typing import Any, Protocol

import torch

from ..protocol.messages import Raised, Spot
from ..protocol.tensors import CannotTravel, Cargo, facts
from ..protocol.wire import (
    MAX_DEPTH,
    MAX_DIMENSIONS,
    MAX_FRAMES,
    MAX_ITEMS,
    MAX_NAME,
    MAX_SIZE,
    MAX_TEXT,
    Described,
    Many,
    TensorValue,
    Text,
    Value,
)

_type, _id, _len, _repr = type, id, len, repr
_derives: Any = type.__subclasscheck__  # type's own, whatever a metaclass says
_trace_of: Any = BaseException.__dict__["__traceback__"].__get__
_name_of: Any = type.__dict__["__name__"].__get__
_dict_of = object.__getattribute__
_int, _float, _str, _bool, _list, _tuple, _dict = int, float, str, bool, list, tuple, dict
_exact_int, _exact_float, _exact_str = int.__pos__, float.__pos__, str.__str__
_is_ascii = str.isascii
_list_parts: Any = list.__iter__
_tuple_parts: Any = tuple.__iter__
_dict_items: Any = dict.items
_first = itertools.islice
_Tensor, _Module = torch.Tensor, torch.nn.Module
_Exception, _NotImplementedError = Exception, NotImplementedError
_encode = str.encode
_MOST_PARTS = 64
_LARGEST = 1 << 62


class SourceLines(Protocol):
    """Where compiled code comes from: what loading keeps for every file name it makes up."""

    @property
    def path(self) -> str:
        """The path within the submission."""

    @property
    def cell(self) -> int | None:
        """The number of the notebook's cell; None in a module."""

    @property
    def lines(self) -> tuple[str, ...]:
        """The text, line by line."""


def is_a(value: object, kind: type) -> bool:
    """Whether the value's true type derives from `kind`."""
    found = _type(value)
    return found is kind or bool(_derives(kind, found))


def type_name(value: object) -> str:
    """The true type's name, cut."""
    return label(_name_of(_type(value)))


def _sound(text: str) -> str:
    """The text without lone surrogates, which cannot be sent."""
    if _is_ascii(text):
        return text
    return _encode(text, "utf-8", "replace").decode("utf-8")


def label(text: str) -> str:
    """A string, cut to the length of a label."""
    return _sound(_exact_str(text)[:MAX_NAME])


def words(text: str) -> str:
    """A string, cut to the length of a message."""
    return _sound(_exact_str(text)[:MAX_TEXT])


def own(value: object) -> Mapping[str, object]:
    """An object's dictionary as it is; empty if it has no plain dictionary."""
    try:
        found = _dict_of(value, "__dict__")
    except Exception:  # an object without one, or one that only pretends
        return {}
    return found if _type(found) is _dict else {}


def members(value: object) -> Mapping[str, object]:
    """An object's own attributes under plain names."""
    return {name: item for name, item in _dict_items(own(value)) if _type(name) is _str}


def children(value: object) -> list[tuple[str, object]]:
    """What a container or an object holds, by name or position; nothing for other values."""
    if is_a(value, _list):
        return [(_repr(i), item) for i, item in enumerate(_first(_list_parts(value), MAX_ITEMS))]
    if is_a(value, _tuple):
        return [(_repr(i), item) for i, item in enumerate(_first(_tuple_parts(value), MAX_ITEMS))]
    if is_a(value, _dict):
        return _named(value)
    return list(members(value).items())[:MAX_ITEMS]


def _named(value: object) -> list[tuple[str, object]]:
    """The items of a dictionary whose keys are texts."""
    found: list[tuple[str, object]] = []
    for key, item in _first(_dict_items(value), MAX_ITEMS):
        if _type(key) is _str:
            found.append((key, item))
        elif is_a(key, _str):
            found.append((_exact_str(key), item))
    return found


class Describer:
    """Puts values into messages, and their tensors into the cargo of the frame."""

    def __init__(self, cargo: Cargo, module: Callable[[torch.nn.Module], Value]) -> None:
        self._cargo = cargo
        self._module = module

    def tensor(self, tensor: torch.Tensor) -> TensorValue | Described:
        """A tensor, or a description of one that cannot travel."""
        try:
            return TensorValue(self._cargo.add(tensor))
        except CannotTravel as reason:
            return self._facts(tensor, reason.why)
        except Exception:
            return Described(type_name(tensor), "its numbers cannot be read")

    def _facts(self, tensor: torch.Tensor, why: str) -> Described:
        try:
            shape, dtype, device = facts(tensor)
            if _len(shape) > MAX_DIMENSIONS or max(shape, default=0) > MAX_SIZE:
                return Described(type_name(tensor), why, None, label(dtype), label(device))
            return Described(type_name(tensor), why, shape, label(dtype), label(device))
        except Exception:
            return Described(type_name(tensor), why)

    def value(self, value: object, depth: int = 0) -> Value:
        """Any object at all."""
        kind = _type(value)
        if value is None or kind is _bool:
            return value  # type: ignore[return-value]
        if is_a(value, _Tensor):
            return self.tensor(value)  # type: ignore[arg-type]
        if is_a(value, _float):
            return _exact_float(value)  # type: ignore[arg-type]
        if is_a(value, _int):
            number = _exact_int(value)  # type: ignore[arg-type]
            if -_LARGEST < number < _LARGEST:
                return number
            return Described(type_name(value), "the number is too large")
        if is_a(value, _str):
            return Text(words(value))  # type: ignore[arg-type]
        if is_a(value, _Module):
            return self._module(value)  # type: ignore[arg-type]
        if depth >= MAX_DEPTH:
            return Described(type_name(value), "it is nested too deeply")
        if is_a(value, _list) or is_a(value, _tuple):
            return Many([self.value(item, depth + 1) for _, item in children(value)])
        parts: dict[str, Value] = {}
        for name, item in children(value)[:_MOST_PARTS]:
            if is_a(item, _Tensor):
                parts[label(name)] = self.tensor(item)  # type: ignore[arg-type]
        why = "it is no tensor, number, text, list or module"
        return Described(type_name(value), why, parts=parts)


def raised(error: BaseException, sources: Mapping[str, SourceLines]) -> Raised:
    """An exception, with the frames of its traceback that lie within the submission."""
    kind = type_name(error)
    not_implemented = is_a(error, _NotImplementedError)
    return Raised(kind, _message(error), not_implemented, _spots(error, sources))


def _message(error: BaseException) -> str:
    try:
        return words(_str(error))
    except Exception:  # the exception's own __str__ is a student's code
        return ""


def _spots(error: BaseException, sources: Mapping[str, SourceLines]) -> tuple[Spot, ...]:
    found: list[Spot] = []
    trace: TracebackType | None = _trace_of(error)
    steps = 0
    while trace is not None and steps < 10_000:
        frame: FrameType = trace.tb_frame
        code: CodeType = frame.f_code
        source = sources.get(code.co_filename)
        if source is not None:
            found.append(_spot(source, trace.tb_lineno, code.co_name))
            if _len(found) > 2 * MAX_FRAMES:
                del found[:MAX_FRAMES]
        trace = trace.tb_next
        steps += 1
    return tuple(found[-MAX_FRAMES:])


def _spot(source: SourceLines, line: int | None, function: str) -> Spot:
    number = line or 0
    lines = source.lines
    text = lines[number - 1].strip() if 0 < number <= _len(lines) else ""
    return Spot(label(source.path), number, label(function), label(text), source.cell)
