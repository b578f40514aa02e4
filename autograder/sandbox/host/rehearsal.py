"""Finds out what checks ask first, by running each up to there with nobody to answer.

What they ask next is found out in the same way, from what is foretold of the modules that each has
built by then.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterable
from typing import Any, NoReturn

from ..protocol import messages, wire
from .foresight import Foretold, Part, Script
from .line import Line
from .loaded import Found, LoadReport
from .packing import Parcel
from .seeds import seeds_of
from .session import Session
from .shelf import Shelf
from .student import ModuleProxy, Student

#: How a check is run with a student's names.
Run = Callable[[Student], object]

_FIRST_HANDLE = 1 << 30  # above those of requests that were not rehearsed


class _Heard(BaseException):
    """A check has asked: it is not run any further. No check catches this."""


class _Listener(Line):
    """Takes the place of the line to a submission that has every name."""

    def __init__(self, names: Iterable[wire.NameSpec]) -> None:
        found = {each.name: Found(each.module, None, None, each.name, False) for each in names}
        self.report = LoadReport(found)
        self.check, self.number = "", 0
        self.fatal = self.loss = None
        self.parcel = Parcel()  # of all checks
        self.begin("", 0.0)

    def begin(self, check: str, seconds: float) -> None:
        self.check, self._requests = check, 0
        self.heard: tuple[messages.Operation, ...] = ()
        self._drop_pending()

    def believe(self, answer: Foretold) -> None:
        """What the check of now asks first is answered."""
        self._expect(answer)

    @property
    def requests(self) -> int:
        """Operations that the check of now has got answers to."""
        return self._requests

    def _drop_pending(self) -> None:
        self._pending, self._next, self.cargo = [], None, self.parcel

    @property
    def up(self) -> bool:
        return True

    def ready(self) -> Any:
        return None

    def hear(self, printed: str) -> None:
        """It was printed for the submission that printed it."""

    def _answer(
        self, name: str, is_call: bool, operations: tuple[messages.Operation, ...], *cargo: object
    ) -> NoReturn:
        self.heard = operations
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
        self._shares = True
        self._goes_on = False

    def take(self, check: int, what: Hashable) -> tuple[tuple[ModuleProxy, ...], Any] | None:
        """Nothing at first. Later it is there, and with it what the check asks depends on it."""
        if self._line.builds_first or not self._shares:
            return None
        if self._goes_on or what in self._built:
            raise _Heard
        self._built.add(what)
        return None

    def script(self, checks: Iterable[tuple[str, Run]], shares: bool = True) -> Script | None:
        """The frame for the checks of one name, each with how it is run; None for an empty one.

        shares: whether a check finds the modules there that one before it has built.
        """
        self._built.clear()
        self._shares, self._goes_on = shares, False
        return self._heard_of([(check, run, None) for check, run in checks])

    def further(
        self, checks: Iterable[tuple[str, Run, Foretold]], shares: bool = True
    ) -> Script | None:
        """The same for what they ask next, each with what was foretold to it."""
        self._shares, self._goes_on = shares, True
        return self._heard_of(checks)

    def _heard_of(self, checks: Iterable[tuple[str, Run, Foretold | None]]) -> Script | None:
        self._listener.parcel = parcel = Parcel()
        parts: list[Part] = []
        seeds: list[int] = []
        for check, run, known in checks:
            tensors, handles = len(parcel.heads), self._last_handle
            self.begin_check(check)
            if known is not None:
                self._listener.believe(known.unused())
            # Whatever else ends it ends it for the submission too, when its turn has come.
            with contextlib.suppress(_Heard, Exception):
                run(self.student(check))
            operations = self._listener.heard
            if not operations:
                del parcel.heads[tensors:], parcel.payload[tensors:]
                continue
            built = tuple(range(handles + 1, self._last_handle + 1))
            parts.append(Part(check, operations, (tensors, len(parcel.heads)), built))
            seeds += seeds_of(check, self._listener.requests + 1, len(operations))
        return Script(tuple(parts), tuple(seeds), parcel) if parts else None
