"""What a misconception is, and the catalogue of a stage: its chains and the steps done otherwise.

A stage's catalogue lives in its own module of `autograder.attention.misconceptions`, which defines
`CHAINS`, `MISCONCEPTIONS` and `NULLS`; this module only says what these are made of.
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

from autograder.diagnosis.chain import Chain, Given, Step
from autograder.diagnosis.dimensions import named
from autograder.diagnosis.texts import Text, load_texts
from autograder.errors import InternalError

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
        return f"{self.text.found} {self.text.expected} {self.text.look}"

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


@dataclass(frozen=True, slots=True)
class Catalogue:
    """A stage's chains by name, its misconceptions in order, its null programs."""

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


@cache
def load_catalogue(module_name: str) -> Catalogue:
    """The catalogue that a module such as `autograder.attention.misconceptions.causal` defines."""
    module: ModuleType = importlib.import_module(module_name)
    entries: tuple[Misconception, ...] = tuple(module.MISCONCEPTIONS)
    seen: set[str] = set()
    for entry in entries:
        if entry.id in seen:
            raise InternalError(f"{module_name}: two misconceptions are called {entry.id!r}")
        seen.add(entry.id)
    assert module.__file__ is not None
    texts = load_texts(Path(module.__file__).parent)
    stage = module_name.rpartition(".")[2]
    worded = [replace(entry, text=texts.of(stage, entry.id)) for entry in entries]
    return Catalogue(dict(module.CHAINS), tuple(worded), tuple(module.NULLS))
