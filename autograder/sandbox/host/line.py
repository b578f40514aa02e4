"""The line to one submission's guests: begins them, asks within budgets, replaces the lost.

When a guest is lost (it hung, crashed, or babbled), the next request gets a fresh one with the
submission loaded anew, a few times. A statement that loading did not survive is left out of the
next attempt.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, TypeVar

import torch

from autograder.errors import InternalError

from ..protocol import messages, wire
from ..protocol.frames import Broken, Buffer
from . import faults
from .deadlines import Deadlines
from .faults import StudentFault
from .foresight import Foretold, Script, foretold, join
from .guest_process import Gone, GuestProcess, Overrun
from .loaded import LoadReport, report_of
from .packing import Parcel
from .seeds import seed_of, seeds_of
from .text import clean

if TYPE_CHECKING:
    from .room import Sandbox

_MOST_ANSWERED = 1 << 27  # bytes of tensors that one submission may answer with, all told
CUT = " … (cut)"  # at the end of what was printed
_MOST_ENDED = 2  # frames of one script: a right module raises once, where it refuses sizes
_BATCH = 32  # deferred operations that are sent at the latest
_Outcome = TypeVar("_Outcome")


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
        self._pending: list[messages.Operation] = []
        self.foretold: dict[str, Foretold] = {}  # answers by check, which has not come for them yet
        self._foresees = True
        self._next: Foretold | None = None  # the answer to what this check asks now
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
        self._requests = 0
        self._deadlines.begin(seconds)
        self.loss = None
        self._drop_pending()
        if self._guest is not None and not self._sandbox.alive():
            self.retire()  # the zygote took it along, which is nobody's fault
        self._expect(self.foretold.pop(check, None))

    def _expect(self, answer: Foretold | None) -> None:
        """What the check asks now is answered already, where there is an answer."""
        if answer is not None:
            self._next, self.cargo = answer, Parcel(answer.part.tensors[0])

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
        self.foretold.clear()
        if self._guest is not None:
            self._guest.dismiss()
            self._gone_seconds += self._guest.cpu_seconds()
            self._guest = None
            self.number += 1

    def _drop_pending(self) -> None:
        self._pending, self.cargo, self._next = [], Parcel(), None

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

    def foresee(self, script: Script) -> None:
        """Ask at once what the checks of a name ask first, or next; each finds its answer there.

        Who hangs or crashes in it loses nothing but this guest: all is then asked one by one.
        """
        self._drop_pending()
        with contextlib.suppress(StudentFault):
            for _ in range(_MOST_ENDED):  # what raises ends a frame
                if not script.parts or not self._foresees or self._deadlines.somebody_hung:
                    return
                told = self._foretold_by(script)
                join(self.foretold, told)
                script = script.without(len(told))

    def _foretold_by(self, script: Script) -> dict[str, Foretold]:
        guest, grant, parcel = self.ready(), self._deadlines.foresight(), script.parcel
        operations, heads = script.operations, tuple(parcel.heads)
        try:
            outcomes, tensors = guest.ask(
                operations, script.seeds, heads, parcel.payload, grant.seconds, grant.wall_factor
            )
        except (Overrun, Gone, Broken):
            self._foresees = False
            self._retire_lost()
            return {}
        finally:
            self._deadlines.spend(guest.used())
        self._take_in(guest.answered)
        return foretold(script, outcomes, tensors)

    def handle(self) -> int | None:
        """The handle of a module that this check builds now, where that was foreseen."""
        return self._next.handles.pop() if self._next and self.builds_first else None

    @property
    def builds_first(self) -> bool:
        """Whether what this check asks now builds modules, and is foreseen."""
        return self._next is not None and bool(self._next.handles)

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
        cargo, known = self.cargo, self._next
        self._drop_pending()
        if known is not None and known.answers(operations, cargo):
            self._requests += len(operations)
            answer = known.outcomes, known.tensors
            self._expect(known.then)
        else:
            heads, payload = known.in_full(cargo) if known else (tuple(cargo.heads), cargo.payload)
            is_call = messages.Call in map(type, asked)
            answer = self._answer(name, is_call, operations, heads, payload)
        outcomes, tensors = answer
        raised = isinstance(outcomes[-1], messages.Raised)
        before = min(len(operations) - len(asked), len(outcomes) - raised)
        told: list[_Outcome | messages.Raised] = []
        for outcome in outcomes[before:]:
            if not isinstance(outcome, (kind, messages.Raised)):
                raise self.broken(Broken("an answer of another kind"))
            told.append(outcome)
        return told, tensors

    def _answer(
        self,
        name: str,
        is_call: bool,
        operations: tuple[messages.Operation, ...],
        heads: tuple[wire.TensorHead, ...],
        payload: list[Buffer],
    ) -> tuple[tuple[messages.Outcome, ...], list[torch.Tensor]]:
        deadlines = self._deadlines
        grant = deadlines.grant(name, is_call, self._source is not None)
        guest = self.ready()
        seeds = seeds_of(self.check, self._requests + 1, len(operations))
        self._requests += len(operations)
        charged = 0.0
        try:
            answer = guest.ask(operations, seeds, heads, payload, grant.seconds, grant.wall_factor)
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
        self._take_in(guest.answered)
        return answer

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
