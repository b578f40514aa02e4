"""Values between a check and the wire: the judge's own on the way in, believed ones on the way out.

What comes back is plain: tensors of the judge's own memory, numbers, texts, lists. A module
becomes whatever `module` makes of it, the rest an `Opaque`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from autograder.errors import InternalError

from ..protocol import wire
from ..protocol.frames import Broken
from ..protocol.tensors import CannotTravel
from .packing import Parcel
from .text import clean, clean_line


@dataclass(frozen=True)
class Opaque:
    """Something that stays in the guest: its type, why it stays, and tensors that it holds."""

    type_name: str
    why: str = ""
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    device: str | None = None
    parts: Mapping[str, Any] = field(default_factory=dict, compare=False)


def outgoing_tensor(value: torch.Tensor, cargo: Parcel) -> wire.TensorValue:
    """A tensor of the judge's, taken along."""
    try:
        return wire.TensorValue(cargo.add(value))
    except CannotTravel as reason:
        raise InternalError(f"a tensor cannot be sent: {reason.why}") from None


def outgoing(value: Any, cargo: Parcel, handle: Callable[[Any], int | None]) -> wire.Value:
    """An argument for a student's code; `handle` knows the modules that live there."""
    if isinstance(value, torch.Tensor):
        return outgoing_tensor(value, cargo)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return wire.Text(value)
    if isinstance(value, list | tuple):
        return wire.Many([outgoing(item, cargo, handle) for item in value])
    number = handle(value)
    if number is not None:
        return wire.ModuleValue(number, "")
    raise InternalError(f"a {type(value).__name__} cannot be sent to a student's code")


def sent(tensors: Sequence[torch.Tensor], value: wire.TensorValue) -> torch.Tensor:
    """A tensor of a reply, if it came along."""
    if value.index >= len(tensors):
        raise Broken("a tensor that was not sent")
    return tensors[value.index]


def incoming(
    value: wire.Value,
    tensors: Sequence[torch.Tensor],
    module: Callable[[wire.ModuleValue], Any],
    depth: int = 0,
) -> Any:
    """A value of a reply. Raises `Broken` where it points to nothing or is nested too deeply."""
    if depth > wire.MAX_DEPTH:
        raise Broken("a value that is nested too deeply")
    if isinstance(value, wire.TensorValue):
        return sent(tensors, value)
    if isinstance(value, wire.Text):
        return clean(value.text)
    if isinstance(value, wire.Many):
        return [incoming(item, tensors, module, depth + 1) for item in value.items]
    if isinstance(value, wire.ModuleValue):
        return module(value)
    if isinstance(value, wire.Described):
        parts = {
            clean_line(name): incoming(item, tensors, module, depth + 1)
            for name, item in value.parts.items()
        }
        return Opaque(
            clean_line(value.type_name),
            clean_line(value.why),
            value.shape,
            None if value.dtype is None else clean_line(value.dtype),
            None if value.device is None else clean_line(value.device),
            parts,
        )
    return value
