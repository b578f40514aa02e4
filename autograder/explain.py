"""From outputs to the smallest set of replaced steps that reproduces them.

The search walks the chain step by step and keeps every prefix that it has evaluated, so that a
prefix is computed once however many settings share it. It ends at a count of evaluations, never
at a time: results must not depend on how busy the machine is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from autograder.catalogue import Catalogue, Misconception, NullProgram
from autograder.chain import Chain, Given, StepRaises, Values, run
from autograder.compare import same

#: How many steps may be replaced at once.
MOST_REPLACED = 2

#: Step evaluations after which a submission stays unexplained.
MOST_EVALUATIONS = 20_000


@dataclass(frozen=True, slots=True)
class Observation:
    """What one call of a name gave: a tensor, or an exception as "type: text"."""

    given: Given
    value: Tensor | None
    exception: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The misconceptions that reproduce what was seen; none of them: the code is right.

    `alternatives` are further sets of the same size that fit as well.
    """

    misconceptions: tuple[Misconception, ...] = ()
    alternatives: tuple[tuple[Misconception, ...], ...] = ()
    null: NullProgram | None = None

    def expected(self, chain: Chain, given: Given) -> Tensor | None:
        """What a program with these mistakes returns for `given`; None where it raises."""
        try:
            return run(chain, given, replacements(self.misconceptions))
        except (StepRaises, RuntimeError, IndexError):
            return None


def replacements(
    misconceptions: Sequence[Misconception],
) -> dict[str, Callable[[Values], Values]]:
    """The steps that a set of misconceptions replaces."""
    return {entry.step: entry.replace for entry in misconceptions if entry.replace is not None}


def explain(
    name: str, catalogue: Catalogue, observations: Sequence[Observation]
) -> Explanation | None:
    """The explanation of what `name` did on several inputs; None where nothing fits.

    Null programs are tried first, then the right chain, then one replaced step, then two; among
    sets of the same size the catalogue's order decides.
    """
    seen = [entry for entry in observations if entry.value is not None]
    chain = catalogue.chains.get(name)
    if not seen or chain is None:
        return None
    null = null_program(name, catalogue, seen)
    if null is not None:
        return Explanation(null=null)
    entries = [entry for entry in catalogue.of(name) if entry.replace is not None]
    search = _Search(chain, entries, seen[0])
    for size in range(MOST_REPLACED + 1):
        found = [
            setting
            for setting in search.settings(size)
            if _reproduces(chain, setting, observations)
        ]
        if found:
            return Explanation(found[0], tuple(found[1:]))
        if search.exhausted:
            break
    return None


def null_program(
    name: str, catalogue: Catalogue, observations: Sequence[Observation]
) -> NullProgram | None:
    """The null program that gives every one of these outputs, if there is one."""
    for null in catalogue.nulls:
        output = null.outputs.get(name)
        if output is not None and all(
            entry.value is not None and same(entry.value, output(entry.given))
            for entry in observations
        ):
            return null
    return None


def _reproduces(
    chain: Chain, setting: tuple[Misconception, ...], observations: Sequence[Observation]
) -> bool:
    """Whether a setting gives all that was seen, exceptions included."""
    explanation = Explanation(setting)
    for entry in observations:
        expected = explanation.expected(chain, entry.given)
        if entry.value is None:
            if expected is not None or not any(
                mistake.recognises(entry.exception) for mistake in setting
            ):
                return False
        elif expected is None or not same(entry.value, expected):
            return False
    return True


@dataclass
class _Search:
    """All settings of a chain that give one observation, by the number of replaced steps."""

    chain: Chain
    entries: Sequence[Misconception]
    observation: Observation
    evaluations: int = 0
    _prefixes: dict[tuple[str, ...], Values | None] = field(default_factory=dict)

    @property
    def exhausted(self) -> bool:
        """Whether the search has used up its evaluations."""
        return self.evaluations >= MOST_EVALUATIONS

    def settings(self, size: int) -> Iterator[tuple[Misconception, ...]]:
        """Settings of exactly `size` replaced steps that reproduce the observation."""
        with torch.no_grad():
            found = list(self._walk(0, (), (), size))
        order = {entry.id: place for place, entry in enumerate(self.entries)}
        return iter(sorted(found, key=lambda setting: [order[entry.id] for entry in setting]))

    def _walk(
        self, place: int, path: tuple[str, ...], chosen: tuple[Misconception, ...], left: int
    ) -> Iterator[tuple[Misconception, ...]]:
        values = self._values(path, chosen)
        if values is None or self.exhausted:
            return
        if place == len(self.chain.steps):
            if left == 0 and self._fits(values):
                yield chosen
            return
        step = self.chain.steps[place][0]
        if len(self.chain.steps) - place > left or left == 0:
            yield from self._walk(place + 1, (*path, ""), chosen, left)
        if left:
            for entry in self.entries:
                if entry.step == step:
                    yield from self._walk(place + 1, (*path, entry.id), (*chosen, entry), left - 1)

    def _values(self, path: tuple[str, ...], chosen: tuple[Misconception, ...]) -> Values | None:
        if path in self._prefixes:
            return self._prefixes[path]
        if not path:
            values: Values | None = self.chain.begin(self.observation.given)
        else:
            before = self._prefixes[path[:-1]]
            step = self.chain.steps[len(path) - 1][1]
            if path[-1]:
                replaced = chosen[-1].replace
                assert replaced is not None
                step = replaced
            self.evaluations += 1
            try:
                values = None if before is None else step(before)
            except (StepRaises, RuntimeError, IndexError):
                values = None
        self._prefixes[path] = values
        return values

    def _fits(self, values: Values) -> bool:
        return self.observation.value is not None and same(
            self.observation.value, self.chain.result(values)
        )
