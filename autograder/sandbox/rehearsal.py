"""Finds out what checks ask first, by running each up to there with nobody to answer."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterable
from typing import Any, NoReturn

from . import messages, wire
from .foresight import Part, Script
from .line import Line
from .loaded import Found, LoadReport
from .packing import Parcel
from .seeds import seeds_of
from .session import Session
from .shelf import Shelf
from .student import ModuleProxy, Student

_FIRST_HANDLE = 1 << 30  # above those of requests that were not rehearsed


class _Heard(BaseException):
    """A check has asked: it is not run any further. No check catches this."""


class _Listener(Line):
    """Takes the place of the line to a submission that has every name."""

    def __init__(self, names: Iterable[wire.NameSpec]) -> None:
        found = {each.name: Found(each.module, None, None, each.name, False) for each in names}
        self.report = LoadReport(found)
        self.check, self.number, self.cargo = "", 0, Parcel()
        self.fatal = self.loss = None
        self._next = None
        self.heard: tuple[messages.Operation, ...] = ()
        self._pending: list[messages.Operation] = []

    def begin(self, check: str, seconds: float) -> None:
        self.check, self.heard, self._pending = check, (), []

    @property
    def up(self) -> bool:
        return True

    def ready(self) -> Any:
        return None

    def ask_each(self, name: str, asked: tuple[messages.Operation, ...], kind: object) -> NoReturn:
        self.heard = (*self._pending, *asked)
        raise _Heard


class Rehearsal(Session):
    """A session with nobody behind it."""

    def __init__(self, names: tuple[wire.NameSpec, ...]) -> None:
        self._specs = {spec.name: spec for spec in names}
        self._check_seconds = 0.0
        self._listener = _Listener(names)
        super(Session, self).__init__(self._listener)
        self._last_handle = _FIRST_HANDLE
        self.shelf = Shelf()
        self._built: set[Hashable] = set()

    def take(self, check: int, what: Hashable) -> tuple[tuple[ModuleProxy, ...], Any] | None:
        """Nothing at first. Later it is there, and with it what the check asks depends on it."""
        if what in self._built:
            raise _Heard
        self._built.add(what)
        return None

    def script(self, checks: Iterable[tuple[str, Callable[[Student], object]]]) -> Script | None:
        """The frame for the checks of one name, each with how it is run; None for an empty one."""
        self._built.clear()
        self._listener.cargo = parcel = Parcel()
        parts: list[Part] = []
        seeds: list[int] = []
        for check, run in checks:
            tensors, handles = len(parcel.heads), self._last_handle
            self.begin_check(check)
            with contextlib.suppress(_Heard):
                run(self.student(check))
            operations = self._listener.heard
            if not operations:
                del parcel.heads[tensors:], parcel.payload[tensors:]
                continue
            built = tuple(range(handles + 1, self._last_handle + 1))
            parts.append(Part(check, operations, (tensors, len(parcel.heads)), built))
            seeds += seeds_of(check, 1, len(operations))
        return Script(tuple(parts), tuple(seeds), parcel) if parts else None
