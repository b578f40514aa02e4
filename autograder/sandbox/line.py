"""The line to one submission's guests: begins them, asks within budgets, replaces the lost.

When a guest is lost (it hung, crashed, or babbled), the next request gets a fresh one with the
submission loaded anew, a few times. A statement that loading did not survive is left out of the
next attempt.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

import torch

from autograder.errors import KitFault

from . import faults, messages, wire
from .deadlines import Deadlines
from .faults import StudentFault
from .frames import Broken
from .inmate import Gone, Inmate, Overrun
from .packing import Parcel
from .text import clean, clean_line

if TYPE_CHECKING:
    from .room import Sandbox

_MOST_ANSWERED = 1 << 27  # bytes of tensors that one submission may answer with, all told
CUT = " … (cut)"  # at the end of what was printed
_BATCH = 32  # deferred operations that are sent at the latest
_STRIDE, _MOST_SEED = 0x9E37_79B9_7F4A_7C15, (1 << 62) - 1
_Outcome = TypeVar("_Outcome")


@dataclass(frozen=True)
class Found:
    """Where a name was found."""

    path: str
    line: int | None
    cell: int | None
    spelled: str
    stub: bool


@dataclass(frozen=True)
class LoadReport:
    """What loading showed: the names that are there, those that are not, and what to tell."""

    found: Mapping[str, Found] = field(default_factory=dict)
    missing: Mapping[str, str | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@lru_cache(maxsize=1024)  # the same checks for every submission
def seed_of(check: str, number: int = 0) -> int:
    """The seed of a check's request, the same on every machine."""
    digest = hashlib.blake2b(check.encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "little") + number * _STRIDE) & _MOST_SEED


