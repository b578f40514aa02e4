"""What a module of the student's keeps under one path, as the judge sees it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import msgspec
import torch

from ..protocol import wire
from .text import clean_line

# A table, since torch imports whole compilers when it is asked for some names.
_DTYPES = {name: found for name, found in vars(torch).items() if isinstance(found, torch.dtype)}

#: Of a module whose parameters are kept for later ones; no attention of one layer has more.
_MOST_KEPT = 16


class Parameter(msgspec.Struct, frozen=True):
    """One parameter or buffer, without its numbers (`ModuleProxy.tensors`).

    dtype: as far as it is one of torch's. requires_grad: whether it is trained.
    """

    path: str
    shape: tuple[int, ...]
    dtype: torch.dtype | None
    device: str
    requires_grad: bool


def parameter_of(slot: wire.Slot) -> Parameter:
    """What is known of one of them."""
    return Parameter(
        clean_line(slot.path),
        slot.shape,
        _DTYPES.get(slot.dtype),
        clean_line(slot.device),
        slot.requires_grad,
    )


def by_path(slots: wire.Slots) -> Mapping[str, Parameter]:
    """A module's parameters or buffers by path, not to be changed.

    Modules with the same ones share them: they come back with nearly every submission.
    """
    return _by_path(slots) if len(slots) > _MOST_KEPT else _known_by_path(slots)


def _by_path(slots: wire.Slots) -> Mapping[str, Parameter]:
    made = map(parameter_of, slots)
    return {parameter.path: parameter for parameter in made}


_known_by_path = lru_cache(maxsize=512)(_by_path)
