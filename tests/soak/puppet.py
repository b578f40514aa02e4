"""A guest that is no process: it says what it was told to, to the judge's real end of the line.

Everything of the judge is its own: session, line, guest process, channel, decoder. Only the process
behind the socket is missing, so that a hundred thousand guests can be lost in a minute or two.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self, cast

import msgspec
import torch

from autograder.assignment.assignment import Limits
from autograder.sandbox.host.guest_process import GuestProcess
from autograder.sandbox.host.launch import Zygote
from autograder.sandbox.host.room import NameSpec, Sandbox
from autograder.sandbox.host.session import Session
from autograder.sandbox.host.student import ModuleProxy
from autograder.sandbox.protocol import messages, orders, wire
from tests.soak.hostile import STALLED, Frame, frame_of

NAMES = (
    NameSpec("softmax", "simplified", "function", ("scores",)),
    NameSpec("SelfAttention_v1", "trainable", "class", ("d_in", "d_out")),
)
# A guest without a process has no clock: what it takes is wall time, and only stalling takes any.
LIMITS = Limits(load_seconds=0.02, call_seconds=0.02, check_seconds=60.0, wall_factor=1)
_NO_PROCESS = 1 << 23  # no process has such a number, so none is signalled
_ORDER = orders.Fork(None, 1, None, 1, 1, 1, 1, None, (), False)
_FLOATS = wire.TensorHead("float32", (2, 3))
_FITS = 1 << 16  # bytes, into a socket that nobody reads
_SIX = bytes(range(24))


class Puppets:
    """What the judge takes for a zygote: each guest is a socket and what is said on it."""

    itself = None

    def __init__(self) -> None:
        self.script: list[Frame] = []
        self._ends: list[socket.socket] = []

    def fork(self, order: orders.Fork, sock: socket.socket, progress: int) -> tuple[int, None]:
        self.hang_up()
        self._ends.append(socket.socket(fileno=os.dup(sock.fileno())))
        return _NO_PROCESS, None

    def say(self) -> None:
        """Put the next frame of the script into the socket, where it waits for the judge."""
        if not self.script:
            raise AssertionError("the judge asked for another guest")
        frame = self.script.pop(0)
        # Behind the last one the line is closed: whatever the judge still waits for, does not come.
        ends = not self.script and frame.kind != STALLED
        if len(frame.data) < _FITS:
            _send(self._ends[-1], frame.data, ends)
        else:  # the judge has to read while it is being sent
            end = self._ends[-1].dup()
            threading.Thread(target=_send, args=(end, frame.data, ends, True)).start()

    def hang_up(self) -> None:
        while self._ends:
            self._ends.pop().close()

    def ended(self, pid: int) -> orders.Ended:
        return orders.Ended(0, 0.0)

    def forget(self, pid: int) -> None:
        """There is nothing to reap."""


def _send(end: socket.socket, data: bytes, ends: bool, close: bool = False) -> None:
    with contextlib.suppress(OSError):  # the judge had read enough
        end.sendall(data)
        if ends:
            end.shutdown(socket.SHUT_WR)
    if close:
        end.close()


class PuppetGuest(GuestProcess):
    """Has its reply said before it is asked, so that nobody waits for anybody."""

    def __init__(self, puppets: Puppets) -> None:
        super().__init__(cast(Zygote, puppets), _ORDER)
        self._puppets = puppets

    def ask(self, *arguments: Any) -> Any:
        self._puppets.say()
        return super().ask(*arguments)


class PuppetSandbox(Sandbox):
    """A sandbox in which nothing runs."""

    def __init__(self) -> None:
        self.limits = LIMITS
        self.names = NAMES
        self.parameters = {}
        self.puppets = Puppets()

    walled = True
    level = "puppet"

    def __enter__(self) -> Self:
        return self

    def wait_ready(self) -> None:
        """It is."""

    def alive(self) -> bool:
        return True

    def guest(self) -> GuestProcess:
        return PuppetGuest(self.puppets)

    def close(self) -> None:
        self.puppets.hang_up()


@dataclass(frozen=True)
class Scene:
    """Something that a check asks for, the replies before it, and the reply that is changed."""

    name: str
    before: tuple[messages.Outcome, ...]
    outcome: messages.Outcome
    tensors: int
    ask: Callable[[Session], Any]


def reply(number: int, outcome: messages.Outcome, tensors: int = 0) -> tuple[bytes, bytes]:
    """A right reply to the request of that number: its message and payload."""
    told = messages.Reply(number, ((outcome,),), (_FLOATS,) * tensors)
    return msgspec.msgpack.encode(told), _SIX * tensors


LOADED = messages.Loaded(
    wire.Report(
        (
            wire.Found("softmax", "attention.py", "soft_max", False, 3),
            wire.Found("SelfAttention_v1", "work.ipynb", "SelfAttention", False, 9, 2),
        ),
        (wire.Missing("causal_mask", "casual_mask"),),
        ("work.ipynb cell 7 raised FileNotFoundError; the rest ran",),
    ),
    "training: loss 0.3",
)
_SLOT = wire.Slot("W_query", (2, 3), "float32", "cpu", True)
_MODULE = wire.ModuleValue(1, "SelfAttention", (_SLOT,), (), ("W_query",))
_MADE = messages.Answer(_MODULE, notes=("d_out was given as `dim`",), dropped=("bias",))
_SPOT = messages.Spot("attention.py", 4, "softmax", "return x / 0", 2)


def _load(session: Session) -> Any:
    if session._line.fatal is not None:
        raise session._line.fatal
    return session.report, session.output


def _call(session: Session) -> Any:
    student = session.student("check")
    return student.softmax.ask(
        torch.ones(2, 3), arguments=True, operators=True, cotangent=torch.ones(2, 3)
    )


def _make(session: Session) -> ModuleProxy:
    made = session.student("check").SelfAttention_v1(d_in=2, d_out=3)
    assert isinstance(made, ModuleProxy)
    return made


def scenes() -> Iterator[Scene]:
    """All that a check can ask a guest for."""
    whole = messages.Answer(
        wire.TensorValue(0),
        [wire.TensorValue(1)],
        {"argument:0": wire.TensorValue(2), "W_query": None},
        {"aten.softmax.int": 3},
        "printed",
    )
    one = [wire.TensorValue(0)]
    values: tuple[wire.Value, ...] = (
        wire.Many([wire.TensorValue(1), wire.Text("weights"), 2.5, None, True, wire.Many([3])]),
        wire.Described("Output", "it is no tensor", (2, 3), "float32", "meta", {"a": 1}),
        _MODULE,
    )
    yield Scene("load", (), LOADED, 0, _load)
    yield Scene("call", (LOADED,), whole, 3, _call)
    for value in values:
        answer = messages.Answer(value, one, None, {}, "")  # type: ignore[arg-type]
        yield Scene("call", (LOADED,), answer, 2, _call)
    raised = messages.Raised("ZeroDivisionError", "division by zero", False, (_SPOT,) * 3)
    yield Scene("call that raises", (LOADED,), raised, 0, _call)
    yield Scene("make", (LOADED,), _MADE, 0, _make)
    built = (LOADED, _MADE)
    tensors = messages.Tensors(
        {"W_query": wire.TensorValue(0), "mask": wire.Described("Tensor", "on meta")}
    )
    yield Scene("tensors", built, tensors, 1, lambda session: _make(session).tensors())
    slots = messages.SlotList((_SLOT,), {"rate": 0.5, "name": wire.Text("x"), "none": None})
    yield Scene("attributes", built, slots, 0, lambda session: _make(session).attributes)
    part = messages.Part("heads.0", "CausalAttention", True)
    parts = messages.Parts((part, messages.Part("hidden", "Linear", False)))
    yield Scene("submodules", built, parts, 0, lambda session: _make(session).submodules)
    child = messages.Answer(wire.ModuleValue(2, "Linear", (_SLOT,)))
    yield Scene("child", built, child, 0, lambda session: _make(session).child("heads.0"))
    yield Scene("double", built, _MADE, 0, lambda session: _make(session).double())


def play(sandbox: PuppetSandbox, scene: Scene, hostile: Frame) -> Any:
    """Let a check ask, and have the last reply be hostile; what the check gets, or raises."""
    before = [
        Frame("right", frame_of(*reply(number, outcome)))
        for number, outcome in enumerate(scene.before, 1)
    ]
    puppets = sandbox.puppets
    puppets.script = [*before, hostile]
    session = sandbox.open(())
    try:
        session.begin_check("check")
        return scene.ask(session)
    finally:
        session.close()
