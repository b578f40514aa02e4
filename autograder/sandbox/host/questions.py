"""What a check asks in one go, and what it is answered.

A question is sent alone or in one frame with those of other checks: that is for whoever sends it to
decide, and no answer depends on it.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import torch

from ..protocol import messages
from .packing import Parcel

#: Outcomes of the operations, up to the first that raised, and the tensors that they point to.
Answer = tuple[tuple[messages.Outcome, ...], list[torch.Tensor]]


class Budget:
    """The CPU time that a check may take, and what is left of it. Unit: seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = self.left = seconds


class Question(msgspec.Struct, frozen=True):
    """Operations that depend on each other, with seeds and tensors of their own.

    name: whom it is asked for, who pays for hanging. is_call: whether code is called, not only
    built or looked into.
    """

    name: str
    is_call: bool
    operations: tuple[messages.Operation, ...]
    seeds: tuple[int, ...]
    parcel: Parcel
    budget: Budget

    @property
    def part(self) -> messages.Asked:
        """The same on the wire."""
        return messages.Asked(self.operations, self.seeds, len(self.parcel.heads))


#: Sends a question and waits for the answer; raises `StudentFault` where there will be none.
Ask = Callable[[Question], Answer]
