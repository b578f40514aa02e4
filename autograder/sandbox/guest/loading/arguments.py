"""Matches the contract's arguments to a constructor as the student wrote it.

By exact name first, then by names that people use for the same thing, as the assignment has them,
then by close misspelling, then by position for what is left. Signatures are read from code objects:
a class may lie about its signature, and asking it would run its code.
"""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from ...protocol.wire import OtherNames
from .spelling import closeness, folded

_MISSPELLED = 0.8
_EMPTY: Any = inspect.Parameter.empty
_members = type.__dict__["__dict__"].__get__
_ancestors = type.__dict__["__mro__"].__get__

#: The contract's parameters and what each is called elsewhere.
Known = Mapping[str, OtherNames]
_UNKNOWN = OtherNames()


class Match(NamedTuple):
    """How to call something with the contract's arguments."""

    arguments: list[object]
    keywords: dict[str, object]
    notes: tuple[str, ...]
    dropped: tuple[str, ...]  # arguments that had no place and whose loss matters


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter as the code object has it."""

    name: str
    positional_only: bool
    default: Any = _EMPTY

    @property
    def required(self) -> bool:
        """Whether a call must give it."""
        return self.default is _EMPTY


@dataclass(frozen=True, slots=True)
class Signature:
    """What a callable takes, `self` and what a partial has bound aside."""

    parameters: tuple[Parameter, ...]
    takes_more: bool  # *args
    takes_any: bool  # **kwargs
    parent: "Signature | None" = None  # whom **kwargs may be passed on to


def fit(target: Callable[..., Any], wanted: dict[str, object], known: Known) -> Match:
    """Find a parameter for each of the contract's arguments.

    Arguments without a parameter are left out; if the callable needs more than it gets, calling it
    raises.

    Args:
        target: The student's function or class.
        wanted: The contract's arguments by name, in the contract's order.
        known: What the contract's parameters are called elsewhere.
    """
    signature = _read_before(target)
    if signature is None or _takes_exactly(signature, wanted):
        return Match([], dict(wanted), (), ())
    levels = list(_levels(signature))
    left = dict(wanted)
    places: dict[str, object] = {}
    notes: list[str] = []
    for number, level in enumerate(levels):
        free = [each for each in level.parameters if each.name not in places]
        for key, parameter, how in _pairs(left, free, known, by_position=number == 0):
            places[parameter.name] = left.pop(key)
            if how:
                notes.append(f"{key} was given as {parameter.name} ({how})")
    for parameter in signature.parameters:  # required here, optional in the contract
        harmless = _harmless(parameter.name, known)
        if parameter.required and parameter.name not in places and harmless:
            (places[parameter.name],) = harmless
    arguments: list[object] = []
    for parameter in signature.parameters:
        if not parameter.positional_only or parameter.name not in places:
            break
        arguments.append(places.pop(parameter.name))
    if left and signature.takes_more and not signature.parameters:
        arguments.extend(left.values())
        left.clear()
    if signature.takes_any and signature.parent is None:
        places.update(
            {key: value for key, value in left.items() if not _is_idle(known, key, value)}
        )
        left.clear()
    dropped = tuple(key for key, value in left.items() if _matters(known, key, value))
    notes.extend(f"takes no {key}" for key in dropped)
    return Match(arguments, places, tuple(notes), dropped)


_read: dict[int, tuple[object, "Signature | None"]] = {}  # what was read is kept, so ids stay true


def _read_before(target: Any) -> "Signature | None":
    """The signature, read once for each callable."""
    known = _read.get(id(target))
    if known is None:
        known = _read[id(target)] = target, read(target)
    return known[1]


def _takes_exactly(signature: Signature, wanted: Mapping[str, object]) -> bool:
    """Whether the contract's arguments, by their own names, are just what it takes."""
    parameters = signature.parameters
    return len(parameters) == len(wanted) and all(
        each.name in wanted and not each.positional_only for each in parameters
    )


def read(target: Any) -> Signature | None:
    """The signature of a function, a class, or a partial of one; None where it cannot be seen."""
    bound_first, bound_names = 0, frozenset[str]()
    while type(target) is functools.partial:
        bound_first += len(target.args)
        bound_names |= frozenset(target.keywords)
        target = target.func
    if type(target) is MethodType:
        target, bound_first = target.__func__, bound_first + 1
    if type(target) is FunctionType:
        return _of_function(target, bound_first, bound_names)
    if issubclass(type(target), type):
        return _of_class(target, bound_first, bound_names)
    return None


