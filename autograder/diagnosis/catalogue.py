"""What a misconception is, and the catalogue of a stage: its chains and the steps done otherwise.

A stage's catalogue lives in the module that `assignment.toml` names, which defines `CHAINS`,
`MISCONCEPTIONS` and `NULLS`; this module only says what these are made of.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import Tensor

from autograder.assignment.assignment import FILE_NAME, Assignment, Stage
from autograder.assignment.subject import module_of
from autograder.diagnosis.chain import Chain, Given, Step
from autograder.diagnosis.dimensions import named
from autograder.diagnosis.texts import Text, load_texts
from autograder.errors import InternalError, UsageError

NO_TEXT = Text("", "", "", "")


@dataclass(frozen=True, slots=True)
class Misconception:
    """One step done otherwise.

    id: short and stable, unique within a stage.
    criterion: whose points it costs; `aspect` where only a part of that criterion.
    step, replace: the step of the chain and what is done in its place; None where the mistake
    shows in state, in training or in an exception only. codings: the same mistake written so that
    other numbers come out.
    raises: patterns of the exception's "type: text" by which it is recognised; raises_named: the
    same where the sizes in that text have been exchanged for their names (see `dimensions`).
    names: the names in which it can occur; empty: every name whose chain has the step.
    hides: criteria whose own checks cannot be passed with this mistake, so it alone is charged.
    text: what students read, from the file of texts beside the stage's module.
    """

    id: str
    criterion: str
    step: str = ""
    replace: Step | None = None
    codings: tuple[Step, ...] = ()
    raises: tuple[str, ...] = ()
    raises_named: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    aspect: str | None = None
    hides: tuple[str, ...] = ()
    text: Text = NO_TEXT

    @property
    def title(self) -> str:
        """Its name in a few words."""
        return self.text.title

    @property
    def message(self) -> str:
        """What a student reads; the section of the handout follows from the criterion."""
        return self.text.message

    @property
    def steps(self) -> tuple[Step, ...]:
        """Every way in which the step is done otherwise; none where outputs do not show it."""
        return self.codings if self.replace is None else (self.replace, *self.codings)

    def occurs_in(self, name: str, chain: Chain | None) -> bool:
        """Whether the mistake can be made in `name`."""
        if self.names:
            return name in self.names
        return chain is not None and (self.step or self.criterion) in chain.names

    def recognises(self, exception: str, given: Given | None = None) -> bool:
        """Whether an exception, as "type: text", is this mistake's own.

        given: what was called when it was raised, by which its sizes get names.
        """
        if any(re.search(pattern, exception) for pattern in self.raises):
            return True
        if given is None or not self.raises_named:
            return False
        told = named(exception, given)
        return any(re.search(pattern, told) for pattern in self.raises_named)


@dataclass(frozen=True, slots=True)
class NullProgram:
    """A program that does nothing of what is asked; a name that is one earns nothing at all."""

    id: str
    message: str
    outputs: Mapping[str, Callable[[Any], Tensor]]


@dataclass(frozen=True, slots=True, eq=False)
class Catalogue:
    """A stage's chains by name, its misconceptions in order, its null programs.

    Catalogues are one only where they are the same object: what was found with one is kept by it.
    """

    chains: Mapping[str, Chain]
    misconceptions: tuple[Misconception, ...]
    nulls: tuple[NullProgram, ...]

    def of(self, name: str) -> tuple[Misconception, ...]:
        """The misconceptions that can occur in `name`, in the catalogue's order."""
        chain = self.chains.get(name)
        return tuple(entry for entry in self.misconceptions if entry.occurs_in(name, chain))

    def named(self, identifier: str) -> Misconception:
        """The misconception with this id. Raises `InternalError` for an unknown one."""
        for entry in self.misconceptions:
            if entry.id == identifier:
                return entry
        raise InternalError(f"no misconception is called {identifier!r} in this stage's catalogue")


def stage_catalogue(assignment: Assignment, stage: Stage) -> Catalogue:
    """The catalogue of a stage, with what its names inherit from those that they are like.

    Raises:
        UsageError: A module that the assignment names cannot be imported, or lacks a part.
    """
    file = assignment.folder / FILE_NAME
    module = _module_of(assignment, stage)
    found = _catalogue(module, file)
    for name in stage.names:
        for parent in assignment.lineage(name)[1:]:
            other = _module_of(assignment, assignment.stage_of(parent))
            criteria = frozenset(criterion.id for criterion in stage.criteria)
            found = _inheriting(found, name, parent, _catalogue(other, file), criteria)
    return found


def _module_of(assignment: Assignment, stage: Stage) -> ModuleType:
    return module_of(assignment, stage.misconceptions, f"stages.{stage.id}.misconceptions")


def load_catalogue(module_name: str) -> Catalogue:
    """The catalogue that an installed module defines."""
    return _catalogue(importlib.import_module(module_name), Path(module_name))


@cache
def _catalogue(module: ModuleType, file: Path) -> Catalogue:
    """The catalogue that a module such as `autograder.attention.misconceptions.causal` defines."""
    where = getattr(module, "__file__", None) or module.__name__
    for part in ("CHAINS", "MISCONCEPTIONS", "NULLS"):
        if not hasattr(module, part):
            raise UsageError(f"{where}: there is no {part}; see docs/assignments.md")
    entries: tuple[Misconception, ...] = tuple(module.MISCONCEPTIONS)
    seen: set[str] = set()
    for entry in entries:
        if entry.id in seen:
            raise UsageError(f"{where}: two misconceptions are called {entry.id!r}")
        seen.add(entry.id)
    assert module.__file__ is not None
    worded = entries
    if entries:
        texts = load_texts(Path(module.__file__).parent)
        stage = module.__name__.rpartition(".")[2]
        worded = tuple(replace(entry, text=texts.of(stage, entry.id)) for entry in entries)
    return Catalogue(dict(module.CHAINS), worded, tuple(module.NULLS))


@cache
def _inheriting(
    own: Catalogue, name: str, parent: str, other: Catalogue, criteria: frozenset[str]
) -> Catalogue:
    """A catalogue in which a name can have the mistakes of another one, and be as empty.

    What the stage itself says of a mistake or a null program comes first.
    """
    chain = other.chains.get(parent)
    chains = own.chains if name in own.chains or chain is None else {**own.chains, name: chain}
    known = {entry.id for entry in own.misconceptions}
    parents = {entry.id for entry in other.of(parent)}
    inherited = tuple(
        replace(entry, names=(name,) if entry.names else ())
        for entry in other.of(parent)
        if entry.id not in known and entry.criterion in criteria
    )
    shared = tuple(
        replace(entry, names=(*entry.names, name))
        if entry.names and name not in entry.names and entry.id in parents
        else entry
        for entry in own.misconceptions
    )
    nulls = tuple(
        replace(null, outputs={name: null.outputs[parent]})
        for null in other.nulls
        if parent in null.outputs and not any(name in each.outputs for each in own.nulls)
    )
    return Catalogue(chains, (*shared, *inherited), (*own.nulls, *nulls))
