"""What the calls of one submission may take: each, those of a check, those of a name, all of them.

Seconds are those of the guest's work; waiting is charged like it. Messages name limits, never what
was measured: a result has the same words on every run.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Protocol

from .faults import StudentTimeout
from .guest_process import Overrun
from .questions import Budget

_MOST_HANGS = 2  # of one name, after which it is not run any more
_TOGETHER = 0.15  # of a deadline, for all that checks ask in one frame; right work takes a seventh
_KEPT = 0.25  # of the second deadline, for what has not hung when the name was given up


class TimeLimits(Protocol):
    """The limits of time, as the assignment has them."""

    @property
    def call_seconds(self) -> float:
        """CPU seconds of one call."""

    @property
    def submission_seconds(self) -> float:
        """CPU seconds of all calls of a submission."""

    @property
    def wall_factor(self) -> int:
        """Wall time allowed, in multiples of CPU time."""


@dataclass(frozen=True)
class Grant:
    """What one request may take.

    wall_factor: so many times the seconds by the clock on the wall.
    told: what to say when they are used up, where it is not this request alone that used them.
    """

    seconds: float
    wall_factor: float
    told: str | None = None

    def timeout(self, overrun: Overrun) -> StudentTimeout:
        """The fault of a request that took more."""
        return StudentTimeout(overrun.seconds, self.told or str(overrun))


class Deadlines:
    """Who has paid for what so far."""

    def __init__(self, limits: TimeLimits) -> None:
        self._limits = limits
        self._hangs: Counter[tuple[str, bool]] = Counter()  # by name, of calls and of the rest
        self._usual = Grant(limits.call_seconds, limits.wall_factor)  # where nothing has hung
        self._submission_left = limits.submission_seconds
        self._again_left = limits.submission_seconds  # for loading it again because it hung

    def grant(self, name: str, is_call: bool, stand_in: bool, check: Budget) -> Grant:
        """What a request on behalf of a name may take; `StudentTimeout` where that is nothing.

        stand_in: whether trusted functions stand in the place of the student's.
        """
        limits = self._limits
        if not self._hangs and limits.call_seconds <= min(self._submission_left, check.left):
            return self._usual
        most = limits.call_seconds * self._part(name, is_call, stand_in)
        if not most:
            told = f"{name} timed out before, so it was not run again"
            raise StudentTimeout(limits.call_seconds, told)
        # A part of a deadline has the whole one's wall time: that is for machines that are busy.
        wall_factor = limits.wall_factor * limits.call_seconds / most
        if self._submission_left < min(most, check.left):
            left, whole, whose = self._submission_left, limits.submission_seconds, "submission"
        elif check.left < most:
            left, whole, whose = check.left, check.seconds, "check"
        else:
            return Grant(most, wall_factor)
        told = f"the calls of the {whose} took more than {whole:g} s in all"
        if left <= 0:
            raise StudentTimeout(whole, told)
        return Grant(left, wall_factor, told)

    @property
    def somebody_hung(self) -> bool:
        """Whether a name has, so far."""
        return bool(self._hangs)

    def together(self) -> Grant:
        """What questions of several checks may take that are asked in one frame."""
        limits = self._limits
        seconds = min(_TOGETHER * limits.call_seconds, max(self._submission_left, 0.0))
        return Grant(seconds, limits.wall_factor / _TOGETHER)

    def _part(self, name: str, is_call: bool, stand_in: bool) -> float:
        """How much of a deadline a name may still take; nothing where it was given up.

        All in all a name pays two deadlines. A class whose calls hang may still be built and
        looked into, and one that cannot be built in one way may be called when it was built in
        another: for the kind that has not hung yet a part of the second deadline is kept. Where
        another name was given up before, it may be that one's function that hangs in this one
        too. Then the last deadline is kept for a guest in which a trusted function stands in.
        """
        hangs: Counter[str] = Counter()
        for (each, _), count in self._hangs.items():
            hangs[each] += count
        if self._hangs[name, is_call]:
            others = any(count >= _MOST_HANGS for each, count in hangs.items() if each != name)
            if hangs[name] >= _MOST_HANGS - (others and not stand_in):
                return 0.0
        return (1.0, 1.0 - _KEPT, _KEPT)[hangs[name]]

    def hung(self, name: str, is_call: bool) -> None:
        """A request on behalf of a name took all that it was granted."""
        self._hangs[name, is_call] += 1

    def spend(self, seconds: float, check: Budget | None = None) -> None:
        """A request took so much; one that was made for a check alone is that check's too."""
        if check is not None:
            check.left -= seconds
        self._submission_left -= seconds

    def load_again(self, seconds: float) -> None:
        """Loading was necessary because the guest before hung, and took so much.

        Crashes are counted instead. Raises `StudentTimeout` where it is too much in all.
        """
        self._again_left -= seconds
        if self._again_left < 0:
            most = self._limits.submission_seconds
            told = f"it hung so often that loading it again took more than {most:g} s in all"
            raise StudentTimeout(most, told)
