"""One submission behind the wall, as the checks see it: names to call, modules to look into.

A session outlives its guests and belongs to one thread. Proxies are good for one check and one
guest; one that is used later is the kit's own fault and says so.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from autograder.errors import KitFault

from . import faults, messages, values, wire
from .frames import Broken
from .line import Found, Line, LoadReport, seed_of
from .shelf import Shelf
from .student import Asked, ModuleProxy, Parameter, Proxy, Reply, Student
from .text import clean_line

if TYPE_CHECKING:
    from .room import Sandbox

__all__ = ["Found", "LoadReport", "Session", "seed_of"]

_Outcome = TypeVar("_Outcome")
_MOST_MATCHED = 40  # notes on arguments; a class may have another constructor at every call


class Session:
    """The judge's view of one submission while it is graded."""

    def __init__(self, sandbox: Sandbox, files: tuple[wire.SourceFile, ...]) -> None:
        self._specs = {spec.name: spec for spec in sandbox.names}
        self._check_seconds = sandbox.limits.check_seconds
        self._line = Line(sandbox, files)
        self._check_number = 0
        self._last_handle = 0
        self._matched: dict[str, None] = {}
        self.shelf = Shelf()

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
            raise KitFault(f"the check {self._line.check} asks for {name!r}, which is not its own")
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

    def _must_be_now(self, check: int) -> None:
        if check != self._check_number:
            raise KitFault("a proxy of another check was used")

    def _must_be_here(self, proxy: ModuleProxy) -> None:
        check, guest = proxy.at
        if check == self._check_number and guest == self._line.number and self._line.up:
            return
        if check == self._check_number and self._line.loss is not None:
            raise self._line.loss  # whoever hung or crashed took this module along
        raise KitFault(f"{proxy!r} is of another check, or of a guest that is gone")

    # --- names --------------------------------------------------------------------------------

    def make(
        self, check: int, name: str, args: Sequence[Any], keywords: Mapping[str, Any]
    ) -> ModuleProxy:
        """Build a class by the contract's keywords."""
        self._must_be_now(check)
        parameters = self._specs[name].parameters
        if len(args) > len(parameters):
            raise KitFault(f"{name} takes {len(parameters)} arguments")
        named = dict(zip(parameters, args, strict=False)) | dict(keywords)
        self._line.ready()
        handle = self._new_handle()
        given = {key: self._outgoing(value) for key, value in named.items()}
        answer, _ = self._line.ask(name, messages.Make(name, handle, given), messages.Answer)
        self._line.hear(answer.printed)
        return self._module(name, answer, handle)

    def take(self, check: int, what: Hashable) -> tuple[tuple[ModuleProxy, ...], Any] | None:
        """What an earlier check left for later ones, if its guest is still there."""
        self._must_be_now(check)
        return self.shelf.take(what, check, self._line.number) if self._line.up else None

    def call(self, call: Asked) -> Reply:
        """Call a function or a module."""
        return next(self.call_each((call,)))

    def call_each(self, calls: Sequence[Asked]) -> Iterator[Reply]:
        """Several calls in one frame; what one of them raises comes in its place, and ends it."""
        self._line.ready()
        operations = tuple([self._operation(call) for call in calls])
        name = calls[0].name
        outcomes, tensors = self._line.ask_each(name, operations, messages.Answer)
        for call in calls:
            for value in (call.target, *call.arguments):
                if isinstance(value, ModuleProxy):
                    value.forget_tensors()
        for call, answer in zip(calls, outcomes, strict=False):
            if isinstance(answer, messages.Raised):
                raise self._line.fault(name, answer)
            self._line.hear(answer.printed)
            yield self._reply(call, answer, tensors)

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
            dict(call.layouts),
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
        name = call.name
        handed = sum(isinstance(value, torch.Tensor) for value in call.arguments)

        def slope(value: wire.TensorValue | None) -> torch.Tensor | None:
            if value is None:
                return None
            found = values.sent(tensors, value)
            if not (found.is_floating_point() or found.is_complex()):
                raise Broken("a gradient of whole numbers")
            return found

        try:
            gradients = answer.gradients
            after = answer.arguments or ()
            if len(after) != handed * call.arguments_wanted:
                raise Broken("other arguments than were handed over")
            return Reply(
                self._incoming(name, answer.value, tensors),
                [self._incoming(name, value, tensors) for value in after],
                None
                if gradients is None
                else {clean_line(path): slope(value) for path, value in gradients.items()},
                {clean_line(key): count for key, count in (answer.operators or {}).items()},
                bool(answer.printed),
            )
        except Broken as broken:
            raise self._line.broken(broken) from None

    # --- modules ------------------------------------------------------------------------------

    def defer(self, proxy: ModuleProxy, operation: messages.Operation) -> None:
        """An operation without an answer; it goes along with the next request."""
        self._must_be_here(proxy)
        self._line.defer(proxy.name, operation)

    def tell(
        self, proxy: ModuleProxy, operation: messages.Operation, kind: type[_Outcome]
    ) -> _Outcome:
        """An operation on a module with an answer of a kind."""
        self._must_be_here(proxy)
        return self._line.ask(proxy.name, operation, kind)[0]

    def fetch(self, proxies: Sequence[ModuleProxy]) -> list[dict[str, Any]]:
        """All parameters and buffers of each of some modules, in one frame."""
        for proxy in proxies:
            self._must_be_here(proxy)
        name = proxies[0].name
        operations = tuple([messages.Fetch(proxy.handle) for proxy in proxies])
        answers, tensors = self._line.ask_each(name, operations, messages.Tensors)
        found = []
        for answer in answers:
            if isinstance(answer, messages.Raised):
                raise self._line.fault(name, answer)
            found.append(self._all_incoming(name, answer.values, tensors))
        return found

    def assign(self, proxy: ModuleProxy, tensors: Mapping[str, torch.Tensor]) -> None:
        """Set tensors by path, with the next request."""
        self._must_be_here(proxy)
        known = proxy.parameters | proxy.buffers
        for path, tensor in tensors.items():
            if path in known and known[path].shape != tuple(tensor.shape):
                raise faults.StudentFault(
                    f"{path} has the shape {known[path].shape}, not {tuple(tensor.shape)}"
                )
        cargo = self._line.cargo
        taken = {path: values.outgoing_tensor(tensor, cargo) for path, tensor in tensors.items()}
        self.defer(proxy, messages.Assign(proxy.handle, taken))

    def children(self, proxy: ModuleProxy, paths: Sequence[str]) -> list[ModuleProxy]:
        """Proxies of submodules, told in one frame."""
        self._must_be_here(proxy)
        operations = tuple(
            [messages.Child(proxy.handle, path, self._new_handle()) for path in paths]
        )
        answers, _ = self._line.ask_each(proxy.name, operations, messages.Answer)
        found = []
        for operation, answer in zip(operations, answers, strict=False):
            if isinstance(answer, messages.Raised):
                raise self._line.fault(proxy.name, answer)
            child = self._module(proxy.name, answer, operation.child)
            child.training = proxy.training
            found.append(child)
        return found

    def attributes(self, proxy: ModuleProxy) -> dict[str, Any]:
        """Tensors and scalars that a module keeps outside torch's dictionaries."""
        self._must_be_here(proxy)
        operation = messages.Attributes(proxy.handle)
        found, tensors = self._line.ask(proxy.name, operation, messages.SlotList)
        told: dict[str, Any] = {
            clean_line(slot.path): Parameter(proxy, slot) for slot in found.tensors
        }
        return told | self._all_incoming(proxy.name, found.scalars, tensors)

    def _new_handle(self) -> int:
        self._last_handle += 1
        return self._last_handle

    def _module(self, name: str, answer: messages.Answer, handle: int) -> ModuleProxy:
        value = answer.value
        if not isinstance(value, wire.ModuleValue) or value.handle != handle:
            raise self._line.broken(Broken("another module came back"))
        made = ModuleProxy(self, self._check_number, name, value, answer.notes, answer.dropped)
        for note in made.notes:
            if len(self._matched) < _MOST_MATCHED:
                self._matched[f"{name}: {note}"] = None
        return made

    # --- values -------------------------------------------------------------------------------

    def _handle_of(self, value: Any) -> int | None:
        if not isinstance(value, ModuleProxy):
            return None
        self._must_be_here(value)
        return value.handle

    def _outgoing(self, value: Any) -> wire.Value:
        return values.outgoing(value, self._line.cargo, self._handle_of)

    def _incoming(self, name: str, value: wire.Value, tensors: Sequence[torch.Tensor]) -> Any:
        def module(found: wire.ModuleValue) -> ModuleProxy:
            return ModuleProxy(self, self._check_number, name, found)

        return values.incoming(value, tensors, module)

    def _all_incoming(
        self, name: str, found: Mapping[str, wire.Value], tensors: Sequence[torch.Tensor]
    ) -> dict[str, Any]:
        try:
            incoming = self._incoming
            return {clean_line(p): incoming(name, value, tensors) for p, value in found.items()}
        except Broken as broken:
            raise self._line.broken(broken) from None


def _check_layouts(layouts: Mapping[int, wire.Layout], args: Sequence[Any]) -> None:
    for place, layout in layouts.items():
        tensor = args[place]
        if layout == "expanded" and not torch.equal(tensor, tensor[:1].expand_as(tensor)):
            raise KitFault("only a tensor whose items are all equal can be expanded")
