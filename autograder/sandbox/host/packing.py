"""Tensors of the judge's own, made ready for sending once: the same ones go to every submission.

A tensor is known by being the very same object, and by torch's count of what was done to it in
place, so what is sent is always what it holds.
"""

from __future__ import annotations

import torch

from ..protocol.frames import Buffer
from ..protocol.tensors import Cargo, encode
from ..protocol.wire import TensorHead

_MOST_KEPT = 1024  # more than the checks send to one submission
_LARGEST_KEPT = 1 << 14  # bytes

_kept: dict[int, tuple[torch.Tensor, int, TensorHead, Buffer]] = {}


def packed(tensor: torch.Tensor) -> tuple[TensorHead, Buffer, object]:
    """Head, bytes, and what must stay alive while the bytes are in use, as `encode` gives them."""
    known = _kept.get(id(tensor))  # what is kept keeps its tensor, so numbers stay true
    if known is not None and known[1] == tensor._version:
        return known[2], known[3], None
    head, data, alive = encode(tensor)
    if alive is None and len(data) <= _LARGEST_KEPT:
        if len(_kept) >= _MOST_KEPT:
            del _kept[next(iter(_kept))]
        _kept[id(tensor)] = tensor, tensor._version, head, data
    return head, data, alive


class Parcel(Cargo):
    """The tensors of one frame to a guest."""

    _packed = staticmethod(packed)
