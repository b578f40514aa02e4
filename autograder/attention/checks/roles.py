"""Which of a module's parameters plays which role.

Roles come from names: the contract's first, then near ones (`W_q`, `q_proj`, `query_layer`),
then fused layouts, then what is left over and fits. A weight is held as `(d_in, d_out)` by a plain
parameter and as `(d_out, d_in)` by a linear layer; the shape tells which, and where both sizes are
equal the kind of holder does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import permutations

from autograder.attention.checks.places import Place as Place
from autograder.attention.checks.places import Roles as Roles
from autograder.attention.checks.places import RolesUnknown as RolesUnknown

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
_FUSED = r"(w|to|c|in)?(qkv|kv|attn|inproj)(w|proj|projection|layer|linear|weight)?"


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
    places, exact = _by_name(dict(there), wanted, d_in, d_out, key_width)
    shapes = dict(there)
    missing = [role for role in wanted if role not in places]
    for role in missing if len(missing) == 1 else ():
        left = _left_over(role, shapes, places, d_in, d_out, key_width)
        if len(left) == 1:  # whatever it is called
            places |= _placed(role, left[0], shapes, d_in, d_out, key_width)
    for role in wanted:
        if role not in places and role != "output":
            raise RolesUnknown(CONTRACT[role], shapes)
    return Roles(places, exact)


def _by_name(
    shapes: Mapping[str, tuple[int, ...]],
    wanted: Sequence[str],
    d_in: int,
    d_out: int,
    key_width: int,
) -> tuple[dict[str, Place], bool]:
    """The roles that names tell, and whether all of them are the contract's names."""
    places: dict[str, Place] = {}
    exact = True
    for role in wanted:
        fitting = _fitting(role, d_in, d_out, key_width)
        own = {path: shape for path, shape in shapes.items() if shape in fitting}
        path = _exactly(role, own)
        if path is None:
            exact = False
            path = _nearly(role, own)
        if path is not None:
            places |= _placed(role, path, shapes, d_in, d_out, key_width)
    if not {"query", "key", "value"} & places.keys() and key_width == d_out:
        places |= _fused(shapes, ("query", "key", "value"), d_in, d_out)
    elif not {"key", "value"} & places.keys():
        places |= _fused(shapes, ("key", "value"), d_in, key_width)
    return places, exact


def _placed(
    role: str,
    path: str,
    shapes: Mapping[str, tuple[int, ...]],
    d_in: int,
    d_out: int,
    key_width: int,
) -> dict[str, Place]:
    """Where a role's weight lies, and the bias beside it."""
    width = key_width if role in ("key", "value") else d_out
    found = {role: Place(path, _is_transposed(path, shapes[path], d_in, width, role))}
    bias = path.removesuffix("weight") + "bias" if path.endswith("weight") else ""
    if shapes.get(bias) == (width,):
        found[f"{role}_bias"] = Place(bias, transposed=False)
    return found


def _left_over(
    role: str,
    shapes: Mapping[str, tuple[int, ...]],
    places: Mapping[str, Place],
    d_in: int,
    d_out: int,
    key_width: int,
) -> list[str]:
    """The weights that play no role yet and have the shape of this one."""
    taken = {place.path for place in places.values()}
    width = key_width if role in ("key", "value") else d_out
    rows = d_out if role == "output" else d_in
    fitting = ((rows, width), (width, rows))
    return [path for path, shape in shapes.items() if shape in fitting and path not in taken]


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
        ways = tuple(_permuted(shapes, d_in, d_out, output, key_width or d_out))
        if not ways:  # as many weights as roles, but none of the output's shape
            raise RolesUnknown(CONTRACT["output"], shapes) from None
        return ways
    orders = [usual]
    fused = usual.places.get("query")
    if fused is not None and fused.part is not None and not _is_told(fused.path):
        orders = [_in_order(usual, order) for order in permutations(range(3))]
    if output and "output" not in usual.places:
        left = _left_over("output", shapes, usual.places, d_in, d_out, key_width or d_out)
        orders += [
            Roles({**usual.places, **_placed("output", path, shapes, d_in, d_out, d_out)}, False)
            for path in left[:MOST_PARAMETERS]
        ]
    if heads < 2 or all(place.part is None for place in usual.places.values()):
        return tuple(orders)
    return *orders, *(_by_head(each, heads) for each in orders)


def _in_order(roles: Roles, order: Sequence[int]) -> Roles:
    """The same with the runs of a fused weight in another order."""
    return Roles(
        {
            role: place if place.part is None else replace(place, part=order[place.part])
            for role, place in roles.places.items()
        },
        roles.exact,
    )


def _by_head(roles: Roles, heads: int) -> Roles:
    """The same with the runs of a fused weight in each of so many blocks."""
    return Roles(
        {
            role: place if place.part is None else replace(place, heads=heads)
            for role, place in roles.places.items()
        },
        roles.exact,
    )


def _permuted(
    shapes: Mapping[str, tuple[int, ...]], d_in: int, d_out: int, output: bool, key_width: int
) -> Iterator[Roles]:
    """Every way in which weights that names do not tell may play the roles that are left."""
    wanted = ("query", "key", "value", "output") if output else ("query", "key", "value")
    told, _ = _by_name(shapes, wanted, d_in, d_out, key_width)
    missing = [role for role in wanted if role not in told]
    left = {role: _left_over(role, shapes, told, d_in, d_out, key_width) for role in missing}
    held = list(dict.fromkeys(path for paths in left.values() for path in paths))
    if len(held) != len(missing):
        raise RolesUnknown(CONTRACT["query"], shapes)
    for order in permutations(held):
        chosen = dict(zip(missing, order, strict=True))
        if all(path in left[role] for role, path in chosen.items()):
            places = dict(told)
            for role, path in chosen.items():
                places |= _placed(role, path, shapes, d_in, d_out, key_width)
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


def _is_told(path: str) -> bool:
    """Whether a name tells a fused weight, and so the usual order of its runs."""
    return re.fullmatch(_FUSED, _leaf(path)) is not None


def _fused(
    shapes: Mapping[str, tuple[int, ...]], roles: Sequence[str], d_in: int, width: int
) -> dict[str, Place]:
    """Several roles in one weight: one under the other, or side by side.

    It may have any name where it is the only one of its shape.
    """
    across = len(roles) * width
    fitting = [path for path, shape in shapes.items() if shape in ((across, d_in), (d_in, across))]
    told = [path for path in fitting if _is_told(path)] or (fitting if len(fitting) == 1 else [])
    if not told:
        return {}
    path = told[0]
    transposed = shapes[path] == (across, d_in)
    places = {
        role: Place(path, transposed, number, of=len(roles)) for number, role in enumerate(roles)
    }
    bias = path.removesuffix("weight") + "bias" if path.endswith("weight") else ""
    if shapes.get(bias) == (across,):
        for number, role in enumerate(roles):
            places[f"{role}_bias"] = Place(bias, False, number, of=len(roles))
    return places
