"""Modules that were built for one check and serve later ones as well.

Building a module costs more than running it. Whoever takes one from here must set it up anew:
weights and mode are as the check before left them. A module that was converted is not given again,
and none outlives its guest.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .student import ModuleProxy


class Shelf:
    """What a submission's checks may take over from one another.

    open: whether anything is given. touched: whether anything was, since this was last set.
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[tuple[ModuleProxy, ...], Any]] = {}
        self.open = False
        self.touched = False

    def put(self, what: Hashable, modules: Sequence[ModuleProxy], told: object) -> None:
        """Keep modules that belong together, and what was found out about them."""
        if self.open:
            self._kept[what] = tuple(modules), told

    def take(
        self, what: Hashable, check: int, guest: int
    ) -> tuple[tuple[ModuleProxy, ...], Any] | None:
        """The same modules for another check; None where they are not there, or not sound."""
        found = self._kept.get(what) if self.open else None
        if found is None or not all(module.is_as_built_in(guest) for module in found[0]):
            return None
        for module in found[0]:
            module.hand_on(check)
        self.touched = True
        return found
