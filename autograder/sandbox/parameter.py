"""What a module of the student's keeps under one path, as the judge sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from . import wire
from .text import clean_line

if TYPE_CHECKING:
    from .student import ModuleProxy

# A table, since torch imports whole compilers when it is asked for some names.
_DTYPES = {name: found for name, found in vars(torch).items() if isinstance(found, torch.dtype)}


class Parameter:
    """One parameter or buffer; its numbers are fetched when they are first looked at."""

    __slots__ = ("_owner", "_slot", "path", "shape")

    def __init__(self, owner: ModuleProxy, slot: wire.Slot) -> None:
        self._owner = owner
        self._slot = slot
        self.path = clean_line(slot.path)
        self.shape = slot.shape

    @property
    def dtype(self) -> torch.dtype | None:
        """Its type, as far as it is one of torch's."""
        return _DTYPES.get(self._slot.dtype)

    @property
    def device(self) -> str:
        """Where it lies."""
        return clean_line(self._slot.device)

    @property
    def requires_grad(self) -> bool:
        """Whether it is trained."""
        return self._slot.requires_grad

    @property
    def tensor(self) -> Any:
        """The numbers; an `Opaque` where they cannot travel."""
        return self._owner.tensors().get(self.path)

    def __repr__(self) -> str:
        return f"Parameter({self.path!r}, {self.shape}, {self.dtype})"
