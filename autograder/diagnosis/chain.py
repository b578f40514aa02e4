"""A name's work as a chain of replaceable steps, whatever the assignment teaches.

The reference is the chain with every step right; a misconception is one step done otherwise.
Rubric, catalogue, explanation and feedback all speak of these steps. What a name is called with,
and what is known between two steps, an assignment says itself, as structs of its own: `Given` and
`Values` are what the kit needs of them.

A step reads `Values` and returns new ones; nothing is changed in place, so that a prefix of a chain
can be shared by all the ways in which it may go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Self

import msgspec
from torch import Tensor

from autograder.diagnosis.dimensions import told_shape

#: From values to values; those of the assignment's own kind.
Step = Callable[[Any], Any]


class StepRaises(Exception):
    """A step done otherwise says: code written so raises on this input."""


class Given(msgspec.Struct, frozen=True):
    """What a name was called with, and what the reference has to know besides.

    A field is a tensor, tensors by name, a tuple of tensors that come once, or something plain
    that can be compared.
    """

    @property
    def comes_once(self) -> bool:
        """Whether it holds something of one student's, so that no other call is like it."""
        return False

    def in_words(self) -> str:
        """The arguments of the call and their shapes, for a student: `scores (2, 6)`."""
        return ", ".join(f"{name} {told_shape(tensor.shape)}" for name, tensor in self.inputs())

    def size_names(self) -> dict[int, str]:
        """What the sizes of a call are, by number, where they are told apart."""
        return {}

    def inputs(self) -> Iterator[tuple[str, Tensor]]:
        """Everything that went in, by what a teacher calls it."""
        for name, value in self.everything():
            if isinstance(value, Tensor):
                yield name.replace("_", " "), value

    def everything(self) -> Iterator[tuple[str, object]]:
        """The fields' values, tensors by name as values of their own."""
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, Mapping):
                yield from value.items()
            elif isinstance(value, tuple):
                for number, each in enumerate(value):
                    yield f"{name} {number + 1}", each
            else:
                yield name, value


class Values(msgspec.Struct, frozen=True):
    """What is known between two steps.

    Fields that are tensors are taken side by side when many chains take a step at once; all others
    have to be equal for that.
    """

    given: Any

    @property
    def is_plain(self) -> bool:
        """Whether the next steps find everything where a right chain has it."""
        return True


@cache
def tensors_in(kind: type[Values]) -> tuple[str, ...]:
    """The fields of some values that are tensors."""
    return tuple(each.name for each in msgspec.structs.fields(kind) if each.type is Tensor)


@dataclass(frozen=True, slots=True)
class Abreast:
    """A right step that looks at the last dimensions alone, so that many chains take it as one.

    reads: the values that it needs. dimensions: how many each of these has to have at least,
    besides the one in which chains lie side by side.
    """

    reads: tuple[str, ...]
    dimensions: int = 2


@dataclass(frozen=True, slots=True)
class Chain:
    """The steps of one name, how they begin, and which value the name returns.

    Attributes:
        steps: The right steps by name, in order. Without any a name is compared with its
            reference as a whole.
        begin: The values before the first step.
        result: Picks one of the values.
        realizations: Other ways of doing a step right; what they leave differs only where a later
            step goes wrong.
        abreast: Steps that need no `torch.vmap` to be taken by many chains at once.
        carried: By step the value that, where it is not a number, leaves outputs that are none.
        covering: Steps after which what is not a number may be gone again.
    """

    steps: tuple[tuple[str, Step], ...]
    begin: Callable[[Any], Any]
    result: Callable[[Any], Tensor]
    realizations: Mapping[str, tuple[Step, ...]] = field(default_factory=dict)
    abreast: Mapping[Step, Abreast] = field(default_factory=dict)
    carried: Mapping[str, str] = field(default_factory=dict)
    covering: frozenset[str] = frozenset()

    @classmethod
    def whole(cls, reference: Callable[[Any], Tensor]) -> Self:
        """A name that is compared as a whole: what a right program returns for a `Given`."""
        return cls((), Values, lambda values: reference(values.given))

    @property
    def names(self) -> tuple[str, ...]:
        """The steps' names in order."""
        return tuple(name for name, _ in self.steps)

    def other_ways(self, name: str) -> tuple[Step, ...]:
        """Right ways of doing a step besides the usual one."""
        return tuple(self.realizations.get(name, ()))


def run(chain: Chain, given: Given, replaced: Mapping[str, Step] | None = None) -> Tensor:
    """What the name returns for `given`, with the steps in `replaced` done otherwise.

    Raises `StepRaises` where code written that way would raise.
    """
    values = chain.begin(given)
    for name, step in chain.steps:
        if replaced is not None and name in replaced:
            step = replaced[name]
        values = step(values)
    return chain.result(values)
