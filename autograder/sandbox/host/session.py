"""One submission behind the wall, as the checks see it: names to call, modules to look into.

A session outlives its guests and belongs to one thread. Proxies are good for one check and one
guest; one that is used later is the kit's own fault and says so.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from autograder.errors import InternalError

from ..protocol import messages, wire
from ..protocol.frames import Broken
from . import faults, values
from .foresight import Foretold, Script
from .inside import Inside
from .line import Line
from .loaded import Found, LoadReport
from .replies import reply_of
from .seeds import seed_of
from .shelf import Shelf
from .student import Asked, ModuleProxy, Proxy, Reply, Student

if TYPE_CHECKING:
    from .room import Sandbox

__all__ = ["Found", "LoadReport", "Session", "seed_of"]


class Session(Inside):
    """The judge's view of one submission while it is graded."""

    def __init__(self, sandbox: Sandbox, files: tuple[wire.SourceFile, ...]) -> None:
        self._specs = {spec.name: spec for spec in sandbox.names}
        self._check_seconds = sandbox.limits.check_seconds
        super().__init__(Line(sandbox, files))
        self.shelf = Shelf()

    @property
    def names(self) -> tuple[wire.NameSpec, ...]:
        """The names of the contract."""
        return tuple(self._specs.values())

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
        return tuple(self._matched)

    # --- checks -------------------------------------------------------------------------------

    def begin_check(self, check: str, budget: float | None = None) -> None:
        """A new check: its own CPU budget, its own sequence of seeds, no proxies of others."""
        self._check_number += 1
        self._line.begin(check, self._check_seconds if budget is None else budget)

    def foresee(self, script: Script) -> None:
        """Ask at once what the checks of a name ask first, or next."""
        self.end_check()
        self._line.foresee(script)

    @property
    def foretold(self) -> Mapping[str, Foretold]:
        """By check, the answers that are there before it has come to ask."""
        return self._line.foretold

    def forget_foretold(self) -> None:
        """Drop answers that no check came for."""
        self._line.foretold.clear()

    def end_check(self) -> None:
        """Proxies of the check are void from here."""
        self.begin_check("")

    def student(self, check: str, names: tuple[str, ...] | None = None) -> Student:
        """The student's names, for this check."""
        if check != self._line.check:
            self.begin_check(check)
        return Student(self, self._check_number, names or tuple(self._specs))

    def proxy(self, check: int, name: str, names: tuple[str, ...]) -> Proxy:
        """A name of the contract, if the submission has it."""
        self._must_be_now(check)
        spec = self._specs.get(name)
        if spec is None or name not in names:
            raise InternalError(
                f"the check {self._line.check} asks for {name!r}, which is not its own"
            )
        if self._line.fatal is not None:
            raise self._line.fatal
        found = self.report.found.get(name)
        if found is None:
            raise faults.NameMissing(name, name, self.report.missing.get(name))
        if found.stub:
            raise faults.NotImplementedYet(name)
        return Proxy(self, check, name, spec.kind)

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

    # --- names --------------------------------------------------------------------------------

    def make_each(
        self, check: int, name: str, arguments: Sequence[Mapping[str, Any]]
    ) -> Iterator[ModuleProxy]:
        """Build a class by the contract's keywords, once or several times in one frame.

        What one of them raises comes in its place, and ends it.
        """
        self._must_be_now(check)
        self._line.ready()
        operations = []
        for keywords in arguments:
            given = {key: self._outgoing(value) for key, value in keywords.items()}
            operations.append(messages.Make(name, self._new_handle(), given))
        answers, _ = self._line.ask_each(name, tuple(operations), messages.Answer)
        sound = self._unless_raised(name, answers)
        for operation, answer in zip(operations, sound, strict=False):
            self._line.hear(answer.printed)
            yield self._module(name, answer, operation.handle)

    def _proxy(
        self,
        name: str,
        value: wire.ModuleValue,
        notes: tuple[str, ...] = (),
        dropped: tuple[str, ...] = (),
    ) -> ModuleProxy:
        return ModuleProxy(self, self._check_number, name, value, notes, dropped)

    def keywords(self, name: str, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """All arguments of a class by the contract's keywords."""
        parameters = self._specs[name].parameters
        if len(args) > len(parameters):
            raise InternalError(f"{name} takes {len(parameters)} arguments")
        return dict(zip(parameters, args, strict=False)) | dict(named)

    def take(self, check: int, what: Hashable) -> tuple[tuple[ModuleProxy, ...], Any] | None:
        """What an earlier check left for later ones, if its guest is still there.

        Nothing for a check whose own is built already.
        """
        self._must_be_now(check)
        if self._line.builds_first or not self._line.up:
            return None
        return self.shelf.take(what, check, self._line.number)

    def call(self, call: Asked) -> Reply:
        """Call a function or a module."""
        return next(self.call_each((call,)))

    def call_each(self, calls: Sequence[Asked]) -> Iterator[Reply]:
        """Several calls in one frame; what one of them raises comes in its place, and ends it."""
        self._line.ready()
        asked: list[Asked | None] = []  # None where a module is given what it is to hold
        operations: list[messages.Operation] = []
        for call in calls:
            if call.holding and isinstance(call.target, ModuleProxy):
                asked.append(None)
                operations.append(self._assignment(call.target, call.holding))
            asked.append(call)
            operations.append(self._operation(call))
        name = calls[0].name
        outcomes, tensors = self._line.ask_each(name, tuple(operations), _CALLED_OR_DONE)
        for call in calls:
            _forget_tensors(call)
        sound = self._unless_raised(name, outcomes)
        for each, answer in zip(asked, sound, strict=False):
            if each is not None and isinstance(answer, messages.Answer):
                self._line.hear(answer.printed)
                yield self._reply(each, answer, tensors)
            elif each is not None or isinstance(answer, messages.Answer):
                raise self._line.broken(Broken("an answer of another kind"))

    def watch(
        self, call: Asked, before: Sequence[ModuleProxy], after: Sequence[ModuleProxy]
    ) -> Iterator[Any]:
        """A call, and what modules hold before and after it, all in one frame.

        Gives the tensors of each of `before`, the reply, and those of each of `after`; what cannot
        be had is raised in its place, and ends it.
        """
        for proxy in (*before, *after):
            self._must_be_here(proxy)
        self._line.ready()
        asked: tuple[Asked | ModuleProxy, ...] = (*before, call, *after)
        operations = [
            self._operation(each) if isinstance(each, Asked) else messages.Fetch(each.handle)
            for each in asked
        ]
        outcomes, tensors = self._line.ask_each(call.name, tuple(operations), _CALLED_OR_SEEN)
        _forget_tensors(call)
        for each, outcome in zip(asked, outcomes, strict=False):
            if isinstance(outcome, messages.Raised):
                raise self._line.fault(each.name, outcome)
            if isinstance(each, Asked) and isinstance(outcome, messages.Answer):
                self._line.hear(outcome.printed)
                yield self._reply(each, outcome, tensors)
            elif isinstance(each, ModuleProxy) and isinstance(outcome, messages.Tensors):
                yield self._all_incoming(each.name, outcome.values, tensors)
            else:
                raise self._line.broken(Broken("an answer of another kind"))

    def _operation(self, call: Asked) -> messages.Call:
        self._must_be_now(call.check)
        target = call.target
        if isinstance(target, ModuleProxy):
            self._must_be_here(target)
        if call.layouts:
            _check_layouts(call.layouts, call.arguments)
        cotangent = call.cotangent
        return messages.Call(
            target if isinstance(target, str) else target.handle,
            tuple([self._outgoing(value) for value in call.arguments]),
            {key: self._outgoing(value) for key, value in call.keywords.items()},
            dict(call.layouts) if call.layouts else {},
            None if cotangent is None else values.outgoing_tensor(cotangent, self._line.cargo),
            call.arguments_wanted,
            call.operators_wanted,
            call.grad or cotangent is not None,
            call.unfilled,
            call.training,
            call.library_wanted,
        )

    def _reply(
        self, call: Asked, answer: messages.Answer, tensors: Sequence[torch.Tensor]
    ) -> Reply:
        try:
            return reply_of(call, answer, tensors, partial(self._incoming, call.name, tensors))
        except Broken as broken:
            raise self._line.broken(broken) from None


_CALLED_OR_DONE: tuple[type[messages.Answer | messages.Done], ...] = (
    messages.Answer,
    messages.Done,
)
_CALLED_OR_SEEN: tuple[type[messages.Answer | messages.Tensors], ...] = (
    messages.Answer,
    messages.Tensors,
)


def _forget_tensors(call: Asked) -> None:
    """Of the modules that a call may have changed."""
    for value in (call.target, *call.arguments):
        if isinstance(value, ModuleProxy):
            value.forget_tensors()


def _check_layouts(layouts: Mapping[int, wire.Layout], args: Sequence[Any]) -> None:
    for place, layout in layouts.items():
        tensor = args[place]
        if layout == "expanded" and not torch.equal(tensor, tensor[:1].expand_as(tensor)):
            raise InternalError("only a tensor whose items are all equal can be expanded")
