"""What one check asks of a submission, in order, and what comes back.

A dialogue has seeds, a budget and proxies of its own, so what it gets depends on nothing that other
checks ask meanwhile. A handle is good for one guest and a proxy for one dialogue; whatever is used
later is the kit's fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import torch

from autograder.errors import InternalError

from ..protocol import messages, wire
from ..protocol.frames import Broken
from . import faults, values
from .asking import Asked, Reply
from .line import Line
from .parameter import by_path
from .questions import Ask
from .replies import reply_of
from .sender import Sender
from .student import ModuleProxy
from .submission_names import SubmissionNames
from .text import clean_line

_Outcome = TypeVar("_Outcome")
_PLAIN = frozenset((bool, int, float, type(None)))  # what travels as it is


class Dialogue(Sender):
    """The questions of one check, and the proxies that it holds."""

    def __init__(
        self, check: str, names: SubmissionNames, line: Line, ask: Ask, seconds: float
    ) -> None:
        super().__init__(check, line, ask, seconds)
        self.names = names

    # --- names --------------------------------------------------------------------------------

    def make_each(self, name: str, arguments: Sequence[Mapping[str, Any]]) -> Iterator[ModuleProxy]:
        """Build a class by the contract's keywords, once or several times in one go.

        What one of them raises comes in its place, and ends it.
        """
        self.must_go_on()
        self._ready()
        operations = []
        for keywords in arguments:
            given = {key: self._outgoing(value) for key, value in keywords.items()}
            operations.append(messages.Make(name, self.names.new_handle(), given))
        answers, _ = self._send(name, tuple(operations), messages.Answer)
        sound = self._unless_raised(name, answers)
        for operation, answer in zip(operations, sound, strict=False):
            self._line.hear(answer.printed)
            yield self._module(name, answer, operation.handle)

    def call(self, call: Asked) -> Reply:
        """Call a function or a module."""
        return next(self.call_each((call,)))

    def call_each(self, calls: Sequence[Asked]) -> Iterator[Reply]:
        """Several calls in one go; what one of them raises comes in its place, and ends it."""
        self._ready()
        asked: list[Asked | None] = []  # None where a module is given what it is to hold
        operations: list[messages.Operation] = []
        for call in calls:
            if call.holding and isinstance(call.target, ModuleProxy):
                asked.append(None)
                operations.append(self._assignment(call.target, call.holding))
            asked.append(call)
            operations.append(self._operation(call))
        name = calls[0].name
        outcomes, tensors = self._send(name, tuple(operations), _CALLED_OR_DONE)
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
        """A call, and what modules hold before and after it, all in one go.

        Gives the tensors of each of `before`, the reply, and those of each of `after`; what cannot
        be had is raised in its place, and ends it.
        """
        for proxy in (*before, *after):
            self._must_be_here(proxy)
        self._ready()
        asked: tuple[Asked | ModuleProxy, ...] = (*before, call, *after)
        operations = [
            self._operation(each) if isinstance(each, Asked) else messages.Fetch(each.handle)
            for each in asked
        ]
        outcomes, tensors = self._send(call.name, tuple(operations), _CALLED_OR_SEEN)
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
        self.must_go_on()
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
            None if cotangent is None else values.outgoing_tensor(cotangent, self._parcel),
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

    # --- modules ------------------------------------------------------------------------------

    def tell(
        self, proxy: ModuleProxy, operation: messages.Operation, kind: type[_Outcome]
    ) -> _Outcome:
        """An operation on a module with an answer of a kind."""
        self._must_be_here(proxy)
        return self._send_one(proxy.name, operation, kind)[0]

    def fetch(self, proxies: Sequence[ModuleProxy]) -> list[dict[str, Any]]:
        """All parameters and buffers of each of some modules, in one go."""
        for proxy in proxies:
            self._must_be_here(proxy)
        name = proxies[0].name
        operations = tuple([messages.Fetch(proxy.handle) for proxy in proxies])
        answers, tensors = self._send(name, operations, messages.Tensors)
        return [
            self._all_incoming(name, answer.values, tensors)
            for answer in self._unless_raised(name, answers)
        ]

    def assign(self, proxy: ModuleProxy, tensors: Mapping[str, torch.Tensor]) -> None:
        """Set tensors by path, with the next request."""
        self.defer(proxy, self._assignment(proxy, tensors))

    def _assignment(
        self, proxy: ModuleProxy, tensors: Mapping[str, torch.Tensor]
    ) -> messages.Assign:
        self._must_be_here(proxy)
        parameters, buffers = proxy.parameters, proxy.buffers
        for path, tensor in tensors.items():
            known = buffers.get(path) or parameters.get(path)
            if known is not None and known.shape != tensor.shape:
                raise faults.StudentFault(
                    f"{path} has the shape {known.shape}, not {tuple(tensor.shape)}"
                )
        parcel = self._parcel
        taken = {path: values.outgoing_tensor(tensor, parcel) for path, tensor in tensors.items()}
        return messages.Assign(proxy.handle, taken)

    def children(self, proxy: ModuleProxy, paths: Sequence[str]) -> list[ModuleProxy]:
        """Proxies of submodules, told in one go."""
        self._must_be_here(proxy)
        operations = tuple(
            [messages.Child(proxy.handle, path, self.names.new_handle()) for path in paths]
        )
        answers, _ = self._send(proxy.name, operations, messages.Answer)
        found = []
        sound = self._unless_raised(proxy.name, answers)
        for operation, answer in zip(operations, sound, strict=False):
            child = self._module(proxy.name, answer, operation.child)
            child.training = proxy.training
            found.append(child)
        return found

    def attributes(self, proxy: ModuleProxy) -> dict[str, Any]:
        """Tensors and scalars that a module keeps outside torch's dictionaries."""
        self._must_be_here(proxy)
        operation = messages.Attributes(proxy.handle)
        found, tensors = self._send_one(proxy.name, operation, messages.SlotList)
        told: dict[str, Any] = dict(by_path(found.tensors))
        return told | self._all_incoming(proxy.name, found.scalars, tensors)

    def _module(self, name: str, answer: messages.Answer, handle: int) -> ModuleProxy:
        value = answer.value
        if not isinstance(value, wire.ModuleValue) or value.handle != handle:
            raise self._line.broken(Broken("another module came back"))
        made = ModuleProxy(self, name, value, answer.notes, answer.dropped)
        self.names.note_matches(name, made.notes)
        return made

    # --- values -------------------------------------------------------------------------------

    def _handle_of(self, value: Any) -> int | None:
        if not isinstance(value, ModuleProxy):
            return None
        self._must_be_here(value)
        return value.handle

    def _outgoing(self, value: Any) -> wire.Value:
        kind = type(value)
        if kind is torch.Tensor:  # nearly always
            return values.outgoing_tensor(value, self._parcel)
        if kind in _PLAIN:
            return value  # type: ignore[no-any-return]
        return values.outgoing(value, self._parcel, self._handle_of)

    def _incoming(self, name: str, tensors: Sequence[torch.Tensor], value: wire.Value) -> Any:
        if type(value) is wire.TensorValue:  # nearly always
            return values.sent(tensors, value)
        return values.incoming(value, tensors, partial(ModuleProxy, self, name))

    def _all_incoming(
        self, name: str, found: Mapping[str, wire.Value], tensors: Sequence[torch.Tensor]
    ) -> dict[str, Any]:
        try:
            incoming = partial(self._incoming, name, tensors)
            return {clean_line(path): incoming(value) for path, value in found.items()}
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
