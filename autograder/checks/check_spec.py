"""The hidden checks of an assignment, found once, before any submission comes.

A check is a function that says with a decorator of `marks` what it gives evidence on. Its arguments
are asked for by name: what `marks.cases` gives, and what every check may have (`GIVEN`).
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from types import ModuleType
from typing import Any, NamedTuple

from autograder.assignment.assignment import Assignment, Stage
from autograder.assignment.subject import module_of
from autograder.checks.declaration import Declaration
from autograder.checks.marks import ATTRIBUTE, CASES, LAZY, Case, Check
from autograder.checks.session import catalogue_of, counted_for
from autograder.diagnosis.catalogue import Catalogue
from autograder.errors import UsageError
from autograder.sandbox.host.asking import Counted
from autograder.sandbox.host.student import Student

#: student: the submission's names. sample: inputs and weights by label. observe: compares with the
#: reference and records what was seen. findings: what is known of what the name is built on.
#: declared: what the assignment declares of the name.
GIVEN = frozenset(("student", "sample", "observe", "findings", "declared"))

#: What a check asks for that can be run for any name; others call a name that they have themselves.
ANY_NAME = frozenset(("name", "declared"))


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
    """All checks in the order in which they are asked, what names are built on, declarations."""

    specs: tuple[CheckSpec, ...]
    built_on: Mapping[str, BuiltOn]
    declared: Mapping[str, Declaration]


def modules_of(assignment: Assignment, stage: Stage) -> Iterator[ModuleType]:
    """The modules of a stage's checks; there may be several, called alike.

    Raises:
        UsageError: One cannot be imported.
    """
    key = f"stages.{stage.id}.checks"
    main = module_of(assignment, stage.checks, key)
    yield main
    package, _, stem = stage.checks.rpartition(".")
    folder = module_of(assignment, package, key).__path__ if package else None
    if folder is not None:
        for found in sorted(pkgutil.iter_modules(folder), key=lambda each: each.name):
            if found.name.startswith(f"{stem}_"):
                yield module_of(assignment, f"{package}.{found.name}", key)


def hidden_checks(assignment: Assignment) -> Hidden:
    """Find all checks of an assignment.

    Raises:
        UsageError: A module of checks cannot be imported, a name has no check, or a check asks for
            an argument that nobody gives.
    """
    specs: dict[str, CheckSpec] = {}
    built_on: dict[str, BuiltOn] = {}
    declared: dict[str, Declaration] = {name: Declaration(name) for name in assignment.names}
    heirs = heirs_of(assignment)
    for stage in assignment.stages:
        for module in modules_of(assignment, stage):
            built_on |= getattr(module, "BUILT_ON", {})
            declared |= getattr(module, "NAMES", {})
            for function in checks_in(module):
                for spec in specs_of(function, assignment, heirs):
                    known = specs.get(spec.identifier)
                    if known is not None and not known.check.inherited:
                        if spec.check.inherited:
                            continue  # the stage has its own
                        raise UsageError(f"{module.__name__}: two checks are {spec.identifier}")
                    specs[spec.identifier] = spec
    found = sorted(  # else as written
        specs.values(), key=lambda spec: (spec.rank, spec.check.kind in LAZY)
    )
    checked = {spec.check.name for spec in found}
    for stage in assignment.stages:
        for name in stage.names:
            if name not in checked:
                raise UsageError(f"{stage.checks}: no check of {name}; write one in this module")
    for spec in found:
        if spec.check.kind == "values" and spec.check.name not in spec.catalogue.chains:
            raise UsageError(
                f"{spec.stage.misconceptions}: CHAINS has no {spec.check.name}, with which"
                f" {spec.identifier} compares"
            )
    return Hidden(tuple(found), built_on, declared)


def heirs_of(assignment: Assignment) -> dict[str, tuple[str, ...]]:
    """By name those that are like it, directly or not."""
    heirs: dict[str, tuple[str, ...]] = {}
    for name in assignment.names:
        for parent in assignment.lineage(name)[1:]:
            heirs[parent] = (*heirs.get(parent, ()), name)
    return heirs


def checks_in(module: ModuleType) -> Iterator[Callable[..., object]]:
    """The checks that a module defines, as written.

    Raises:
        UsageError: A function is called as a check and says not what it gives evidence on.
    """
    for name, held in list(vars(module).items()):
        if getattr(held, "__module__", None) != module.__name__ or not callable(held):
            continue
        if hasattr(held, ATTRIBUTE):
            yield held
        elif name.startswith("test_"):
            raise UsageError(
                f"{module.__name__}.{name} does not say which criterion it gives evidence on"
            )


def specs_of(
    function: Any, assignment: Assignment, heirs: Mapping[str, tuple[str, ...]] | None = None
) -> Iterator[CheckSpec]:
    """One check, for each of its cases and names, and for the names that are like these.

    Names that the assignment does not ask for, such as those of a stage left out, are passed over.
    """
    asked_of: Mapping[str, Check] = getattr(function, ATTRIBUTE)
    checks = {name: check for name, check in asked_of.items() if name in assignment.names}
    parameters = tuple(inspect.signature(function).parameters)
    everybodys = not ANY_NAME.isdisjoint(parameters)
    wanted = [*checks.values()]
    for name, check in checks.items() if everybodys else ():
        for heir in (heirs or {}).get(name, ()):
            known = {criterion.id for criterion in assignment.stage_of(heir).criteria}
            if heir not in checks and known.issuperset(check.criteria):
                wanted.append(replace(check, name=heir, inherited=True))
    stages = [assignment.stage_of(name) for name in checks]
    told_apart = len(set(map(id, stages))) == len(stages)  # by the stage in the identifier
    for case, check in product(getattr(function, CASES, (Case("", ()),)), wanted):
        arguments = dict(case.arguments)
        beside = check.inherited and assignment.stage_of(check.name) in stages
        label = case.label
        if beside or not told_apart:
            label = f"{label}-{check.name}".lstrip("-")
        if "name" in parameters:
            arguments["name"] = check.name
        asked = tuple(name for name in parameters if name not in arguments)
        unknown = set(asked) - GIVEN
        if unknown:
            raise UsageError(
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
        source = getattr(
            module_of(assignment, stage.checks, f"stages.{stage.id}.checks"), "EQUIVALENTS", None
        )
        if source is not None:
            found[stage.id] = str(source)
    return found
