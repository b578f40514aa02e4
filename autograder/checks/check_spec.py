"""The hidden checks of an assignment, found once, before any submission comes.

A check is a function that says with a decorator of `marks` what it gives evidence on. Its arguments
are asked for by name: what `marks.cases` gives, and what every check may have (`GIVEN`).
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from types import ModuleType
from typing import Any, NamedTuple

from autograder.assignment.assignment import Assignment, Stage
from autograder.checks.marks import ATTRIBUTE, CASES, LAZY, Case, Check
from autograder.checks.session import catalogue_of, counted_for
from autograder.diagnosis.catalogue import Catalogue
from autograder.errors import InternalError
from autograder.sandbox.host.asking import Counted
from autograder.sandbox.host.student import Student

#: student: the submission's names. sample: inputs and weights by label. observe: compares with the
#: reference and records what was seen. findings: what is known of what the name is built on.
GIVEN = frozenset(("student", "sample", "observe", "findings"))


class CheckSpec(NamedTuple):
    """Where a check belongs, and how it is run.

    identifier: its stable name, `causal::a_later_token_cannot_change_an_earlier_output`.
    rank: the place of its stage, and of its name within the stage. counted: which operators of its
    name are to be seen. arguments: those of its case. asked: those of `GIVEN` that it asks for.
    """

    stage: Stage
    check: Check
    identifier: str
    rank: tuple[int, int]
    catalogue: Catalogue
    counted: Counted
    arguments: Mapping[str, object]
    asked: tuple[str, ...]
    run: Callable[..., object]


class BuiltOn(NamedTuple):
    """What a name is built on: another of the student's, or what stands in for it.

    name: the other name. source: trusted code that stands in for it where it cannot serve.
    serves: asks the student's own; `findings` by word, of which `findings[name]` says whether it
    can serve. presumed: the findings of a right one.
    """

    name: str
    source: str
    serves: Callable[[Student], dict[str, bool]]
    presumed: Mapping[str, bool]


class Hidden(NamedTuple):
    """All checks in the order in which they are asked, and what names are built on."""

    specs: tuple[CheckSpec, ...]
    built_on: Mapping[str, BuiltOn]


def modules_of(stage: Stage) -> Iterator[ModuleType]:
    """The modules of a stage's checks; there may be several, called alike."""
    main = importlib.import_module(stage.checks)
    yield main
    package, _, stem = stage.checks.rpartition(".")
    folder = importlib.import_module(package).__path__ if package else None
    if folder is not None:
        for found in sorted(pkgutil.iter_modules(folder), key=lambda each: each.name):
            if found.name.startswith(f"{stem}_"):
                yield importlib.import_module(f"{package}.{found.name}")


def hidden_checks(assignment: Assignment) -> Hidden:
    """Find all checks of an assignment.

    Raises:
        InternalError: A check asks for an argument that nobody gives.
    """
    specs: list[CheckSpec] = []
    built_on: dict[str, BuiltOn] = {}
    for stage in assignment.stages:
        for module in modules_of(stage):
            built_on |= getattr(module, "BUILT_ON", {})
            for function in checks_in(module):
                specs += specs_of(function, assignment)
    specs.sort(key=lambda spec: (spec.rank, spec.check.kind in LAZY))  # else as written
    return Hidden(tuple(specs), built_on)


def checks_in(module: ModuleType) -> Iterator[Callable[..., object]]:
    """The checks that a module defines, as written.

    Raises:
        InternalError: A function is called as a check and says not what it gives evidence on.
    """
    for name, held in list(vars(module).items()):
        if getattr(held, "__module__", None) != module.__name__ or not callable(held):
            continue
        if hasattr(held, ATTRIBUTE):
            yield held
        elif name.startswith("test_"):
            raise InternalError(
                f"{module.__name__}.{name} does not say which criterion it gives evidence on"
            )


def specs_of(function: Any, assignment: Assignment) -> Iterator[CheckSpec]:
    """One check, for each of its cases and names."""
    checks: Mapping[str, Check] = getattr(function, ATTRIBUTE)
    parameters = tuple(inspect.signature(function).parameters)
    stages = [assignment.stage_of(name) for name in checks]
    told_apart = len(set(map(id, stages))) == len(stages)  # by the stage in the identifier
    for case, check in product(getattr(function, CASES, (Case("", ()),)), checks.values()):
        arguments = dict(case.arguments)
        label = case.label if told_apart else f"{case.label}-{check.name}".lstrip("-")
        if "name" in parameters:
            arguments["name"] = check.name
        asked = tuple(name for name in parameters if name not in arguments)
        unknown = set(asked) - GIVEN
        if unknown:
            raise InternalError(
                f"{function.__module__}.{function.__name__} asks for {', '.join(sorted(unknown))}; "
                f"a check may ask for {', '.join(sorted(GIVEN))}"
            )
        stage = assignment.stage_of(check.name)
        yield CheckSpec(
            stage,
            check,
            f"{stage.id}::{function.__name__}" + (f"[{label}]" if label else ""),
            (assignment.stages.index(stage), stage.names.index(check.name)),
            catalogue_of(assignment, check.name),
            counted_for(assignment, check.name),
            arguments,
            asked,
            function,
        )


def equivalents_of(assignment: Assignment) -> dict[str, str]:
    """The trusted functions of each stage that has some, as source."""
    found = {}
    for stage in assignment.stages:
        source = getattr(importlib.import_module(stage.checks), "EQUIVALENTS", None)
        if source is not None:
            found[stage.id] = str(source)
    return found
