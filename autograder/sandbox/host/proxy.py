"""A name of the contract, as a check calls it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from ..protocol.wire import Layout
from .asking import Asked, Reply

if TYPE_CHECKING:
    from .dialogue import Dialogue
    from .student import ModuleProxy


class Proxy:
    """A contract name of the student's, to be called as if it were here."""

    def __init__(self, dialogue: Dialogue, name: str, kind: str) -> None:
        self._dialogue = dialogue
        self.name = name
        self.kind = kind

    @property
    def parameters(self) -> tuple[str, ...]:
        """What the contract calls it with."""
        return self._dialogue.names.specs[self.name].parameters

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Call the function, or build the class by its contract's keywords."""
        if self.kind == "class":
            return next(self.make_each((self._dialogue.names.keywords(self.name, args, keywords),)))
        return self.ask(*args, **keywords).value

    def make_each(self, arguments: Sequence[Mapping[str, Any]]) -> Iterator[ModuleProxy]:
        """Build the class with each of several sets of arguments, in one frame and in order.

        What one of them raises is raised in its place; those after it are not built.
        """
        return self._dialogue.make_each(self.name, arguments)

    def ask(self, *args: Any, **options: Any) -> Reply:
        """The full form of a call, with the options of `asked`."""
        return self._dialogue.call(self.asked(*args, **options))

    def ask_each(self, calls: Sequence[Asked]) -> Iterator[Reply]:
        """Several calls (`asked`) in one frame and in order; none after one that raises."""
        return self._dialogue.call_each(calls)

    def asked(
        self,
        *args: Any,
        layouts: Mapping[int, Layout] | None = None,
        cotangent: torch.Tensor | None = None,
        arguments: bool = False,
        operators: bool = False,
        grad: bool = False,
        unfilled: bool = False,
        library: bool = False,
        **keywords: Any,
    ) -> Asked:
        """A call to be made; gradients are enabled only with `cotangent` or `grad`."""
        return Asked(
            self.name,
            self.name,
            args,
            keywords,
            layouts or {},
            cotangent,
            arguments,
            operators,
            grad,
            unfilled,
            library_wanted=library,
        )

    def watched(
        self,
        *args: Any,
        before: Sequence[ModuleProxy] = (),
        after: Sequence[ModuleProxy] = (),
    ) -> Iterator[Any]:
        """A call, with what modules hold before and after it, in one frame and in order.

        Tensors by path for each module of `before`, then the `Reply`, then those of `after`.
        """
        return self._dialogue.watch(self.asked(*args), before, after)
