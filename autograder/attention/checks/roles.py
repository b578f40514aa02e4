"""Which of a module's parameters plays which role.

Roles come from names: the contract's first, then near ones (`W_q`, `q_proj`, `query_layer`),
then fused layouts from a closed list. A weight is held as `(d_in, d_out)` by a plain parameter
and as `(d_out, d_in)` by a linear layer; the shape tells which, and where both sizes are equal
the kind of holder does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations

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
    """Where a role's weight lies: whole, or a run of a fused weight.

    transposed: kept as `(d_out, d_in)`, as a linear layer does. part: which of three runs, query,
    key and value one after the other; in each of `heads` blocks, where there are several.
    """

    path: str
    transposed: bool
    part: int | None = None
    heads: int = 1

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
        blocks = fused.tensor_split(3 * self.heads, dim=along)
        return torch.cat(blocks[self.part :: 3], dim=along)


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


def roles_of(
    shapes: Mapping[str, tuple[int, ...]],
    d_in: int,
    d_out: int,
    output: bool,
    key_width: int | None = None,
) -> Roles:
    """The roles in a module whose parameters have these shapes by path.

    key_width: the columns of keys and values, where that is not `d_out`.

    Raises `RolesUnknown` for a role that no parameter plays. Modules of the same shapes have the
    very same roles: most submissions use the contract's names.
    """
    if len(shapes) > MOST_PARAMETERS:
        return _roles_of(tuple(shapes.items()), d_in, d_out, output, key_width or d_out)
    return _known_roles_of(tuple(shapes.items()), d_in, d_out, output, key_width or d_out)


#: Parameters of a module whose roles are kept; no attention of one layer has more.
MOST_PARAMETERS = 16


def _roles_of(
    there: tuple[tuple[str, tuple[int, ...]], ...],
    d_in: int,
    d_out: int,
    output: bool,
    key_width: int,
) -> Roles:
    wanted = ("query", "key", "value", "output") if output else ("query", "key", "value")
    fitting = {role: _fitting(role, d_in, d_out, key_width) for role in wanted}
    sized = set().union(*fitting.values(), [(d_out,), (key_width,)])
    sized |= {(3 * d_out, d_in), (d_in, 3 * d_out), (3 * d_out,)}
    shapes = {path: shape for path, shape in there if shape in sized}
    places: dict[str, Place] = {}
    exact = True
    for role in wanted:
        own = {path: shape for path, shape in shapes.items() if shape in fitting[role]}
        path = _exactly(role, own)
        if path is None:
            exact = False
            path = _nearly(role, own)
        if path is None:
            continue
        width = key_width if role in ("key", "value") else d_out
        places[role] = Place(path, _is_transposed(path, shapes[path], d_in, width, role))
        bias = path.removesuffix("weight") + "bias" if path.endswith("weight") else None
        if bias is not None and bias in shapes and shapes[bias] == (width,):
            places[f"{role}_bias"] = Place(bias, transposed=False)
    if not {"query", "key", "value"} & places.keys() and key_width == d_out:
        places.update(_fused(shapes, d_in, d_out))
    for role in wanted:
        if role not in places and role != "output":
            raise RolesUnknown(CONTRACT[role], [path for path, _ in there])
    return Roles(places, exact)


_known_roles_of = lru_cache(maxsize=512)(_roles_of)


def _fitting(role: str, d_in: int, d_out: int, key_width: int) -> set[tuple[int, ...]]:
    """The shapes in which a role's weight may be held, as a parameter or by a linear layer."""
    if key_width == d_out:
        return {(d_in, d_out), (d_out, d_in), (d_out, d_out)}
    rows = d_out if role == "output" else d_in
    width = key_width if role in ("key", "value") else d_out
    return {(rows, width), (width, rows)}


def layouts_of(
    shapes: Mapping[str, tuple[int, ...]],
    d_in: int,
    d_out: int,
    output: bool,
    heads: int,
    key_width: int | None = None,
) -> tuple[Roles, ...]:
    """Every way in which roles may lie where names leave it open, the likeliest first.

    A fused weight may have its runs head by head. Where names say nothing, any of the weights may
    play any role. Raises `RolesUnknown` where there are not as many weights as roles.
    """
    try:
        usual = roles_of(shapes, d_in, d_out, output, key_width)
    except RolesUnknown:
        return tuple(_permuted(shapes, d_in, d_out, output))
    if heads < 2 or all(place.part is None for place in usual.places.values()):
        return (usual,)
    by_head = {
        role: place if place.part is None else replace(place, heads=heads)
        for role, place in usual.places.items()
    }
    return usual, Roles(by_head, usual.exact)


def _permuted(
    shapes: Mapping[str, tuple[int, ...]], d_in: int, d_out: int, output: bool
) -> Iterator[Roles]:
    wanted = ["query", "key", "value"]
    held = [path for path, shape in shapes.items() if shape in {(d_in, d_out), (d_out, d_in)}]
    last = [path for path, shape in shapes.items() if shape == (d_out, d_out)] if output else []
    named = next((path for path in last if re.fullmatch(_NEAR["output"], _leaf(path))), None)
    own = {} if named is None else {"output": named}
    held = [path for path in held if path != named]
    if output and named is None:
        wanted.append("output")
        held = list(dict.fromkeys([*held, *last]))
    if len(held) != len(wanted):
        raise RolesUnknown(CONTRACT["query"], shapes)
    for order in permutations(held):
        paths = {**dict(zip(wanted, order, strict=True)), **own}
        if output and shapes[paths["output"]] != (d_out, d_out):
            continue
        places: dict[str, Place] = {}
        for role, path in paths.items():
            places[role] = Place(path, _is_transposed(path, shapes[path], d_in, d_out, role))
            bias = path.removesuffix("weight") + "bias" if path.endswith("weight") else ""
            if shapes.get(bias) == (d_out,):
                places[f"{role}_bias"] = Place(bias, transposed=False)
        yield Roles(places, exact=False)


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
    """Query, key and value in one weight: one under the other, or side by side."""
    for path, shape in shapes.items():
        fused = shape in ((3 * d_out, d_in), (d_in, 3 * d_out))
        if fused and re.fullmatch(_FUSED, _leaf(path)):
            places = {
                role: Place(path, transposed=shape == (3 * d_out, d_in), part=number)
                for number, role in enumerate(("query", "key", "value"))
            }
            bias = path.removesuffix("weight") + "bias"
            if bias in shapes:
                for number, role in enumerate(("query", "key", "value")):
                    places[f"{role}_bias"] = Place(bias, transposed=False, part=number)
            return places
    return {}
