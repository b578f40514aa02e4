"""The line to one submission's guests: begins them, asks within budgets, replaces the lost.

When a guest is lost (it hung, crashed, or babbled), the next request gets a fresh one with the
submission loaded anew, a few times. A statement that loading did not survive is left out of the
next attempt.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from autograder.errors import InternalError

from ..protocol import messages, wire
from ..protocol.frames import Broken, Buffer
from . import faults
from .deadlines import Deadlines
from .faults import StudentFault
from .guest_process import Gone, GuestProcess, Overrun
from .loaded import LoadReport, report_of
from .questions import Answer, Question
from .seeds import seed_of
from .text import clean

if TYPE_CHECKING:
    from .room import Sandbox

_MOST_ANSWERED = 1 << 27  # bytes of tensors that one submission may answer with, all told
CUT = " … (cut)"  # at the end of what was printed


class Line:
    """One submission, whichever guest it is in."""

    def __init__(self, sandbox: Sandbox, files: tuple[wire.SourceFile, ...]) -> None:
        self._sandbox = sandbox
        self._limits = sandbox.limits
        self._files = files
        self._guest: GuestProcess | None = None
        self._skip: set[int] = set()
        self._losses = 0
        self._deadlines = Deadlines(sandbox.limits)
        self._source: str | None = None  # of the functions in the student's place
        self._called = True  # whether calls of their names reach them
        self._unfit: dict[str, StudentFault] = {}  # such sources, and why they cannot stand there
        self._gone_seconds = 0.0  # CPU time of guests that are gone
        self._hung = False  # the last guest
        self._answered = 0  # bytes of tensors
        self.fatal: StudentFault | None = None  # why no guest can be had any more
        self.loss: StudentFault | None = None  # why the last guest of this check is gone
        self.number = 0  # of the guest
        self.output = ""  # what the submission printed, cut
        self.report = LoadReport()
        with contextlib.suppress(StudentFault):  # kept as `fatal`: every name will tell
            self.ready()

    def begin(self) -> None:
        """A check begins."""
        self.loss = None
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
        if self._guest is not None:
            self._guest.dismiss()
            self._gone_seconds += self._guest.cpu_seconds()
            self._guest = None
            self.number += 1

    def ready(self) -> GuestProcess:
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

    def _charge_hang(self, guest: GuestProcess) -> None:
        """Charge the loading that hanging made necessary."""
        if not self._hung:
            return
        self._hung = False
        try:
            self._deadlines.load_again(guest.used())
        except faults.StudentTimeout as fault:
            self.fatal = fault
            raise self.lost(fault) from None

    def _not_loaded(self, guest: GuestProcess, fault: StudentFault) -> None:
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

    def _load(self, guest: GuestProcess) -> None:
        skip = tuple(sorted(self._skip))
        operations: list[messages.Operation] = [
            messages.Load(self._files, self._sandbox.names, skip, self._sandbox.parameters)
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
        self.report = report_of(loaded.report)
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

    def ask(self, question: Question) -> Answer:
        """One question, within a deadline of its own.

        Args:
            question: What to ask, and for whom.

        Returns:
            An outcome for each operation up to the first that raised, and the tensors of all.

        Raises:
            StudentFault: The guest hung, ended or made no sense; the next question gets another.
        """
        deadlines, name, is_call = self._deadlines, question.name, question.is_call
        grant = deadlines.grant(name, is_call, self._source is not None, question.budget)
        guest, parcel = self.ready(), question.parcel
        charged = 0.0
        try:
            answer = guest.ask(
                question.operations,
                question.seeds,
                tuple(parcel.heads),
                parcel.payload,
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
            deadlines.spend(max(guest.used(), charged), question.budget)
        self._take_in(guest.answered)
        return answer

    def ask_together(self, questions: Sequence[Question]) -> list[Answer] | None:
        """Questions that do not depend on each other, in one frame.

        Args:
            questions: Of different checks.

        Returns:
            Their answers; None where the guest did not survive it. Nobody is charged for that:
            whose fault it was shows when each question is asked alone.

        Raises:
            StudentFault: There is no guest to ask.
        """
        guest, grant = self.ready(), self._deadlines.together()
        heads: list[wire.TensorHead] = []
        payload: list[Buffer] = []
        for question in questions:
            heads += question.parcel.heads
            payload += question.parcel.payload
        parts = tuple([question.part for question in questions])
        try:
            outcomes, tensors = guest.ask_each(
                parts, tuple(heads), payload, grant.seconds, grant.wall_factor
            )
        except (Overrun, Gone, Broken):
            self._retire_lost()
            return None
        finally:
            self._deadlines.spend(guest.used())
        self._take_in(guest.answered)
        return [(each, tensors) for each in outcomes]

    @property
    def is_steady(self) -> bool:
        """Whether no name has hung so far: only then may questions go together."""
        return not self._deadlines.somebody_hung

    def _take_in(self, size: int) -> None:
        """Bound the bytes of tensors to read and keep: the judge's time is not the guest's."""
        self._answered += size
        if self._answered > _MOST_ANSWERED:
            megabytes = _MOST_ANSWERED >> 20
            self.fatal = faults.StudentKilled(f"it answered with more than {megabytes} MB in all")
            raise self.lost(self.fatal)

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
        self._retire_lost()
        if counts:
            self._count_loss(fault)
        self.loss = fault
        return fault

    def _retire_lost(self) -> None:
        self.retire()
        if not self._sandbox.alive() and self._sandbox.walled:
            raise InternalError("the zygote ended while a guest was at work")
