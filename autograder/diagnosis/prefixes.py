"""Prefixes of settings side by side: a step taken by many of them at once.

A prefix is the first few steps of a chain, each done in one of its ways. Prefixes whose values have
the same shapes are a crowd: one tensor holds a value of all of them, in a first dimension of its
own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from autograder.diagnosis.catalogue import Misconception
from autograder.diagnosis.chain import (
    Abreast,
    Chain,
    Given,
    Step,
    StepRaises,
    Values,
    tensors_in,
)
from autograder.diagnosis.memory import Memory


@dataclass(frozen=True, slots=True)
class Option:
    """One way of doing a step; without a misconception it is a right way and costs nothing."""

    step: Step
    misconception: Misconception | None = None
    rank: int = -1
    variation: bool = False  # right, but not the usual way


Options = tuple[tuple[Option, ...], ...]


def options_of(chain: Chain, entries: Sequence[Misconception]) -> Options:
    """For each step of the chain every way of doing it, the usual one first.

    The same for the same chain and entries: what was found with them is remembered by them.
    """
    key = id(chain), *map(id, entries)
    known = OPTIONS.get(key)
    if known is None:
        known = _all_options(chain, entries)
        OPTIONS.keep(key, known, 1, owners=(chain, tuple(entries)))
    return known


#: So many chains' options are remembered, with those of the catalogues they are told apart by.
OPTIONS: Memory[Options] = Memory(100)


def _all_options(chain: Chain, entries: Sequence[Misconception]) -> Options:
    options: dict[str, list[Option]] = {
        name: [Option(right), *(Option(way, variation=True) for way in chain.other_ways(name))]
        for name, right in chain.steps
    }
    for rank, entry in enumerate(entries):
        options.get(entry.step, []).extend(Option(step, entry, rank) for step in entry.steps)
    return tuple(tuple(options[name]) for name in chain.names)


@dataclass(frozen=True, slots=True)
class Crowd:
    """Prefixes whose values have the same shapes, side by side in a first dimension of their own.

    paths: `(N, steps)`, the number of the option that each prefix took at each step.
    varied: whether one of these was a right way other than the usual one.
    """

    values: Values
    paths: Tensor
    varied: bool = False

    def __len__(self) -> int:
        return self.paths.shape[0]

    @property
    def form(self) -> tuple[object, ...]:
        """What has to be alike in prefixes that take a step together."""
        values = self.values
        known = self.tensors
        shapes = tuple(getattr(values, name).shape[1:] for name in known)
        others = tuple(
            getattr(values, name) for name in values.__struct_fields__[1:] if name not in known
        )
        return (shapes, others, self.varied)

    @property
    def tensors(self) -> tuple[str, ...]:
        """Which of the values are tensors."""
        return tensors_in(type(self.values))

    def only(self, chosen: Tensor) -> Crowd:
        """Some of the prefixes."""
        return replace(
            self,
            values=held(
                self.values, {name: getattr(self.values, name)[chosen] for name in self.tensors}
            ),
            paths=self.paths[chosen],
        )


def held(values: Values, tensors: Mapping[str, Tensor]) -> Values:
    """The same values with all their tensors exchanged."""
    return type(values)(
        *(
            tensors[name] if name in tensors else getattr(values, name)
            for name in values.__struct_fields__
        )
    )


def begun(chain: Chain, given: Given) -> Crowd:
    """The one prefix without any step."""
    values: Values = chain.begin(given)
    alone = {name: getattr(values, name).unsqueeze(0) for name in tensors_in(type(values))}
    return Crowd(held(values, alone), torch.empty(1, 0, dtype=torch.int16))


def merged(crowds: Iterable[Crowd]) -> list[Crowd]:
    """The same prefixes in as few crowds as their forms allow."""
    alike: dict[tuple[object, ...], list[Crowd]] = {}
    for crowd in crowds:
        alike.setdefault(crowd.form, []).append(crowd)
    return [joined(group) for group in alike.values()]


def joined(crowds: Sequence[Crowd]) -> Crowd:
    """Crowds of one form as one."""
    if len(crowds) == 1:
        return crowds[0]
    first = crowds[0]
    tensors = {
        name: torch.cat([getattr(crowd.values, name) for crowd in crowds]) for name in first.tensors
    }
    paths = torch.cat([crowd.paths for crowd in crowds])
    return Crowd(held(first.values, tensors), paths, first.varied)


def stepped(crowd: Crowd, number: int, option: Option, chain: Chain) -> Crowd | None:
    """All prefixes of a crowd after one more step, option `number`; None where it raises."""
    outside = {name: getattr(crowd.values, name) for name in crowd.tensors}
    if len(crowd) > 1 and goes_abreast(crowd, chain.abreast.get(option.step)):
        try:
            return _longer(crowd, option.step(crowd.values), number, option)
        except (StepRaises, RuntimeError, IndexError):
            return None
    known = [name for name, tensor in outside.items() if tensor.numel()] or [crowd.tensors[0]]
    unknown = {name: tensor[0] for name, tensor in outside.items() if name not in known}
    after: list[Values] = []
    changed: list[str] = []

    def step(*tensors: Tensor) -> tuple[Tensor, ...]:
        inside = unknown | dict(zip(known, tensors, strict=True))
        taken = option.step(held(crowd.values, inside))
        changed[:] = [name for name in outside if getattr(taken, name) is not inside[name]]
        after[:] = [taken]
        # The first stands for those steps that change nothing.
        return (tensors[0], *(getattr(taken, name) for name in changed))

    try:
        if len(crowd) == 1:  # which is usual in a short search, and quicker so
            _, *alone = step(*(outside[name][0] for name in known))
            new = [tensor.unsqueeze(0) for tensor in alone]
        else:
            _, *new = torch.vmap(step)(*(outside[name] for name in known))
    except (StepRaises, RuntimeError, IndexError):
        return None
    values = held(after[0], outside | dict(zip(changed, new, strict=True)))
    return _longer(crowd, values, number, option)


def _longer(crowd: Crowd, values: Values, number: int, option: Option) -> Crowd:
    """A crowd after option `number`, which gave these values."""
    column = torch.full((len(crowd), 1), number, dtype=torch.int16)
    return Crowd(values, torch.cat([crowd.paths, column], dim=1), crowd.varied or option.variation)


def goes_abreast(crowd: Crowd, way: Abreast | None) -> bool:
    """Whether a crowd can take a step as it is, without `torch.vmap`, which costs more than it.

    Not where one prefix alone would have too few dimensions, or not the same number everywhere:
    then the first one would be taken for something else. Nor where values are not plain.
    """
    if way is None or not crowd.values.is_plain:
        return False
    ranks = {getattr(crowd.values, name).dim() for name in way.reads}
    return len(ranks) == 1 and min(ranks) > way.dimensions
