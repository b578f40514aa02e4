"""What a check says of itself: which name it calls and which criteria it gives evidence on.

Four kinds of check. *values*: the outputs are compared with the reference, and where they differ
the explanation decides which criteria they cost. *property*: something that holds for any right
program without a reference; it speaks where the outputs stay unexplained. *own*: evidence that
nothing else can give or take away, such as parameters, gradients, dropout in training.
*dependence*: whether the outputs are attention of any kind, for names that stay unexplained.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

import pytest

from autograder.errors import InternalError

Kind = Literal["values", "property", "own", "dependence"]
Test = TypeVar("Test", bound=Callable[..., Any])


class Mark(Protocol):
    """A decorator that leaves a test as it is."""

    def __call__(self, test: Test) -> Test: ...


#: The attribute of a test function that holds its `Check` by name.
ATTRIBUTE = "attention_check"


@dataclass(frozen=True, slots=True)
class Check:
    """What a check gives evidence on. No criteria: every step of the name's chain.

    `rationale` is the test's docstring: what a right program does, in the student's words.
    """

    name: str
    kind: Kind
    criteria: tuple[str, ...] = ()
    aspect: str | None = None
    rationale: str = ""


Of = str | tuple[str, ...]


def _marked(of: Of, kind: Kind, criteria: tuple[str, ...], aspect: str | None) -> Mark:
    """Mark a test; of several names, run it for each, with the name as argument `name`."""
    names = (of,) if isinstance(of, str) else of

    def mark(test: Test) -> Test:
        rationale = " ".join((test.__doc__ or "").split())
        checks = {name: Check(name, kind, criteria, aspect, rationale) for name in names}
        setattr(test, ATTRIBUTE, checks)
        if not isinstance(of, str):
            parametrized: Test = pytest.mark.parametrize("name", of)(test)
            return parametrized
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


def dependence(of: Of) -> Mark:
    """Whether outputs depend on scores between tokens at all; asked where nothing explains them."""
    return _marked(of, "dependence", (), None)


def check_of(item: pytest.Function) -> Check:
    """What a collected test says of itself. Raises `InternalError` for one that says nothing."""
    checks: dict[str, Check] | None = getattr(item.function, ATTRIBUTE, None)
    if checks is None:
        raise InternalError(f"{item.nodeid} does not say which criterion it gives evidence on")
    if len(checks) == 1:
        return next(iter(checks.values()))
    return checks[str(item.callspec.params["name"])]


#: Kinds of check that a name must pass to be right.
JUDGED = frozenset({"values", "own"})

#: Kinds of check that are asked only where a name's outputs are not the reference's.
LAZY = ("property", "dependence")
