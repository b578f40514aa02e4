"""What the course consists of: stages, the names in them, and where things lie.

`course.json` is built together with the stubs; nothing in here is written twice.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent  # the folder that holds attention/, tests/ and handouts/
TESTS = ROOT / "tests"
PUBLIC_ONLY = "public checks; your grade also depends on hidden ones"


class Unknown(Exception):
    """A word that names no stage and nothing in one; the text says which words do."""


@dataclass(frozen=True, slots=True)
class Name:
    """A function or class that is to be written, and the handout's section that teaches it."""

    name: str
    kind: str
    section: str


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: a module to write, its handout, its public checks and its stub."""

    id: str
    number: int
    title: str
    module: str
    handout: str
    tests: str
    names: tuple[Name, ...]
    stub: str

    @property
    def file(self) -> str:
        """Where the stage is written, such as `attention/causal.py`."""
        return f"{course().package}/{self.module}.py"

    def named(self, name: str) -> Name:
        """One of the stage's names."""
        return next(each for each in self.names if each.name == name)


@dataclass(frozen=True, slots=True)
class Example:
    """The worked example: its tokens, their embeddings `(T, d)`, and weights by class and role."""

    tokens: tuple[str, ...]
    inputs: list[list[float]]
    weights: dict[str, dict[str, list[list[float]]]]


@dataclass(frozen=True, slots=True)
class Course:
    """All stages in order, and the worked example."""

    title: str
    package: str
    stages: tuple[Stage, ...]
    example: Example

    def stage(self, word: str) -> Stage:
        """The stage that a word means: its id, its number, or a name in it."""
        for stage in self.stages:
            if word in (stage.id, str(stage.number)) or word in {n.name for n in stage.names}:
                return stage
        known = ", ".join(stage.id for stage in self.stages)
        raise Unknown(f"no stage and no name is called {word!r}; the stages are {known}")


@cache
def course() -> Course:
    """The course as `course.json` tells it."""
    told: dict[str, Any] = json.loads((HERE / "course.json").read_text(encoding="utf-8"))
    stages = tuple(
        Stage(
            number=number,
            names=tuple(Name(**name) for name in stage.pop("names")),
            **stage,
        )
        for number, stage in enumerate(told["stages"], start=1)
    )
    example = told["example"]
    return Course(
        told["title"],
        told["package"],
        stages,
        Example(tuple(example["tokens"]), example["inputs"], example["weights"]),
    )
