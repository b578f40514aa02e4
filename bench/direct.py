"""A guest without a wall: the same checks call the student's code in this very process.

This is the floor, what grading would cost if the code of strangers could be trusted: nothing is
forked, nothing sent. Code that hangs or crashes takes everything along.
"""

from __future__ import annotations

from typing import cast

import msgspec
import torch

from autograder.sandbox.guest import reset_state
from autograder.sandbox.guest.guest import Guest
from autograder.sandbox.host.guest_process import GuestProcess
from autograder.sandbox.protocol import messages, wire
from autograder.sandbox.protocol.frames import Buffer, Channel
from autograder.sandbox.protocol.tensors import decode

_Outcomes = tuple[messages.Outcome, ...]


class DirectGuest:
    """Answers as a `GuestProcess` does, right here."""

    answered = 0
    alive = True

    def __init__(self, output: reset_state.Output) -> None:
        self._guest = Guest(cast(Channel, None), output, lambda statement: None)

    def ask(
        self,
        operations: tuple[messages.Operation, ...],
        seeds: tuple[int, ...],
        heads: tuple[wire.TensorHead, ...],
        payload: list[Buffer],
        budget: float,
        wall_factor: float,
    ) -> tuple[_Outcomes, list[torch.Tensor]]:
        """One question."""
        part = messages.Asked(operations, seeds, len(heads))
        (outcomes,), tensors = self.ask_each((part,), heads, payload, budget, wall_factor)
        return outcomes, tensors

    def ask_each(
        self,
        parts: tuple[messages.Asked, ...],
        heads: tuple[wire.TensorHead, ...],
        payload: list[Buffer],
        budget: float,
        wall_factor: float,
    ) -> tuple[tuple[_Outcomes, ...], list[torch.Tensor]]:
        """Several questions, without limits."""
        request = messages.Request(1, parts, heads)
        reply, tensors = self._guest.answer(request, memoryview(b"".join(payload)))
        parts_told: tuple[_Outcomes, ...] = _plain(reply).parts
        return parts_told, decode(reply.tensors, memoryview(bytearray(b"".join(tensors))))

    def used(self) -> float:
        """The judge's own time is all there is."""
        return 0.0

    def cpu_seconds(self) -> float:
        """It is counted there."""
        return 0.0

    def statement(self) -> int:
        """Nobody asks where it died: everything died with it."""
        return 0

    def kill(self) -> None:
        """There is no process to end."""
        self.dismiss()

    def dismiss(self) -> None:
        """Imports are Python's own again."""
        if self._guest.loaded is not None:
            self._guest.loaded.close()
            self._guest.loaded = None


def guest(output: reset_state.Output) -> GuestProcess:
    """A guest in this process, as a sandbox gives it."""
    return cast(GuestProcess, DirectGuest(output))


def _plain(reply: messages.Reply) -> messages.Reply:
    """Values in the types in which they would come over the wire."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(reply), type=messages.Reply)
