"""Which definition is graded under each name, in the grader's order of precedence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .definitions import Definition
from .files import stem
from .spelling import closeness, distance, folded


@dataclass(frozen=True, slots=True)
class Wanted:
    """A name that is looked for: `kind` is "function" or "class"."""

    name: str
    kind: str
    module: str


def search(wanted: Sequence[Wanted], found: Sequence[Definition]) -> dict[str, Definition]:
    """What is graded, by name; stubs where nothing else is there."""
    own = {folded(each.name) for each in wanted}
    strangers = [each for each in found if folded(each.name) not in own]
    chosen: dict[str, Definition] = {}
    for each in wanted:
        same = folded(each.name)
        fitting = [other for other in found if folded(other.name) == same and _fits(other, each)]
        if not fitting or all(other.stub for other in fitting):
            near = _nearest(each, strangers, [other.name for other in wanted])
            fitting += [other for other in near if not (fitting and other.stub)]
        if fitting:
            chosen[each.name] = min(fitting, key=lambda other: _rank(other, each))
    return chosen


def _fits(found: Definition, wanted: Wanted) -> bool:
    if wanted.kind == "class":
        return found.kind == "class" or (found.kind == "function" and found.name == wanted.name)
    return found.kind != "class"


def _rank(found: Definition, wanted: Wanted) -> tuple[Any, ...]:
    """The order of precedence; the least is graded."""
    folders = found.path.split("/")[:-1]
    is_stage = folded(stem(found.path)) == folded(wanted.module)
    in_package = folders[-1:] == ["attention"]
    spelling = 0 if found.name == wanted.name else 2
    if spelling and folded(found.name) == folded(wanted.name):
        spelling = 1
    return (
        found.stub,
        spelling,
        found.kind != wanted.kind,
        found.notebook,
        not is_stage,
        not (in_package and is_stage),
        "" if found.notebook else found.path,
        -found.order,
    )


def _nearest(
    wanted: Wanted, strangers: Iterable[Definition], every: Sequence[str]
) -> list[Definition]:
    """Close misspellings of a name that are no closer to any other name that is looked for."""
    near: list[tuple[float, Definition]] = []
    for found in strangers:
        if found.kind != wanted.kind:
            continue
        score = closeness(found.name, wanted.name)
        few = score >= 0.75 and distance(folded(found.name), folded(wanted.name)) <= 2
        if score < 0.85 and not few:
            continue
        others = (closeness(found.name, other) for other in every if other != wanted.name)
        if score > max(others, default=0.0):
            near.append((score, found))
    best = max((score for score, _ in near), default=0.0)
    return [found for score, found in near if score == best]