def _of_class(kind: type, bound_first: int, bound_names: frozenset[str]) -> Signature | None:
    """The signature of a class's constructor, with that of the class it passes the rest on to."""
    signatures: list[Signature] = []
    for ancestor in _ancestors(kind):
        function = _members(ancestor).get("__init__")
        if function is None:
            continue
        if ancestor is object or type(function) is not FunctionType:
            break
        if str(_members(ancestor).get("__module__", "")).startswith("torch."):
            break
        signature = _of_function(function, bound_first + 1, bound_names)
        signatures.append(signature)
        if not signature.takes_any:
            break
    if not signatures:
        return None
    chain: Signature | None = None
    for each in reversed(signatures):
        chain = Signature(each.parameters, each.takes_more, each.takes_any, chain)
    return chain


def _of_function(
    function: FunctionType, bound_first: int, bound_names: frozenset[str]
) -> Signature:
    for _ in range(8):  # a decorator's (*args, **kwargs) stands for what it wraps
        inner = function.__dict__.get("__wrapped__")
        if type(inner) is not FunctionType or function.__code__.co_argcount:
            break
        function = inner
    code = function.__code__
    count = code.co_argcount
    names = code.co_varnames[: count + code.co_kwonlyargcount]
    defaults = dict(
        zip(reversed(names[:count]), reversed(function.__defaults__ or ()), strict=False)
    )
    defaults.update(function.__kwdefaults__ or {})
    return Signature(
        tuple(
            Parameter(name, number < code.co_posonlyargcount, defaults.get(name, _EMPTY))
            for number, name in enumerate(names)
            if number >= bound_first and name not in bound_names
        ),
        bool(code.co_flags & inspect.CO_VARARGS),
        bool(code.co_flags & inspect.CO_VARKEYWORDS),
    )


def _levels(signature: Signature | None) -> Iterator[Signature]:
    while signature is not None:
        yield signature
        signature = signature.parent


def _pairs(
    wanted: Mapping[str, object], free: list[Parameter], known: Known, *, by_position: bool
) -> list[tuple[str, Parameter, str]]:
    """Which argument goes to which parameter, and how that was told where it was not by name."""
    pairs: list[tuple[str, Parameter, str]] = []
    keys = list(wanted)

    def take(key: str, parameter: Parameter, how: str) -> None:
        pairs.append((key, parameter, how))
        keys.remove(key)
        free.remove(parameter)

    for fits, how in (
        (lambda key, name: key == name, ""),
        (lambda key, name: folded(key) == folded(name), ""),
        (lambda key, name: folded(name) in _near(known, key), "a near name"),
    ):
        for key in list(keys):
            # Of several near names the one that stands first in the table is the nearest.
            fitting = [each for each in free if fits(key, each.name)]
            if fitting:
                take(key, min(fitting, key=lambda each: _nearness(known, key, each.name)), how)
    for key in list(keys):
        score, parameter = max(
            ((closeness(key, each.name), each) for each in free),
            key=lambda pair: pair[0],
            default=(0.0, None),
        )
        if parameter is not None and score >= _MISSPELLED:
            take(key, parameter, "a close spelling")
    if by_position:
        for key in list(keys):
            parameter = next((each for each in free if _may_take(each, known, wanted[key])), None)
            if parameter is not None:
                take(key, parameter, "by position")
    return pairs


def _near(known: Known, key: str) -> tuple[str, ...]:
    return known.get(key, _UNKNOWN).near


def _nearness(known: Known, key: str, name: str) -> int:
    row = _near(known, key)
    return row.index(folded(name)) if folded(name) in row else -1


def _may_take(parameter: Parameter, known: Known, value: object) -> bool:
    """Whether an argument may go to a parameter by position alone.

    One that must be given takes the next that is left. One with a default has a use of its own,
    unless the default is of the argument's kind, and a switch is never guessed.
    """
    if _harmless(parameter.name, known):
        return False
    return parameter.required or (
        type(parameter.default) is type(value) and not isinstance(value, bool)
    )


def _harmless(name: str, known: Known) -> tuple[object, ...]:
    """The value at which the parameter that a student calls so changes nothing, if there is one."""
    for key, others in known.items():
        if folded(name) == folded(key) or folded(name) in others.near:
            return others.harmless
    return ()


def _matters(known: Known, key: str, value: object) -> bool:
    return known.get(key, _UNKNOWN).heeded and not _is_idle(known, key, value)


def _is_idle(known: Known, key: str, value: object) -> bool:
    return value in known.get(key, _UNKNOWN).harmless
