"""What was computed for one submission and is wanted again for the next one.

The hidden checks ask all students the same. What the catalogue's programs give there does not
depend on a student; only what it is compared with does. What is remembered is what would be
computed, so results do not depend on who was graded before.
"""

from __future__ import annotations

from collections.abc import Hashable
from operator import itemgetter
from typing import Generic, TypeVar

from cachetools import LRUCache
from torch import Tensor

from autograder.diagnosis.chain import Given

Thing = TypeVar("Thing")


class Memory(Generic[Thing]):
    """Things by key, those that were wanted last, of no more bytes than these in all."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._kept: LRUCache[Hashable, tuple[Thing, int, object]] = LRUCache(
            most_bytes, getsizeof=itemgetter(1)
        )

    def get(self, key: Hashable) -> Thing | None:
        """What is remembered under a key."""
        found = self._kept.get(key)
        return None if found is None else found[0]

    def keep(self, key: Hashable, thing: Thing, nbytes: int, owners: object = None) -> None:
        """Remember something, and forget others where there is no room for it.

        Args:
            key: What it is found by.
            thing: What is remembered.
            nbytes: Its size; what is larger than all there is room for is not remembered.
            owners: Objects whose `id` is in the key; they are kept, so that no other takes it.
        """
        if nbytes <= self.most_bytes and key not in self._kept:
            self._kept[key] = thing, nbytes, owners


def numbers_of(given: Given) -> Hashable:
    """All that an input consists of, to the bit."""
    told = _bits if given.comes_once else _read
    return tuple(
        (name, told(part) if isinstance(part, Tensor) else part)
        for name, part in given.everything()
    )


def _bits(tensor: Tensor) -> Hashable:
    """Type, shape and numbers of a tensor, to the bit."""
    return tensor.dtype, tuple(tensor.shape), tensor.detach().numpy().tobytes()


def _read(tensor: Tensor) -> Hashable:
    """The same of one that the checks ask all students about, read once.

    A tensor is known by being the very same object, and by torch's count of what was done to it in
    place.
    """
    key = id(tensor), tensor._version
    known = READ.get(key)
    if known is None:
        known = _bits(tensor)
        READ.keep(key, known, 1, owners=tensor)
    return known


#: So many tensors' numbers are kept; more than the checks ask about.
READ: Memory[Hashable] = Memory(512)
