"""What a check holds: the student's names as things to call, and what can go wrong in them.

Every value that comes back is a plain one: tensors of the judge's own memory, numbers, texts,
lists. A module stays where it is and is spoken to through a `ModuleProxy`; what cannot travel is
an `Opaque` that equals nothing but itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from autograder.errors import InternalError

from ..protocol import messages, wire
from ..protocol.wire import Layout
from .asking import Asked, Reply
from .faults import (
    Frame,
    NameMissing,
    NotImplementedYet,
    StudentFault,
    StudentKilled,
    StudentRaised,
    StudentTimeout,
    WireBroken,
)
from .parameter import Parameter, by_path
from .proxy import Proxy
from .text import clean_line
from .values import Opaque

if TYPE_CHECKING:
    from .dialogue import Dialogue
    from .session import Session

__all__ = [
    "Asked",
    "Frame",
    "ModuleProxy",
    "NameMissing",
    "NotImplementedYet",
    "Opaque",
    "Parameter",
    "Proxy",
    "Reply",
    "Student",
    "StudentFault",
    "StudentKilled",
    "StudentRaised",
    "StudentTimeout",
    "WireBroken",
]


class ModuleProxy:
    """A module of the student's. It lives in one guest and is good for one check."""

    def __init__(
        self,
        dialogue: Dialogue,
        name: str,
        value: wire.ModuleValue,
        notes: tuple[str, ...] = (),
        dropped: tuple[str, ...] = (),
    ) -> None:
        self._dialogue = dialogue
        self._guest = dialogue.guest_number
        self.name = name
        self.handle = value.handle
        self.class_name = clean_line(value.class_name)
        self.notes = tuple(map(clean_line, notes))  # how arguments were matched
        self.dropped = tuple(map(clean_line, dropped))  # those without a place
        self.training = True
        self._learn(value)

    def _learn(self, value: wire.ModuleValue) -> None:
        self._value = value
        self._parameters: Mapping[str, Parameter] | None = None
        self._buffers: Mapping[str, Parameter] | None = None
        self._tensors: dict[str, Any] | None = None

    # Found when they are first looked at: of most modules, that is never.

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Its parameters by path."""
        if self._parameters is None:
            self._parameters = by_path(self._value.parameters)
        return self._parameters

    @property
    def buffers(self) -> Mapping[str, Parameter]:
        """Its buffers by path."""
        if self._buffers is None:
            self._buffers = by_path(self._value.buffers)
        return self._buffers

    @property
    def state_names(self) -> list[str]:
        """The names in its state dictionary."""
        return [clean_line(path) for path in self._value.state_names]

    @property
    def at(self) -> tuple[Dialogue, int]:
        """Dialogue and guest that this proxy belongs to."""
        return self._dialogue, self._guest

    def __repr__(self) -> str:
        return f"<the student's {self.class_name}>"

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Run the module; gradients are enabled in training mode alone."""
        return self.ask(*args, **keywords).value

    def ask(self, *args: Any, **options: Any) -> Reply:
        """The full form of a call, with the options of `asked`."""
        return self._dialogue.call(self.asked(*args, **options))

    def asked(
        self,
        *args: Any,
        layouts: Mapping[int, Layout] | None = None,
        cotangent: torch.Tensor | None = None,
        arguments: bool = False,
        operators: bool = False,
        grad: bool = False,
        training: bool | None = None,
        library: bool = False,
        holding: Mapping[str, torch.Tensor] | None = None,
    ) -> Asked:
        """A call to be made together with others, in a mode, or in the one it is in by then.

        holding: what is copied into parameters, buffers or attributes before; see `set`.
        """
        if training is not None:
            self.training = training
        return Asked(
            self.name,
            self,
            args,
            {},
            layouts or {},
            cotangent,
            arguments,
            operators,
            grad or self.training,
            training=training,
            library_wanted=library,
            holding=holding or {},
        )

    def ask_each(self, calls: Sequence[Asked]) -> Iterator[Reply]:
        """Several calls (`asked`), of its own or its submodules, in one frame and in order.

        What one of them raises is raised in its place; those after it are not made.
        """
        return self._dialogue.call_each(calls)

    def eval(self) -> ModuleProxy:
        """Evaluation mode, for it and what it knows to be inside."""
        return self._mode(False)

    def train(self, training: bool = True) -> ModuleProxy:
        """Training mode."""
        return self._mode(training)

    def _mode(self, training: bool) -> ModuleProxy:
        self._dialogue.defer(self, messages.Mode(self.handle, training))
        self.training = training
        return self

    def double(self) -> ModuleProxy:
        """Parameters and buffers in float64."""
        return self._convert("double")

    def float(self) -> ModuleProxy:
        """Parameters and buffers in float32."""
        return self._convert("float")

    def to_meta(self) -> ModuleProxy:
        """Everything that moves with the module moves to the meta device."""
        return self._convert("meta")

    def _convert(self, to: Any) -> ModuleProxy:
        answer = self._dialogue.tell(self, messages.Convert(self.handle, to), messages.Answer)
        if not isinstance(answer.value, wire.ModuleValue):
            raise WireBroken("no module came back")
        self._learn(answer.value)
        return self

    def tensors(self) -> dict[str, Any]:
        """All parameters and buffers by path, fetched in one frame and kept."""
        if self._tensors is None:
            (self._tensors,) = self._dialogue.fetch((self,))
        return self._tensors

    def know(self, tensors: dict[str, Any]) -> None:
        """Keep tensors that were fetched together with others'."""
        self._tensors = tensors

    def set(self, values: Mapping[str, torch.Tensor]) -> ModuleProxy:
        """Copy tensors into parameters, buffers or attributes in place, each by its path.

        Sent along with the next request; the shape must fit exactly, the dtype is kept.
        """
        self._dialogue.assign(self, values)
        self._tensors = None
        return self

    def forget_tensors(self) -> None:
        """After a call that may have changed them."""
        self._tensors = None

    @property
    def submodules(self) -> list[tuple[str, str]]:
        """Path and class name of everything inside that torch knows of."""
        return self._parts(registered=True)

    @property
    def hidden_modules(self) -> list[tuple[str, str]]:
        """The same of modules that lie in plain lists, where torch does not see them."""
        return self._parts(registered=False)

    def _parts(self, registered: bool) -> list[tuple[str, str]]:
        parts = self._dialogue.tell(self, messages.Submodules(self.handle), messages.Parts)
        return [
            (clean_line(part.path), clean_line(part.class_name))
            for part in parts.items
            if part.registered is registered
        ]

    def child(self, path: str) -> ModuleProxy:
        """A submodule, registered or not, by its path."""
        return self.children((path,))[0]

    def children(self, paths: Sequence[str]) -> list[ModuleProxy]:
        """Submodules, registered or not, by their paths; in one frame."""
        return self._dialogue.children(self, paths)

    @property
    def attributes(self) -> dict[str, Any]:
        """Own tensors outside parameters and buffers (`Parameter`), and plain scalars, by path."""
        return self._dialogue.attributes(self)

    def release(self) -> None:
        """Let the guest forget it."""
        self._dialogue.defer(self, messages.Release((self.handle,)))


class Student:
    """The student's names within one dialogue."""

    def __init__(self, session: Session, dialogue: Dialogue, names: tuple[str, ...]) -> None:
        self._session = session
        self._dialogue = dialogue
        self._names = names

    def __getattr__(self, name: str) -> Proxy:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.proxy(name)

    def proxy(self, name: str) -> Proxy:
        """A contract name; raises `NameMissing` or `NotImplementedYet` where it is not there."""
        self._dialogue.must_go_on()
        spec = self._dialogue.names.specs.get(name)
        if spec is None or name not in self._names:
            check = self._dialogue.check
            raise InternalError(f"the check {check} asks for {name!r}, which is not its own")
        self._session.must_have(name)
        return Proxy(self._dialogue, name, spec.kind)

    def call(self, name: str, *args: Any, **options: Any) -> Reply:
        """The full form of a call of a function."""
        return self.proxy(name).ask(*args, **options)

    def fetch(self, modules: Sequence[ModuleProxy]) -> None:
        """Get the numbers of all parameters and buffers of several modules in one go."""
        for module, tensors in zip(modules, self._dialogue.fetch(modules), strict=True):
            module.know(tensors)
