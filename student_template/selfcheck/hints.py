"""Hints in order: one more at each call, and never the solution."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache

from .course import HERE, Stage, course
from .state import Remembered


@dataclass(frozen=True, slots=True)
class Hints:
    """The hints for a name that have been shown by now, and how many there are in all."""

    stage: Stage
    name: str
    shown: tuple[str, ...]
    total: int


@cache
def all_hints() -> dict[str, list[str]]:
    """The hints of every name."""
    return tomllib.loads((HERE / "hints.toml").read_text(encoding="utf-8"))


def one_more(word: str) -> Hints:
    """One hint more for a name, or for the name that is next in a stage."""
    stage = course().stage(word)
    remembered = Remembered.read()
    names = [name.name for name in stage.names]
    name = word if word in names else remembered.next.get(stage.id, names[0])
    if name not in names:
        name = names[0]
    section = stage.named(name).section
    hints = all_hints().get(name) or [f"Read {stage.handout}#{section} once more."]
    count = min(remembered.hints.get(name, 0) + 1, len(hints))
    remembered.hints[name] = count
    remembered.write()
    return Hints(stage, name, tuple(hints[:count]), len(hints))
