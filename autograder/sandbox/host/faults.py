"""What can go wrong in a student's code, as the checks see it."""

from __future__ import annotations

from dataclasses import dataclass

from ..protocol import messages
from .excess import Bounds, limit_met
from .text import clean, clean_line


@dataclass(frozen=True)
class Frame:
    """One line of the submission that an exception passed through."""

    path: str
    line: int
    cell: int | None
    function: str
    source: str

    @property
    def where(self) -> str:
        """`attention/causal.py line 12` or `work.ipynb cell 3 line 2`."""
        cell = "" if self.cell is None else f" cell {self.cell}"
        return f"{self.path}{cell} line {self.line}"


class StudentFault(Exception):
    """Something in the submission went wrong; `message` is fit for the student to read."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class StudentRaised(StudentFault):
    """The student's code raised an exception; `allowed` tells of the limit that it met."""

    def __init__(
        self, kind: str, text: str, frames: tuple[Frame, ...] = (), allowed: str = ""
    ) -> None:
        last = frames[-1] if frames else None
        self.kind = kind
        self.text = text
        self.frames = frames
        self.where: str | None = last.where if last else None
        self.line: str | None = last.source if last else None
        message = f"{kind}: {text}" if text else kind
        message = f"{message} ({self.where}: {self.line})" if last else message
        super().__init__(f"{message}; {allowed}" if allowed else message)


class StudentTimeout(StudentFault):
    """The student's code used more time than it has."""

    def __init__(self, seconds: float, message: str | None = None) -> None:
        super().__init__(message or f"it ran for more than {seconds:g} s")
        self.seconds = seconds


class StudentKilled(StudentFault):
    """The process that the student's code ran in ended."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NameMissing(StudentFault):
    """The submission has no such name."""

    def __init__(self, name: str, looked_for: str, suggestion: str | None = None) -> None:
        hint = f"; did you mean {suggestion}?" if suggestion else ""
        super().__init__(f"{looked_for} was not found{hint}")
        self.name = name
        self.looked_for = looked_for
        self.suggestion = suggestion


class NotImplementedYet(StudentFault):
    """The name is still a stub."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is not implemented yet")
        self.name = name


class WireBroken(StudentFault):
    """The guest answered with something that is no answer."""


def fault(name: str, raised: messages.Raised, bounds: Bounds | None = None) -> StudentFault:
    """The exception that a guest described, while `name` was asked for something."""
    if raised.not_implemented:
        return NotImplementedYet(name)
    frames = tuple(
        Frame(
            clean_line(spot.path),
            spot.line,
            spot.cell,
            clean_line(spot.function),
            clean_line(spot.source),
        )
        for spot in raised.spots
    )
    kind, text = clean_line(raised.kind), clean(raised.text)
    return StudentRaised(kind, text, frames, limit_met(kind, text, bounds) if bounds else "")
