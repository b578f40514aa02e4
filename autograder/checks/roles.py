"""Which of a module's parameters plays which role.

Roles come from names: the contract's first, then near ones (`W_q`, `q_proj`, `query_layer`),
then fused layouts from a closed list. A weight is held as `(d_in, d_out)` by a plain parameter
and as `(d_out, d_in)` by a linear layer; the shape tells which, and where both sizes are equal
the kind of holder does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

CONTRACT = {"query": "W_query", "key": "W_key", "value": "W_value", "output": "out_proj"}

_NEAR = {
    "query": r"(w|to|lin|linear|proj|layer)?(q|query|queries)(w|proj|projection|layer|linear|lin|"
    r"weight|weights|matrix|mat|net|fc|s|map)?",
    "key": r"(w|to|lin|linear|proj|layer)?(k|key|keys)(w|proj|projection|layer|linear|lin|"
    r"weight|weights|matrix|mat|net|fc|s|map)?",
    "value": r"(w|to|lin|linear|proj|layer)?(v|value|values|val)(w|proj|projection|layer|linear|"
    r"lin|weight|weights|matrix|mat|net|fc|s|map)?",
    "output": r"(w|to|lin|linear|proj|layer|c|fc)?(o|out|output|proj|projection|outputs)(w|proj|"
    r"projection|layer|linear|lin|weight|weights|matrix|mat|net|fc|head)?",
}
_FUSED = r"(w|to|c|in)?(qkv|attn|inproj|kqv)(w|proj|projection|layer|linear|weight)?"


class RolesUnknown(Exception):
    """No parameter could be told to play a role."""

    def __init__(self, role: str, found: Iterable[str]) -> None:
        self.role = role
        self.found = tuple(found)
        super().__init__(role)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a role's weight lies: whole, or a run of rows of a fused weight."""

    path: str
    transposed: bool
    part: int | None = None


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
        for path, runs in parts.items():
            settings[path] = torch.cat([runs[number] for number in sorted(runs)], dim=0)
        return settings

    def read(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The weights by role, `(d_in, d_out)`, from tensors by path, as far as they are there."""
        weights = {}
        for role, place in self.places.items():
            tensor = tensors.get(place.path)
            if tensor is None or tensor.dim() not in (1, 2):
                continue
            if place.part is not None:
                tensor = tensor.tensor_split(3, dim=0)[place.part]
            weights[role] = tensor.T if place.transposed else tensor
        return weights


def roles_of(shapes: Mapping[str, tuple[int, ...]], d_in: int, d_out: int, output: bool) -> Roles:
    """The roles in a module whose parameters have these shapes by path.

    Raises `RolesUnknown` for a role that no parameter plays.
    """
    wanted = ("query", "key", "value", "output") if output else ("query", "key", "value")
    sized = {(d_in, d_out), (d_out, d_in), (d_out, d_out), (3 * d_out, d_in), (d_out,)}
    there = tuple(shapes)
    shapes = {path: shape for path, shape in shapes.items() if shape in sized | {(3 * d_out,)}}
    places: dict[str, Place] = {}
    exact = True
    for role in wanted:
        path = _exactly(role, shapes)
        if path is None:
            exact = False
            path = _nearly(role, shapes)
        if path is None:
            continue
        places[role] = Place(path, _is_transposed(path, shapes[path], d_in, d_out, role))
        bias = path.removesuffix("weight") + "bias" if path.endswith("weight") else None
        if bias is not None and bias in shapes and shapes[bias] == (d_out,):
            places[f"{role}_bias"] = Place(bias, transposed=False)
    if not {"query", "key", "value"} & places.keys():
        places.update(_fused(shapes, d_in, d_out))
    for role in wanted:
        if role not in places and role != "output":
            raise RolesUnknown(CONTRACT[role], there)
    return Roles(places, exact)


def _exactly(role: str, shapes: Mapping[str, tuple[int, ...]]) -> str | None:
    for path in (f"{CONTRACT[role]}.weight", CONTRACT[role]):
        if path in shapes:
            return path
    return None


def _leaf(path: str) -> str:
    return path.removesuffix(".weight").rpartition(".")[2].replace("_", "").lower()


def _nearly(role: str, shapes: Mapping[str, tuple[int, ...]]) -> str | None:
    fitting = [
        path
        for path, shape in shapes.items()
        if len(shape) == 2 and re.fullmatch(_NEAR[role], _leaf(path))
    ]
    return fitting[0] if len(fitting) == 1 else None


def _is_transposed(path: str, shape: tuple[int, ...], d_in: int, d_out: int, role: str) -> bool:
    rows = d_out if role == "output" else d_in
    if rows != d_out:
        return shape == (d_out, rows)
    return path.endswith(".weight")


def _fused(shapes: Mapping[str, tuple[int, ...]], d_in: int, d_out: int) -> dict[str, Place]:
    """Query, key and value one under the other in one weight of `(3 * d_out, d_in)`."""
    for path, shape in shapes.items():
        if shape == (3 * d_out, d_in) and re.fullmatch(_FUSED, _leaf(path)):
            places = {
                role: Place(path, transposed=True, part=number)
                for number, role in enumerate(("query", "key", "value"))
            }
            bias = path.removesuffix("weight") + "bias"
            if bias in shapes:
                for number, role in enumerate(("query", "key", "value")):
                    places[f"{role}_bias"] = Place(bias, transposed=False, part=number)
            return places
    return {}
