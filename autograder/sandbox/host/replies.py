"""What a guest answered to a call, as a check reads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..protocol import messages, wire
from ..protocol.frames import Broken
from . import values
from .asking import Asked, Reply
from .text import clean_line

Incoming = Callable[[wire.Value], Any]


def reply_of(
    call: Asked, answer: messages.Answer, tensors: Sequence[torch.Tensor], incoming: Incoming
) -> Reply:
    """The reply to a call; `incoming` reads values. Raises `Broken` for what no call gives."""
    after, gradients = answer.arguments or (), answer.gradients
    handed = 0
    if call.arguments_wanted:
        handed = sum(isinstance(value, torch.Tensor) for value in call.arguments)
    if len(after) != handed:
        raise Broken("other arguments than were handed over")
    return Reply(
        incoming(answer.value),
        [incoming(value) for value in after],
        None
        if gradients is None
        else {clean_line(path): _slope(tensors, value) for path, value in gradients.items()},
        {clean_line(key): count for key, count in answer.operators.items()}
        if answer.operators
        else {},
        bool(answer.printed),
    )


def _slope(tensors: Sequence[torch.Tensor], value: wire.TensorValue | None) -> torch.Tensor | None:
    """A gradient, if there is one."""
    if value is None:
        return None
    found = values.sent(tensors, value)
    if not (found.is_floating_point() or found.is_complex()):
        raise Broken("a gradient of whole numbers")
    return found
