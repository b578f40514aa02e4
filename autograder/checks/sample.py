"""Numbers for the hidden checks, by label.

They come from a hash of the course's secret and a label, as dyadic rationals: the same numbers on
every processor, the same for all students of a run, and not to be guessed. (torch's own generator
gives other numbers on other processors.) What an assignment makes of them, such as weights of a
module, it adds in a class of its own.
"""

from __future__ import annotations

import hashlib
import math

import torch
from torch import Tensor


class Sample:
    """Numbers by label. What is asked for again is given from memory."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._numbers: dict[tuple[str, tuple[int, ...], float], Tensor] = {}

    def numbers(self, label: str, *shape: int, reach: float = 1.0) -> Tensor:
        """Numbers between -reach and reach, evenly spread, of any shape."""
        key = (label, shape, reach)
        known = self._numbers.get(key)
        if known is None:
            count = math.prod(shape)
            seed = self._secret + b"\0" + f"{label}:{shape}".encode()
            drawn = bytearray(hashlib.shake_256(seed).digest(2 * count))
            whole = torch.frombuffer(drawn, dtype=torch.int16) if count else torch.empty(0)
            known = self._numbers[key] = (whole.float() / 2**15 * reach).reshape(shape)
        return known
