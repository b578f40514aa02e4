"""What was made of tensors that come back with every submission, kept for the next one."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from cachetools import LRUCache

Made = TypeVar("Made")


class Kept(Generic[Made]):
    """Things made of certain objects, found again by which objects these were.

    The objects are kept along, so that their numbers stay true; none may be changed in place.
    """

    def __init__(self, most: int) -> None:
        self._kept: LRUCache[tuple[Hashable, ...], tuple[tuple[object, ...], Made]] = LRUCache(most)

    def of(
        self, words: tuple[Hashable, ...], objects: tuple[object, ...], make: Callable[[], Made]
    ) -> Made:
        """What `make` gives for these words and objects; made once."""
        key = (*words, *map(id, objects))
        known = self._kept.get(key)
        if known is None:
            known = self._kept[key] = objects, make()
        return known[1]