class Line:
    """One submission, whichever guest it is in."""

    def __init__(self, sandbox: Sandbox, files: tuple[wire.SourceFile, ...]) -> None:
        self._sandbox = sandbox
        self._limits = sandbox.limits
        self._files = files
        self._guest: Inmate | None = None
        self._skip: set[int] = set()
        self._losses = 0
        self._deadlines = Deadlines(sandbox.limits)
        self._source: str | None = None  # of the functions in the student's place
        self._called = True  # whether calls of their names reach them
        self._unfit: dict[str, StudentFault] = {}  # such sources, and why they cannot stand there
        self._gone_seconds = 0.0  # CPU time of guests that are gone
        self._hung = False  # the last guest
        self._answered = 0  # bytes of tensors
        self._pending: list[messages.Operation] = []
        self.cargo = Parcel()  # tensors of the next request
        self.fatal: StudentFault | None = None  # why no guest can be had any more
        self.loss: StudentFault | None = None  # why the last guest of this check is gone
        self.number = 0  # of the guest
        self.output = ""  # what the submission printed, cut
        self.report = LoadReport()
        self.begin("", self._limits.check_seconds)
        with contextlib.suppress(StudentFault):  # kept as `fatal`: every name will tell
            self.ready()

    def begin(self, check: str, seconds: float) -> None:
        """A new check, with a CPU budget and a sequence of seeds of its own."""
        self.check = check
        self._seed, self._requests = seed_of(check), 0
        self._deadlines.begin(seconds)
        self.loss = None
        self._drop_pending()
        if self._guest is not None and not self._sandbox.alive():
            self.retire()  # the zygote took it along, which is nobody's fault

    @property
    def up(self) -> bool:
        """Whether there is a guest right now."""
        return self._guest is not None

    @property
    def cpu_seconds(self) -> float:
        """CPU time of all guests so far."""
        return self._gone_seconds + (self._guest.cpu_seconds() if self._guest else 0.0)

    # --- guests -------------------------------------------------------------------------------

    def substitute(self, source: str | None, called: bool = True) -> None:
        """From the next guest on, these functions stand in the student's place; or none."""
        self._source, self._called = source, called
        self.retire()

    def retire(self) -> None:
        """End the guest; nobody waits for it."""
        self._drop_pending()
        if self._guest is not None:
            self._guest.dismiss()
            self._gone_seconds += self._guest.cpu_seconds()
            self._guest = None
            self.number += 1

    def _drop_pending(self) -> None:
        self._pending, self.cargo = [], Parcel()

    def ready(self) -> Inmate:
        """A guest with the submission in it."""
        if self._guest is not None:
            return self._guest
        while True:
            if self.fatal is not None:
                raise self.fatal
            if self._source in self._unfit:
                raise self._unfit[self._source]
            guest = self._sandbox.guest()
            try:
                self._load(guest)
            except Overrun as overrun:
                self._not_loaded(guest, faults.StudentTimeout(overrun.seconds, str(overrun)))
            except Gone as gone:
                self._not_loaded(guest, faults.StudentKilled(gone.reason))
            except Broken as broken:
                self._not_loaded(guest, faults.WireBroken(f"it broke the line: {broken}"))
            except StudentFault as fault:
                guest.kill()
                self._gone_seconds += guest.cpu_seconds()
                assert self._source is not None
                self._unfit[self._source] = fault
                raise
            else:
                self._guest = guest
                self._charge_hang(guest)
                return guest

    def _charge_hang(self, guest: Inmate) -> None:
        """Charge the loading that hanging made necessary."""
        if not self._hung:
            return
        self._hung = False
        try:
            self._deadlines.load_again(guest.used())
        except faults.StudentTimeout as fault:
            self.fatal = fault
            raise self.lost(fault) from None

    def _not_loaded(self, guest: Inmate, fault: StudentFault) -> None:
        guest.kill()
        self._gone_seconds += guest.cpu_seconds()
        statement = guest.statement()
        self._count_loss(fault)
        if not statement or statement in self._skip:
            self.fatal = fault  # leaving out a statement will not help
        self._skip.add(statement)

    def _count_loss(self, fault: StudentFault) -> None:
        self._losses += 1
        if self._losses > self._limits.fresh_guests:
            self.fatal = fault

    def _load(self, guest: Inmate) -> None:
        skip = tuple(sorted(self._skip))
        operations: list[messages.Operation] = [
            messages.Load(self._files, self._sandbox.names, skip)
        ]
        if self._source is not None:
            operations.append(messages.Substitute(self._source, self._called))
        seeds = tuple(seed_of("load", number) for number in range(len(operations)))
        limits = self._limits
        outcomes, _ = guest.ask(
            tuple(operations), seeds, (), [], limits.load_seconds, limits.wall_factor
        )
        loaded = outcomes[0]
        if not isinstance(loaded, messages.Loaded):
            raise Broken("the submission was not loaded")
        self.report = _report(loaded.report)
        self.hear(loaded.printed)
        if isinstance(outcomes[-1], messages.Raised):  # it took care that nothing can be put there
            raise faults.fault("what stands in its place", outcomes[-1], limits)

    def hear(self, printed: str) -> None:
        """Keep what the submission printed, up to the limit; where it was cut, the end says so."""
        most = self._limits.output_chars
        if printed and len(self.output) <= most:
            self.output += clean(printed)
            if len(self.output) > most:
                self.output = self.output[:most] + CUT

    # --- asking -------------------------------------------------------------------------------

    def defer(self, name: str, operation: messages.Operation) -> None:
        """An operation without an answer; it goes along with the next request."""
        self._pending.append(operation)
        if len(self._pending) >= _BATCH:
            self.ask(name, None, messages.Done)

    def ask(
        self, name: str, operation: messages.Operation | None, kind: type[_Outcome]
    ) -> tuple[_Outcome, list[torch.Tensor]]:
        """Send what is pending and one more operation; the last one's outcome, and tensors.

        `name` is whom it is done for: it pays for hanging.
        """
        asked = () if operation is None else (operation,)
        (last,), tensors = self.ask_each(name, asked or (self._pending.pop(),), kind)
        if isinstance(last, messages.Raised):
            raise self.fault(name, last)
        return last, tensors

    def ask_each(
        self,
        name: str,
        asked: tuple[messages.Operation, ...],
        kind: type[_Outcome] | tuple[type[_Outcome], ...],
    ) -> tuple[list[_Outcome | messages.Raised], list[torch.Tensor]]:
        """Send what is pending and several operations: their outcomes up to one that raised.

        kind: of every answer, or several that are possible. What is pending and raises stands for
        the first of them. All together have the budget of one request.
        """
        operations = (*self._pending, *asked)
        cargo = self.cargo
        self._drop_pending()
        is_call = messages.Call in map(type, asked)
        deadlines = self._deadlines
        grant = deadlines.grant(name, is_call, self._source is not None)
        guest = self.ready()
        seeds = self._next_seeds(len(operations))
        charged = 0.0
        try:
            outcomes, tensors = guest.ask(
                operations,
                seeds,
                tuple(cargo.heads),
                cargo.payload,
                grant.seconds,
                grant.wall_factor,
            )
        except Overrun as overrun:
            deadlines.hung(name, is_call)
            self._hung = True
            charged = grant.seconds  # for waiting too, which takes no CPU time
            raise self.lost(grant.timeout(overrun), counts=False) from None
        except Gone as gone:
            raise self.lost(faults.StudentKilled(gone.reason)) from None
        except Broken as broken:
            raise self.broken(broken) from None
        finally:
            deadlines.spend(max(guest.used(), charged))
        raised = isinstance(outcomes[-1], messages.Raised)
        before = min(len(operations) - len(asked), len(outcomes) - raised)
        told: list[_Outcome | messages.Raised] = []
        for outcome in outcomes[before:]:
            if not isinstance(outcome, (kind, messages.Raised)):
                raise self.broken(Broken("an answer of another kind"))
            told.append(outcome)
        self._take_in(guest.answered)
        return told, tensors

    def _take_in(self, size: int) -> None:
        """Bound the bytes of tensors to read and keep: the judge's time is not the guest's."""
        self._answered += size
        if self._answered > _MOST_ANSWERED:
            megabytes = _MOST_ANSWERED >> 20
            self.fatal = faults.StudentKilled(f"it answered with more than {megabytes} MB in all")
            raise self.lost(self.fatal)

    def _next_seeds(self, count: int) -> tuple[int, ...]:
        first, seed = self._requests + 1, self._seed
        self._requests += count
        return tuple([(seed + n * _STRIDE) & _MOST_SEED for n in range(first, first + count)])

    def fault(self, name: str, raised: messages.Raised) -> StudentFault:
        """What a name raised."""
        return faults.fault(name, raised, self._limits)

    def broken(self, reason: Broken) -> BaseException:
        """The guest said something that makes no sense; it is not asked again."""
        return self.lost(faults.WireBroken(f"it broke the line: {reason}"))

    def lost(self, fault: StudentFault, *, counts: bool = True) -> BaseException:
        """What to raise now that the guest is lost: whose fault it is depends on who is gone.

        A name that hangs is bounded by its own count and by the submission's seconds, so it takes
        no fresh guest from the names that do not hang.
        """
        self.retire()
        if not self._sandbox.alive() and self._sandbox.walled:
            return KitFault("the zygote ended while a guest was at work")
        if counts:
            self._count_loss(fault)
        self.loss = fault
        return fault


def _report(report: wire.Report) -> LoadReport:
    found = {
        clean_line(at.name): Found(
            clean_line(at.path), at.line, at.cell, clean_line(at.spelled), at.stub
        )
        for at in report.found
    }
    missing = {
        clean_line(name.name): None if name.suggestion is None else clean_line(name.suggestion)
        for name in report.missing
    }
    return LoadReport(found, missing, tuple(clean_line(note) for note in report.notes))
