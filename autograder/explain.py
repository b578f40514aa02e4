"""From outputs to the smallest set of replaced steps that reproduces them.

The search walks the chain step by step and keeps every prefix that it has evaluated, so that a
prefix is computed once however many settings share it. It ends at a count of evaluations, never
at a time: results must not depend on how busy the machine is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from autograder.catalogue import Catalogue, Misconception, NullProgram
from autograder.chain import Chain, Given, Step, StepRaises, Values, run
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

    replaced: the steps that do it. alternatives: further sets of the same size that fit as well.
    variations: how many steps are done right in another way than the usual one.
    """

    misconceptions: tuple[Misconception, ...] = ()
    replaced: Mapping[str, Step] = field(default_factory=dict)
    alternatives: tuple[Explanation, ...] = ()
    null: NullProgram | None = None
    variations: int = 0

    def expected(self, chain: Chain, given: Given) -> Tensor | None:
        """What a program with these mistakes returns for `given`; None where it raises."""
        try:
            with torch.no_grad():
                return run(chain, given, self.replaced)
        except (StepRaises, RuntimeError, IndexError):
            return None


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
    search = _Search(chain, _options(chain, catalogue.of(name)), seen[0])
    for size in range(MOST_REPLACED + 1):
        found: dict[tuple[str, ...], Explanation] = {}
        for setting in search.settings(size):
            names = tuple(entry.id for entry in setting.misconceptions)
            if names not in found and _reproduces(chain, setting, observations):
                found[names] = setting
        if found:
            # Another right way of a step is called in only where the usual one explains nothing.
            first, *others = sorted(found.values(), key=lambda setting: setting.variations)
            others = [other for other in others if other.variations == first.variations]
            return replace(first, alternatives=tuple(others))
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


def _reproduces(chain: Chain, setting: Explanation, observations: Sequence[Observation]) -> bool:
    """Whether a setting gives all that was seen, exceptions included."""
    for entry in observations:
        expected = setting.expected(chain, entry.given)
        if entry.value is None:
            if expected is not None or not any(
                mistake.recognises(entry.exception) for mistake in setting.misconceptions
            ):
                return False
        elif expected is None or not same(entry.value, expected):
            return False
    return True


@dataclass(frozen=True, slots=True)
class _Option:
    """One way of doing a step; without a misconception it is a right way and costs nothing."""

    key: str
    step: Step
    misconception: Misconception | None = None
    rank: int = -1
    variation: bool = False  # another right way, tried with one mistake at the most


def _options(chain: Chain, entries: Sequence[Misconception]) -> dict[str, list[_Option]]:
    """For each step of the chain every way of doing it, the right ones first."""
    options: dict[str, list[_Option]] = {}
    for name, right in chain.steps:
        ways = (right, *chain.realizations.get(name, ()))
        options[name] = [
            _Option(f"right {number}", step, variation=number > 0)
            for number, step in enumerate(ways)
        ]
    for rank, entry in enumerate(entries):
        for number, step in enumerate(entry.steps):
            option = _Option(f"{entry.id} {number}", step, entry, rank)
            options.get(entry.step, []).append(option)
    return options


@dataclass
class _Search:
    """All settings of a chain that give one observation, by the number of replaced steps."""

    chain: Chain
    options: Mapping[str, Sequence[_Option]]
    observation: Observation
    evaluations: int = 0
    _prefixes: dict[tuple[str, ...], Values | None] = field(default_factory=dict)

    @property
    def exhausted(self) -> bool:
        """Whether the search has used up its evaluations."""
        return self.evaluations >= MOST_EVALUATIONS

    def settings(self, size: int) -> list[Explanation]:
        """Settings of exactly `size` mistakes that reproduce the observation, in order."""
        begun = self.chain.begin(self.observation.given)
        with torch.no_grad():
            found = list(self._walk(begun, (), size, size))
        found.sort(key=lambda chosen: [option.rank for option in chosen if option.misconception])
        return [
            Explanation(
                tuple(option.misconception for option in chosen if option.misconception),
                {
                    name: option.step
                    for (name, right), option in zip(self.chain.steps, chosen, strict=True)
                    if option.step is not right
                },
                variations=sum(option.variation for option in chosen),
            )
            for chosen in found
        ]

    def _walk(
        self, values: Values, chosen: tuple[_Option, ...], left: int, size: int
    ) -> Iterator[tuple[_Option, ...]]:
        if len(chosen) == len(self.chain.steps):
            if left == 0 and self._fits(values):
                yield chosen
            return
        name, _ = self.chain.steps[len(chosen)]
        for option in self.options[name]:
            cost = 0 if option.misconception is None else 1
            if cost > left or self.exhausted or (option.variation and size > 1):
                continue
            after = self._after(values, chosen, option)
            if after is not None:
                yield from self._walk(after, (*chosen, option), left - cost, size)

    def _after(self, values: Values, chosen: tuple[_Option, ...], option: _Option) -> Values | None:
        """The values after one more step; computed once for each distinct prefix."""
        path = (*(before.key for before in chosen), option.key)
        if path not in self._prefixes:
            self.evaluations += 1
            try:
                self._prefixes[path] = option.step(values)
            except (StepRaises, RuntimeError, IndexError):
                self._prefixes[path] = None
        return self._prefixes[path]

    def _fits(self, values: Values) -> bool:
        return self.observation.value is not None and same(
            self.observation.value, self.chain.result(values)
        )
