"""From outputs to the smallest set of replaced steps that reproduces them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import torch
from torch import Tensor

from autograder.diagnosis.catalogue import Catalogue, Misconception, NullProgram
from autograder.diagnosis.chain import Chain, Given, Step, StepRaises, run
from autograder.diagnosis.compare import SINGLE, difference, same, tolerance
from autograder.diagnosis.memory import Memory, numbers_of
from autograder.diagnosis.prefixes import Option, options_of
from autograder.diagnosis.search import MOST_REPLACED, Level, Search


class Observation(msgspec.Struct, frozen=True):
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
        if not self.misconceptions or given.comes_once:  # may hold steps, or inputs, that come once
            return self._computed(chain, given)
        steps = tuple((name, id(step)) for name, step in self.replaced.items())
        key = id(chain), steps, numbers_of(given)
        known = OUTPUTS.get(key)
        if known is None:
            output = self._computed(chain, given)
            known = (output,)
            size = KEY_BYTES + (0 if output is None else output.nbytes)
            OUTPUTS.keep(key, known, size, owners=(chain, self.replaced))
        return known[0]

    def _computed(self, chain: Chain, given: Given) -> Tensor | None:
        try:
            with torch.no_grad():
                return run(chain, given, self.replaced)
        except (StepRaises, RuntimeError, IndexError):
            return None


def explain(
    name: str, catalogue: Catalogue, observations: Sequence[Observation]
) -> Explanation | None:
    """The explanation of what `name` did on several inputs; None where nothing fits.

    Null programs are tried first, then the right chain, then one replaced step, then two, then
    three; among sets of the same size the catalogue's order decides. One output is searched for,
    the others prove what was found.
    """
    return explanations(name, catalogue, observations)[0]


def explanations(
    name: str, catalogue: Catalogue, observations: Sequence[Observation]
) -> tuple[Explanation | None, Explanation | None]:
    """The explanation of all that was seen, and that of the outputs alone, by one search.

    They differ where some inputs raised an exception that the mistakes do not raise.
    """
    seen = [entry for entry in observations if entry.value is not None]
    chain = catalogue.chains.get(name)
    if not seen or chain is None:
        return None, None
    null = null_program(name, catalogue, seen)
    if null is not None:
        return Explanation(null=null), Explanation(null=null)
    if not chain.steps:
        right = Explanation() if _reproduces(chain, Explanation(), seen) else None
        return right, right
    first = seen[0]
    assert first.value is not None
    entries = catalogue.of(name)
    known = all(
        entry.value is not None
        or any(mistake.recognises(entry.exception, entry.given) for mistake in entries)
        for entry in observations
    )
    memory = None if first.given.comes_once else ENDS
    search = Search(chain, options_of(chain, entries), first.given, first.value, memory)
    returned: Explanation | None = None
    for size in range(MOST_REPLACED + 1):
        fitting = [explanation_of(chain, chosen) for chosen in search.settings(size)]
        returned = returned or simplest(
            [setting for setting in fitting if _reproduces(chain, setting, seen)]
        )
        whole = known and (
            returned
            if len(seen) == len(observations)
            else simplest(
                [setting for setting in fitting if _reproduces(chain, setting, observations)]
            )
        )
        if whole:
            return whole, returned
        if search.exhausted or (returned and not known):
            break
    return None, returned


def simplest(fitting: Sequence[Explanation]) -> Explanation | None:
    """Of explanations of the same size the first, the others of different names beside it.

    Another right way of a step is called in only where the usual one explains nothing.
    """
    found: dict[tuple[str, ...], Explanation] = {}
    for setting in sorted(fitting, key=lambda each: each.variations):
        found.setdefault(tuple(entry.id for entry in setting.misconceptions), setting)
    if not found:
        return None
    fewest = min(setting.variations for setting in found.values())
    return together([setting for setting in found.values() if setting.variations == fewest])


def explanation_of(chain: Chain, chosen: Sequence[Option]) -> Explanation:
    """What a setting, one option a step, says of a program."""
    return Explanation(
        tuple(option.misconception for option in chosen if option.misconception),
        {
            name: option.step
            for (name, right), option in zip(chain.steps, chosen, strict=True)
            if option.step is not right
        },
        variations=sum(option.variation for option in chosen),
    )


def null_program(
    name: str, catalogue: Catalogue, observations: Sequence[Observation]
) -> NullProgram | None:
    """The null program that gives every one of these outputs, if there is one."""
    values = [entry.value for entry in observations if entry.value is not None]
    if len(values) < len(observations):
        return None
    lasts: dict[int, float] = {}
    numbers: dict[int, Hashable] = {}

    def expected(output: Callable[[Given], Tensor], given: Given) -> Expected:
        if given.comes_once:  # a student's own
            return Expected(output(given), math.nan, 0.0)
        if id(given) not in numbers:
            numbers[id(given)] = numbers_of(given)
        key = id(output), numbers[id(given)]
        known = NULLS.get(key)
        if known is None:
            known = Expected.from_program(output, given)
            NULLS.keep(key, known, known.output.nbytes, owners=output)
        return known

    def gives(output: Callable[[Given], Tensor], given: Given, value: Tensor) -> bool:
        if id(value) not in lasts:
            lasts[id(value)] = _last(value)
        return expected(output, given).is_same(value, lasts[id(value)])

    seen = [(entry.given, value) for entry, value in zip(observations, values, strict=True)]
    for null in catalogue.nulls:
        output = null.outputs.get(name)
        if output is not None and all(gives(output, *each) for each in seen):
            return null
    return None


@dataclass(frozen=True, slots=True)
class Expected:
    """What a program gives; its last number tells most others apart, at once.

    far: a number so far from the last one is no rounding, in whatever precision.
    """

    output: Tensor
    last: float
    far: float

    @classmethod
    def of(cls, output: Tensor) -> Expected:
        """The same of an output."""
        finite = output[torch.isfinite(output)].abs()
        size = float(finite.max()) if finite.numel() else 0.0
        return cls(output, _last(output), 2 * SINGLE * max(size, NEARLY_ZERO))

    @classmethod
    def from_program(cls, program: Callable[[Any], Tensor], given: Given) -> Expected:
        """What a program gives; of sizes that it cannot have, nothing that any other gives."""
        try:
            return cls.of(program(given))
        except (RuntimeError, IndexError):
            return cls(torch.empty(0), math.nan, 0.0)

    def is_same(self, found: Tensor, last: float) -> bool:
        """Whether another output, which ends with `last`, is the same."""
        return not abs(last - self.last) > self.far and same(found, self.output)


def _last(output: Tensor) -> float:
    return float(output.reshape(-1)[-1]) if output.numel() else 0.0


#: Outputs so small are compared as if they were larger.
NEARLY_ZERO = 1e-5

#: The ends of searches on the inputs of the hidden checks; those of the longest chain take 20 MB.
ENDS: Memory[Level] = Memory(1 << 26)

#: What programs with known mistakes give on them, or nothing where they raise.
OUTPUTS: Memory[tuple[Tensor | None]] = Memory(1 << 24)
KEY_BYTES = 1 << 13  # about what the numbers of an input take

#: What null programs give there.
NULLS: Memory[Expected] = Memory(1 << 22)


def _reproduces(chain: Chain, setting: Explanation, observations: Sequence[Observation]) -> bool:
    """Whether a setting gives all that was seen, exceptions included."""
    for entry in observations:
        expected = setting.expected(chain, entry.given)
        if entry.value is None:
            if expected is not None or not any(
                mistake.recognises(entry.exception, entry.given)
                for mistake in setting.misconceptions
            ):
                return False
        elif expected is None or not same(entry.value, expected):
            return False
    return True


# Explanations that fit equally well ---------------------------------------------------------

#: Two outputs that are so many tolerances apart tell their explanations apart beyond doubt.
BEYOND_DOUBT = 10.0

#: How often a name is asked once more.
MOST_QUESTIONS = 2


def borne_out(
    chain: Chain, explanation: Explanation, observations: Sequence[Observation]
) -> Explanation:
    """Of explanations that fit equally well, those that fit further observations as well.

    All of them where none does: a program may have another mistake that shows only there.
    """
    settings = apart(explanation)
    left = [setting for setting in settings if _reproduces(chain, setting, observations)]
    return together(left or settings)


def separated(
    chain: Chain,
    explanation: Explanation,
    inputs: Sequence[Given],
    ask: Callable[[int], Observation | None],
) -> Explanation:
    """Of explanations that fit equally well, those that fit what the program is asked once more.

    inputs: what it can be asked; `ask` gives its answer to one of them, by number. Asked is the
    one on which the explanations differ most; where they never differ they are one program, and
    nothing is asked.
    """
    for _ in range(MOST_QUESTIONS):
        settings = apart(explanation)
        kinds = [kinds_of(chain, settings, given) for given in inputs]
        best = max(range(len(inputs)), key=kinds.__getitem__, default=None)
        if best is None or kinds[best] < 2:
            break
        answer = ask(best)
        if answer is None:
            break
        explanation = borne_out(chain, explanation, [answer])
        if len(apart(explanation)) == len(settings):
            break
    return explanation


def kinds_of(chain: Chain, settings: Sequence[Explanation], given: Given) -> int:
    """How many different outputs the settings give for an input, beyond doubt."""
    kinds: list[Tensor | None] = []
    for setting in settings:
        expected = setting.expected(chain, given)
        if not any(_alike(expected, known) for known in kinds):
            kinds.append(expected)
    return len(kinds)


def _alike(one: Tensor | None, other: Tensor | None) -> bool:
    if one is None or other is None:
        return one is other
    return difference(one, other) <= BEYOND_DOUBT * tolerance(one)


def apart(explanation: Explanation) -> list[Explanation]:
    """An explanation and its alternatives, each by itself."""
    return [replace(explanation, alternatives=()), *explanation.alternatives]


def together(settings: Sequence[Explanation]) -> Explanation:
    """Explanations that fit equally well as one: the first, with the others beside it."""
    return replace(settings[0], alternatives=tuple(settings[1:]))
