"""What a check says of itself: which name it calls and which criteria it gives evidence on.

Four kinds of check. *values*: the outputs are compared with the reference, and where they differ
the explanation decides which criteria they cost. *property*: something that holds for any right
program without a reference; it speaks where the outputs stay unexplained. *own*: evidence that
nothing else can give or take away, such as parameters, gradients, dropout in training.
*dependence*: whether the outputs are attention of any kind, for names that stay unexplained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

Kind = Literal["values", "property", "own", "dependence"]
Test = TypeVar("Test", bound=Callable[..., Any])


class Mark(Protocol):
    """A decorator that leaves a check as it is."""

    def __call__(self, test: Test) -> Test:
        """The check itself, which now knows what it gives evidence on."""


#: The attribute of a check that holds its `Check` by name.
ATTRIBUTE = "check_by_name"
#: The attribute of a check that holds the arguments with which it is run, one set a case.
CASES = "check_cases"


@dataclass(frozen=True, slots=True)
class Check:
    """What a check gives evidence on. No criteria: every step of the name's chain.

    `rationale` is the check's docstring: what a right program does, in the student's words.
    `inherited`: it was written for another name, which this one is like. `told`: what is said of a
    name that does not pass, where the check decides on all of it.
    """

    name: str
    kind: Kind
    criteria: tuple[str, ...] = ()
    aspect: str | None = None
    rationale: str = ""
    inherited: bool = False
    told: str = ""


Of = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One run of a check: its label, and arguments by name."""

    label: str
    arguments: tuple[tuple[str, object], ...]


def cases(
    argument: str,
    given: Iterable[object],
    labels: Sequence[str] | Callable[[Any], object] = str,
) -> Mark:
    """Run a check once for each value of an argument.

    Args:
        argument: The name of the check's argument.
        given: Its values.
        labels: What tells the runs apart in the check's identifier, one for each value.
    """
    values = tuple(given)
    told = [str(labels(value)) for value in values] if callable(labels) else list(labels)

    def mark(test: Test) -> Test:
        known: tuple[Case, ...] = getattr(test, CASES, (Case("", ()),))
        made = tuple(
            Case(f"{case.label}-{label}".lstrip("-"), (*case.arguments, (argument, value)))
            for case in known
            for label, value in zip(told, values, strict=True)
        )
        setattr(test, CASES, made)
        return test

    return mark


def _marked(
    of: Of, kind: Kind, criteria: tuple[str, ...], aspect: str | None, told: str = ""
) -> Mark:
    """Mark a check; one of several names may ask for the name, as argument `name`."""
    names = (of,) if isinstance(of, str) else of

    def mark(test: Test) -> Test:
        rationale = " ".join((test.__doc__ or "").split())
        setattr(
            test,
            ATTRIBUTE,
            {name: Check(name, kind, criteria, aspect, rationale, told=told) for name in names},
        )
        return test

    return mark


def values(of: Of) -> Mark:
    """A comparison with the reference on strong inputs: evidence on every step of `of`."""
    return _marked(of, "values", (), None)


def setting(criterion: str, of: Of, aspect: str | None = None) -> Mark:
    """A comparison with the reference in a special setting, which `criterion` answers for."""
    return _marked(of, "values", (criterion,), aspect)


def criterion(*criteria: str, of: Of) -> Mark:
    """A property that holds for any right program."""
    return _marked(of, "property", criteria, None)


def own(criterion: str, of: Of, aspect: str | None = None) -> Mark:
    """Evidence on one criterion that no explanation of outputs overrides."""
    return _marked(of, "own", (criterion,), aspect)


def dependence(of: Of, told: str) -> Mark:
    """Whether outputs depend on what they are to be made of; asked where nothing explains them.

    A name that does not pass earns nothing; `told` is what its student reads.
    """
    return _marked(of, "dependence", (), None, told)


#: Kinds of check that a name must pass to be right.
JUDGED = frozenset({"values", "own"})

#: Kinds of check that are asked only where a name's outputs are not the reference's.
LAZY = ("property", "dependence")
