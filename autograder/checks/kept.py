"""What was made of tensors that come back with every submission, kept for the next one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Made = TypeVar("Made")


class Kept(Generic[Made]):
    """Things made of certain objects, found again by which objects these were.

    The objects are kept along, so that their numbers stay true; none may be changed in place.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[Hashable, ...], tuple[tuple[object, ...], Made]] = (
            OrderedDict()
        )

    def of(
        self, words: tuple[Hashable, ...], objects: tuple[object, ...], make: Callable[[], Made]
    ) -> Made:
        """What `make` gives for these words and objects; made once."""
        key = (*words, *map(id, objects))
        known = self._kept.get(key)
        if known is not None:
            self._kept.move_to_end(key)
            return known[1]
        made = make()
        self._kept[key] = objects, made
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return made
