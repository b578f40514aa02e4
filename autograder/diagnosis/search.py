"""The search for settings of a chain's steps that give an output.

A setting replaces some steps; a prefix is a setting's first few steps. Each step is evaluated
once for each distinct prefix, and prefixes whose values have the same shapes take a step together
(see `prefixes`), since there are tens of thousands of them.

The search ends at a count of evaluations, never at a time: results must not depend on how busy
the machine is.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from autograder.diagnosis.chain import Chain, Given
from autograder.diagnosis.compare import same_each
from autograder.diagnosis.memory import Memory, numbers_of
from autograder.diagnosis.prefixes import Crowd, Option, begun, joined, merged, stepped

#: How many steps may be replaced at once.
MOST_REPLACED = 3

#: Evaluations of a step, for one prefix each, after which the search ends.
MOST_EVALUATIONS = 250_000

#: With so many mistakes or fewer, other right ways of a step are tried as well.
MOST_WITH_VARIATIONS = 1

#: So many prefixes of the largest size go to the end together; more would only take memory.
TOGETHER = 4096


@dataclass(frozen=True, slots=True)
class Ending:
    """Settings side by side: what they give, `(N, ...)`, and their options, `(N, steps)`."""

    results: Tensor
    paths: Tensor


@dataclass(frozen=True, slots=True)
class Level:
    """All settings of so many replaced steps, and how far the search's count had come by then."""

    endings: tuple[Ending, ...]
    evaluations: int
    exhausted: bool

    @property
    def nbytes(self) -> int:
        """What it takes to keep them."""
        return sum(each.results.nbytes + each.paths.nbytes for each in self.endings)


class Exhausted(Exception):
    """The search has used up its evaluations."""


@dataclass
class Search:
    """The settings of a chain that give one output, by the number of replaced steps.

    memory: where the ends are kept for other outputs on the same input.
    """

    chain: Chain
    options: Sequence[Sequence[Option]]
    given: Given
    found: Tensor
    memory: Memory[Level] | None = None
    evaluations: int = 0
    exhausted: bool = False
    # For each number of replaced steps, for each number of steps taken: the prefixes.
    _rows: dict[int, list[list[Crowd]]] = field(default_factory=dict)
    _finite: bool = field(init=False)
    _key: Hashable = None

    def __post_init__(self) -> None:
        self._finite = bool(torch.isfinite(self.found).all())
        if self.memory is not None:
            self._key = id(self.chain), id(self.options), numbers_of(self.given), self._finite

    def settings(self, size: int) -> list[tuple[Option, ...]]:
        """The options, one a step, of the settings of `size` mistakes that give the output.

        Sizes are asked for one after another, from 0. The catalogue's order is kept.
        """
        if self.exhausted:
            return []
        fitting: list[tuple[Option, ...]] = []
        with torch.no_grad():
            for ending in self._endings(size):
                fitting += self._fitting(ending)
        fitting.sort(key=lambda chosen: [each.rank for each in chosen if each.misconception])
        return fitting

    def _endings(self, size: int) -> Iterable[Ending]:
        """Where all settings with exactly `size` replaced steps end; known, or else computed."""
        memory = self.memory
        key = (self._key, size)
        level = memory.get(key) if memory is not None else None
        if level is not None:
            self.evaluations, self.exhausted = level.evaluations, level.exhausted
            yield from level.endings
            return
        endings: list[Ending] = []
        try:
            for crowd in self._whole(size):
                ending = Ending(self.chain.result(crowd.values), crowd.paths)
                yield ending
                if memory is not None:
                    endings.append(Ending(ending.results.clone(), ending.paths))
        except Exhausted:
            self.exhausted = True
        if memory is not None:
            level = Level(tuple(endings), self.evaluations, self.exhausted)
            memory.keep(key, level, level.nbytes, owners=(self.chain, self.options))

    def _whole(self, size: int) -> Iterable[Crowd]:
        """All settings with exactly `size` replaced steps."""
        if len(self._rows) < size:  # what came before was known
            self.evaluations = 0
            for smaller in range(size):
                list(self._whole(smaller))
        if size == MOST_REPLACED:
            return self._to_the_end(size)
        row: list[list[Crowd]] = [[begun(self.chain, self.given)] if size == 0 else []]
        self._rows[size] = row
        for place in range(len(self.options)):
            going = self._stepped(
                row[place],
                place,
                lambda each: (
                    each.misconception is None
                    and not (each.variation and size > MOST_WITH_VARIATIONS)
                ),
            )
            row.append(merged([*self._wrong(size, place), *going]))
        return row[-1]

    def _to_the_end(self, size: int) -> Iterable[Crowd]:
        """The same for the largest size, whose prefixes nobody needs again."""
        for place in range(len(self.options)):
            waiting: dict[tuple[object, ...], list[Crowd]] = {}
            for crowd in self._wrong(size, place):
                group = waiting.setdefault(crowd.form, [])
                group.append(crowd)
                if sum(map(len, group)) >= TOGETHER:
                    yield from self._ended(joined(group), place + 1)
                    group.clear()
            for group in waiting.values():
                if group:
                    yield from self._ended(joined(group), place + 1)

    def _ended(self, crowd: Crowd, place: int) -> Iterable[Crowd]:
        """A crowd after all remaining steps, done right in the usual way."""
        for later in range(place, len(self.options)):
            ended = self._after(crowd, later, 0)
            if ended is None:
                return
            crowd = ended
        yield crowd

    def _wrong(self, size: int, place: int) -> Iterable[Crowd]:
        """Prefixes whose last step is their mistake number `size`."""
        if size == 0:
            return []
        before = self._rows[size - 1][place]
        if size > MOST_WITH_VARIATIONS:
            before = [crowd for crowd in before if not crowd.varied]
        return self._stepped(before, place, lambda each: each.misconception is not None)

    def _stepped(
        self, crowds: Iterable[Crowd], place: int, taken: Callable[[Option], bool]
    ) -> Iterable[Crowd]:
        for crowd in crowds:
            for number, option in enumerate(self.options[place]):
                if taken(option):
                    after = self._after(crowd, place, number)
                    if after is not None:
                        yield after

    def _after(self, crowd: Crowd, place: int, number: int) -> Crowd | None:
        """One more step, counted, without the prefixes that can no longer give the output."""
        self.evaluations += len(crowd)
        if self.evaluations > MOST_EVALUATIONS:
            raise Exhausted
        after = stepped(crowd, number, self.options[place][number], self.chain)
        return None if after is None else self._promising(after, place)

    def _promising(self, crowd: Crowd, place: int) -> Crowd | None:
        """Without prefixes that hold nan where the output does not; None where none is left."""
        names = self.chain.names
        name = self.chain.carried.get(names[place])
        if name is None or not self._finite or not self.chain.covering.isdisjoint(names[place:]):
            return crowd
        sound = torch.isfinite(getattr(crowd.values, name).flatten(1).sum(dim=1))
        if bool(sound.all()):
            return crowd
        return crowd.only(sound) if bool(sound.any()) else None

    def _fitting(self, ending: Ending) -> list[tuple[Option, ...]]:
        if ending.results.shape[1:] != self.found.shape:
            return []
        paths = ending.paths[same_each(self.found, ending.results)].tolist()
        return [
            tuple(options[number] for options, number in zip(self.options, path, strict=True))
            for path in paths
        ]
