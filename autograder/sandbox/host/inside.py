"""Modules that live in a guest, as a session deals with them, and values on their way in and out.

A handle is good for one guest and a proxy for one check; whatever is used later is the kit's fault.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import torch

from autograder.errors import InternalError

from ..protocol import messages, wire
from ..protocol.frames import Broken
from . import faults, values
from .line import Line
from .parameter import by_path
from .student import ModuleProxy
from .text import clean_line

_Outcome = TypeVar("_Outcome")
_PLAIN = frozenset((bool, int, float, type(None)))  # what travels as it is
_MOST_MATCHED = 40  # notes on arguments; a class may have another constructor at every call


class Inside(ABC):
    """What a session does with modules that stay in the guest."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._check_number = 0
        self._last_handle = 0
        self._matched: dict[str, None] = {}

    def _must_be_now(self, check: int) -> None:
        if check != self._check_number:
            raise InternalError("a proxy of another check was used")

    def _must_be_here(self, proxy: ModuleProxy) -> None:
        check, guest = proxy.at
        if check == self._check_number and guest == self._line.number and self._line.up:
            return
        if check == self._check_number and self._line.loss is not None:
            raise self._line.loss  # whoever hung or crashed took this module along
        raise InternalError(f"{proxy!r} is of another check, or of a guest that is gone")

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
        for answer in self._unless_raised(name, answers):
            found.append(self._all_incoming(name, answer.values, tensors))
        return found

    def _unless_raised(
        self, name: str, outcomes: Iterable[_Outcome | messages.Raised]
    ) -> Iterator[_Outcome]:
        """Outcomes in order; what one raised is raised in its place."""
        for outcome in outcomes:
            if isinstance(outcome, messages.Raised):
                raise self._line.fault(name, outcome)
            yield outcome

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
        cargo = self._line.cargo
        taken = {path: values.outgoing_tensor(tensor, cargo) for path, tensor in tensors.items()}
        return messages.Assign(proxy.handle, taken)

    def children(self, proxy: ModuleProxy, paths: Sequence[str]) -> list[ModuleProxy]:
        """Proxies of submodules, told in one frame."""
        self._must_be_here(proxy)
        operations = tuple(
            [messages.Child(proxy.handle, path, self._new_handle()) for path in paths]
        )
        answers, _ = self._line.ask_each(proxy.name, operations, messages.Answer)
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
        found, tensors = self._line.ask(proxy.name, operation, messages.SlotList)
        told: dict[str, Any] = dict(by_path(found.tensors))
        return told | self._all_incoming(proxy.name, found.scalars, tensors)

    @abstractmethod
    def _proxy(
        self,
        name: str,
        value: wire.ModuleValue,
        notes: tuple[str, ...] = (),
        dropped: tuple[str, ...] = (),
    ) -> ModuleProxy:
        """A proxy of a module, for the check of now."""

    def _new_handle(self) -> int:
        foreseen = self._line.handle()
        if foreseen is not None:
            return foreseen
        self._last_handle += 1
        return self._last_handle

    def _module(self, name: str, answer: messages.Answer, handle: int) -> ModuleProxy:
        value = answer.value
        if not isinstance(value, wire.ModuleValue) or value.handle != handle:
            raise self._line.broken(Broken("another module came back"))
        made = self._proxy(name, value, answer.notes, answer.dropped)
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
        kind = type(value)
        if kind is torch.Tensor:  # nearly always
            return values.outgoing_tensor(value, self._line.cargo)
        if kind in _PLAIN:
            return value  # type: ignore[no-any-return]
        return values.outgoing(value, self._line.cargo, self._handle_of)

    def _incoming(self, name: str, tensors: Sequence[torch.Tensor], value: wire.Value) -> Any:
        if type(value) is wire.TensorValue:  # nearly always
            return values.sent(tensors, value)

        return values.incoming(value, tensors, partial(self._proxy, name))

    def _all_incoming(
        self, name: str, found: Mapping[str, wire.Value], tensors: Sequence[torch.Tensor]
    ) -> dict[str, Any]:
        try:
            incoming = partial(self._incoming, name, tensors)
            return {clean_line(path): incoming(value) for path, value in found.items()}
        except Broken as broken:
            raise self._line.broken(broken) from None
