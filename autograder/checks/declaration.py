"""What an assignment declares of a name besides its checks; every part may be left out.

A module of checks declares its names in `NAMES`. A check that asks for `declared` gets the
declaration of the name that it is run for, so one check serves several names, of other stages and
other assignments too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import Tensor

from autograder.diagnosis.chain import Given

if TYPE_CHECKING:
    from autograder.checks.sample import Sample
    from autograder.sandbox.host.student import Reply, Student


@dataclass(frozen=True, slots=True)
class Question:
    """An input on which explanations may differ, and how a student's name is called with it."""

    given: Given
    ask: Callable[[Student], Reply]


@dataclass(frozen=True, slots=True)
class View:
    """A picture of what a name computes inside, on inputs that are not hidden.

    Attributes:
        given: What the name is called with.
        ask: Calls a student's name so; what comes back shows the picture.
        picture: The picture of a program, from its values after all steps: `(N, rows, columns)`;
            None where it leaves none.
        direct: The picture in what came back, where nothing explains it.
        labels: What rows and columns are called.
        indirect: Whether what comes back has passed through more than the picture.
        lower_half: Whether a right picture is empty above its diagonal.
        shares: Whether the rows of a right picture sum to 1.
    """

    given: Given
    ask: Callable[[Student, Sample], Tensor]
    picture: Callable[[Any], Tensor | None]
    direct: Callable[[Tensor], Tensor]
    labels: tuple[str, ...]
    indirect: bool = False
    lower_half: bool = False
    shares: bool = True


@dataclass(frozen=True, slots=True)
class Probe:
    """A public input of a name: what the chain gets, and what the self-check calls it with."""

    given: Given
    told: Mapping[str, object]


#: The functions and classes of one module by name.
Namespace = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Trial:
    """How two trusted programs are compared: a mutant of a solution, and the solution.

    Attributes:
        ask: With a name's namespace and the number of a configuration, what a call shows: pairs of
            what it is and its value.
        most: How many configurations are worth it; None for as many as of any name.
    """

    ask: Callable[[Namespace, int], Iterator[tuple[str, object]]]
    most: int | None = None


@dataclass(frozen=True)
class Declaration:
    """What is known of a name. The parts that an assignment does not know, it leaves as they are.

    Attributes:
        name: The name itself.
    """

    name: str

    def questions(self, sample: Sample) -> Sequence[Question]:
        """What the name may be asked once more where explanations fit equally well."""
        return ()

    def view(self) -> View | None:
        """The picture that is worth showing where the name is wrong."""
        return None

    def probes(self, sample: Sample) -> Sequence[Probe]:
        """The inputs on which the self-check recognises mistakes."""
        return ()

    def trial(self) -> Trial | None:
        """How a mutant of the solution is compared with it."""
        return None


def rounded(tensor: Tensor, digits: int) -> object:
    """A tensor's numbers as nested lists, as the self-check holds them."""

    def shorter(value: object) -> object:
        if isinstance(value, list):
            return [shorter(each) for each in value]
        return round(value, digits) if isinstance(value, float) else value

    return shorter(tensor.tolist())
