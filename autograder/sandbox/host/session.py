"""One submission behind the wall, as the checks see it: names to call, modules to look into.

A session outlives its guests and belongs to one thread. Each check speaks to it in a dialogue of
its own; several may be open at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol import wire
from . import faults
from .dialogue import Dialogue
from .line import Line
from .loaded import Found, LoadReport
from .questions import Answer, Ask, Question
from .seeds import seed_of
from .student import Student
from .submission_names import SubmissionNames

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .room import Sandbox

__all__ = ["Found", "LoadReport", "Session", "seed_of"]


class Session:
    """The judge's view of one submission while it is graded."""

    def __init__(self, sandbox: Sandbox, files: tuple[wire.SourceFile, ...]) -> None:
        self._names = SubmissionNames(sandbox.names)
        self._check_seconds = sandbox.limits.check_seconds
        self._line = Line(sandbox, files)
        self._dialogue: Dialogue | None = None  # of the check that asks alone

    @property
    def names(self) -> tuple[wire.NameSpec, ...]:
        """The names of the contract."""
        return tuple(self._names.specs.values())

    @property
    def report(self) -> LoadReport:
        """What loading showed."""
        return self._line.report

    @property
    def output(self) -> str:
        """What the submission printed, cut."""
        return self._line.output

    @property
    def cpu_seconds(self) -> float:
        """CPU time of all its guests so far."""
        return self._line.cpu_seconds

    @property
    def guest_number(self) -> int:
        """Which guest it is in: counts those that are gone."""
        return self._line.number

    @property
    def matched(self) -> tuple[str, ...]:
        """How arguments found their places where names were not the contract's, each once."""
        return self._names.matched

    # --- dialogues ----------------------------------------------------------------------------

    def open(self, check: str, ask: Ask | None = None, seconds: float | None = None) -> Dialogue:
        """A dialogue of a check, beside those that are open already.

        Args:
            check: The check's identifier, from which its seeds come.
            ask: How its questions are sent; each alone, where nothing is said.
            seconds: CPU time that the check may take; else the limit of the assignment.
        """
        seconds = self._check_seconds if seconds is None else seconds
        return Dialogue(check, self._names, self._line, ask or self._line.ask, seconds)

    def begin_check(self, check: str, budget: float | None = None) -> None:
        """The next check that asks alone: proxies of the one before are void."""
        if self._dialogue is not None:
            self._dialogue.end()
        self._dialogue = self.open(check, seconds=budget)

    def student(self, check: str, names: tuple[str, ...] | None = None) -> Student:
        """The student's names, for a check that asks alone."""
        if self._dialogue is None or check != self._dialogue.check:
            self.begin_check(check)
        assert self._dialogue is not None
        return Student(self, self._dialogue, names or tuple(self._names.specs))

    def names_of(self, dialogue: Dialogue) -> Student:
        """The student's names, for a dialogue."""
        return Student(self, dialogue, tuple(self._names.specs))

    def must_have(self, name: str) -> None:
        """Raise the fault that calling a name meets before any code of it runs."""
        if self._line.fatal is not None:
            raise self._line.fatal
        found = self.report.found.get(name)
        if found is None:
            raise faults.NameMissing(name, name, self.report.missing.get(name))
        if found.stub:
            raise faults.NotImplementedYet(name)

    def ask_together(self, questions: Sequence[Question]) -> list[Answer] | None:
        """Questions of several dialogues in one frame; None where each must be asked alone."""
        return self._line.ask_together(questions)

    @property
    def is_steady(self) -> bool:
        """Whether questions of several dialogues may go together."""
        return self._line.is_steady

    # --- guests -------------------------------------------------------------------------------

    def substitute(self, source: str, called: bool = True) -> None:
        """A fresh guest in which trusted functions stand in the place of the student's.

        called: whether calls of their names reach them; else the student's, which meet them.
        """
        compile(source, "<stand-in>", "exec")  # what does not compile is not the student's fault
        self._line.substitute(source, called)

    def restart(self) -> None:
        """A fresh guest with nothing but the submission."""
        self._line.substitute(None)

    def close(self) -> None:
        """End the guest; nobody waits for it."""
        self._line.retire()
        self._line.fatal = self._line.fatal or faults.StudentKilled("the session is over")
