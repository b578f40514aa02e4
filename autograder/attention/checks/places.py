"""Where a module keeps the weight of a role: whole, or a run of a fused weight."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


class RolesUnknown(Exception):
    """No parameter could be told to play a role."""

    def __init__(self, role: str, found: Iterable[str]) -> None:
        self.role = role
        self.found = tuple(found)
        super().__init__(role)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a role's weight lies: whole, or a run of a fused weight.

    transposed: kept as `(d_out, d_in)`, as a linear layer does. part: which run it is of `of` that
    lie one after the other; in each of `heads` blocks, where there are several.
    """

    path: str
    transposed: bool
    part: int | None = None
    heads: int = 1
    of: int = 3

    def joined(self, runs: Sequence[Tensor]) -> Tensor:
        """The fused weight or bias from its three runs, as they are kept."""
        along = 0 if self.transposed or runs[0].dim() == 1 else 1
        blocks = [run.tensor_split(self.heads, dim=along) for run in runs]
        return torch.cat([block for head in zip(*blocks, strict=True) for block in head], dim=along)

    def cut(self, fused: Tensor) -> Tensor:
        """This role's run of the fused weight or bias, as it is kept."""
        if self.part is None:
            return fused
        along = 0 if self.transposed or fused.dim() == 1 else 1
        blocks = fused.tensor_split(self.of * self.heads, dim=along)
        return torch.cat(blocks[self.part :: self.of], dim=along)


@dataclass(frozen=True, slots=True)
class Roles:
    """Where every role's weight and bias lie, and whether the names are the contract's."""

    places: Mapping[str, Place]
    exact: bool

    def settings(self, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """By path, what to put there so that the module holds `weights`.

        A bias that the module has and `weights` has not is set to zero; one that the module has
        not is left out.
        """
        parts: dict[str, dict[int, Tensor]] = {}
        settings: dict[str, Tensor] = {}
        for role, place in self.places.items():
            weight = weights.get(role)
            if weight is None:
                weight = torch.zeros_like(weights[role.removesuffix("_bias")][0])
            weight = weight.T if place.transposed else weight
            if place.part is None:
                settings[place.path] = weight
            else:
                parts.setdefault(place.path, {})[place.part] = weight
        places = {place.path: place for place in self.places.values()}
        for path, runs in parts.items():
            settings[path] = places[path].joined([runs[number] for number in sorted(runs)])
        return settings

    def read(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The weights by role, `(d_in, d_out)`, from tensors by path, as far as they are there."""
        weights = {}
        for role, place in self.places.items():
            tensor = tensors.get(place.path)
            if tensor is None or tensor.dim() not in (1, 2):
                continue
            tensor = place.cut(tensor)
            weights[role] = tensor.T if place.transposed and tensor.dim() == 2 else tensor
        return weights
