"""Which parameter is which: told by names, by fused layouts, and by nothing else."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor, nn

from autograder.attention.checks.places import Place
from autograder.attention.checks.roles import CONTRACT, RolesUnknown, layouts_of, roles_of

Shapes = dict[str, tuple[int, ...]]
ROLES = ("query", "key", "value")
D_IN, D_OUT = 7, 5


def numbers(*shape: int) -> Tensor:
    return torch.arange(torch.Size(shape).numel(), dtype=torch.float32).reshape(shape) + 1


def weights(
    d_in: int, d_out: int, *, bias: bool = False, output: bool = False
) -> dict[str, Tensor]:
    held = {role: numbers(d_in, d_out) + 100 * place for place, role in enumerate(ROLES)}
    if bias:
        held |= {f"{role}_bias": numbers(d_out) - 100 * place for place, role in enumerate(ROLES)}
    if output:
        held |= {"output": numbers(d_out, d_out) * 7, "output_bias": numbers(d_out) * 11}
    return held


def shapes_of(module: nn.Module) -> Shapes:
    return {path: tuple(held.shape) for path, held in module.named_parameters()}


def layers(names: dict[str, str], *, bias: bool, output: bool) -> nn.Module:
    module = nn.Module()
    for role in ROLES:
        module.add_module(names[role], nn.Linear(D_IN, D_OUT, bias=bias))
    if output:
        module.add_module(names["output"], nn.Linear(D_OUT, D_OUT))
    return module


# Names --------------------------------------------------------------------------------------

SPELLINGS: list[Callable[[str], str]] = [
    lambda role: f"W_{role}",
    lambda role: f"w_{role}",
    lambda role: role,
    lambda role: f"{role}_proj",
    lambda role: f"{role}_layer",
    lambda role: f"{role}_projection",
    lambda role: f"W_{role[0]}",
    lambda role: f"{role[0]}_proj",
    lambda role: f"to_{role[0]}",
    lambda role: f"{role[0]}_linear",
    lambda role: f"linear_{role}",
    lambda role: f"W{role[0]}",
]


def test_the_contracts_names_are_found_and_said_to_be_exact() -> None:
    roles = roles_of(shapes_of(layers(CONTRACT, bias=True, output=True)), D_IN, D_OUT, output=True)
    assert roles.exact
    assert {role: place.path for role, place in roles.places.items()} == {
        "query": "W_query.weight",
        "query_bias": "W_query.bias",
        "key": "W_key.weight",
        "key_bias": "W_key.bias",
        "value": "W_value.weight",
        "value_bias": "W_value.bias",
        "output": "out_proj.weight",
        "output_bias": "out_proj.bias",
    }


@pytest.mark.parametrize("spell", SPELLINGS[1:], ids=lambda spell: spell("query"))
def test_near_names_are_found_and_said_not_to_be_exact(spell: Callable[[str], str]) -> None:
    names = {role: spell(role) for role in ROLES} | {"output": "proj"}
    roles = roles_of(shapes_of(layers(names, bias=False, output=True)), D_IN, D_OUT, output=True)
    assert not roles.exact
    for role in (*ROLES, "output"):
        assert roles.places[role].path == f"{names[role]}.weight"


@pytest.mark.parametrize(
    "name", ["out_proj", "output", "o_proj", "W_o", "c_proj", "fc_out", "proj"]
)
def test_the_output_projection_has_several_names(name: str) -> None:
    names = CONTRACT | {"output": name}
    roles = roles_of(shapes_of(layers(names, bias=False, output=True)), D_IN, D_OUT, output=True)
    assert roles.places["output"].path == f"{name}.weight"


def test_an_output_projection_that_is_not_there_is_left_out() -> None:
    module = layers(CONTRACT, bias=False, output=False)
    assert "output" not in roles_of(shapes_of(module), D_IN, D_OUT, output=True).places


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("path", ["layer_1", "inner.0.weight", "W_0", "parts.2"])
def test_what_is_left_over_and_fits_plays_the_last_role(role: str, path: str) -> None:
    shapes: Shapes = {f"W_{each}": (D_IN, D_OUT) for each in ROLES if each != role}
    roles = roles_of({**shapes, path: (D_OUT, D_IN)}, D_IN, D_OUT, output=False)
    assert roles.places[role].path == path
    assert roles.places[role].transposed
    assert not roles.exact


@pytest.mark.parametrize("path", ["fc", "linear", "dense", "unify_heads", "last.1", "mixing"])
def test_the_output_layer_may_have_any_name(path: str) -> None:
    shapes: Shapes = {f"W_{each}.weight": (D_OUT, D_IN) for each in ROLES}
    shapes |= {f"{path}.weight": (D_OUT, D_OUT), f"{path}.bias": (D_OUT,)}
    roles = roles_of(shapes, D_IN, D_OUT, output=True)
    assert roles.places["output"] == Place(f"{path}.weight", transposed=True)
    assert roles.places["output_bias"].path == f"{path}.bias"


def test_a_role_that_nothing_plays_is_told_with_what_was_found() -> None:
    shapes: Shapes = {"W_query": (D_IN, D_OUT), "one": (D_IN, D_OUT), "two": (D_IN, D_OUT + 1)}
    with pytest.raises(RolesUnknown) as caught:
        roles_of(shapes, D_IN, D_OUT, output=False)
    assert caught.value.role == CONTRACT["key"]
    assert set(caught.value.found) == {*shapes}


def test_two_names_that_could_both_be_meant_are_not_guessed_between() -> None:
    shapes: Shapes = {
        "q_proj": (D_IN, D_OUT),
        "query_layer": (D_IN, D_OUT),
        "W_key": (D_IN, D_OUT),
        "W_value": (D_IN, D_OUT),
    }
    with pytest.raises(RolesUnknown):
        roles_of(shapes, D_IN, D_OUT, output=False)


def test_the_contracts_name_wins_over_a_near_one() -> None:
    shapes: Shapes = {f"W_{role}": (D_IN, D_OUT) for role in ROLES}
    roles = roles_of({"query": (D_IN, D_OUT), **shapes}, D_IN, D_OUT, output=False)
    assert roles.places["query"].path == "W_query"


@given(
    paths=st.dictionaries(
        st.from_regex(r"[a-zA-Z_.]{1,12}", fullmatch=True),
        st.lists(st.integers(1, 20), max_size=3).map(tuple),
        max_size=6,
    )
)
def test_whatever_a_module_is_called_roles_are_found_or_told_to_be_unknown(paths: Shapes) -> None:
    try:
        roles = roles_of(paths, D_IN, D_OUT, output=True)
    except RolesUnknown as unknown:
        assert set(unknown.found) == set(paths)
    else:
        assert {place.path for place in roles.places.values()} <= set(paths)
        assert set(ROLES) <= roles.places.keys()


# Which way round ----------------------------------------------------------------------------


@given(d_in=st.integers(1, 9), d_out=st.integers(1, 9))
def test_a_shape_tells_which_way_round_a_weight_is_held(d_in: int, d_out: int) -> None:
    assume(d_in != d_out)
    shapes: Shapes = {"W_query": (d_in, d_out), "W_key": (d_out, d_in), "W_value": (d_in, d_out)}
    roles = roles_of(shapes, d_in, d_out, output=False)
    turned = {role: place.transposed for role, place in roles.places.items()}
    assert turned == {"query": False, "key": True, "value": False}


def test_where_both_sizes_are_equal_the_holder_tells() -> None:
    shapes: Shapes = {"W_query": (4, 4), "W_key.weight": (4, 4), "W_value": (4, 4)}
    roles = roles_of(shapes, 4, 4, output=False)
    turned = {role: place.transposed for role, place in roles.places.items()}
    assert turned == {"query": False, "key": True, "value": False}


# Putting weights in place -------------------------------------------------------------------


def fill(module: nn.Module, settings: dict[str, Tensor]) -> None:
    with torch.no_grad():
        for path, value in settings.items():
            held = module.get_parameter(path)
            assert held.shape == value.shape, path
            held.copy_(value)


@given(bias=st.booleans(), output=st.booleans())
def test_a_linear_layer_computes_with_what_it_was_given(bias: bool, output: bool) -> None:
    module = layers(CONTRACT, bias=bias, output=output)
    held = weights(D_IN, D_OUT, bias=bias, output=output)
    roles = roles_of(shapes_of(module), D_IN, D_OUT, output=output)
    fill(module, roles.settings(held))
    tokens = numbers(3, D_IN)
    for role in ROLES:
        found = module.get_submodule(CONTRACT[role])(tokens)
        torch.testing.assert_close(found, tokens @ held[role] + held.get(f"{role}_bias", 0.0))


def test_a_bias_that_the_module_has_and_the_weights_have_not_is_set_to_zero() -> None:
    module = layers(CONTRACT, bias=True, output=False)
    roles = roles_of(shapes_of(module), D_IN, D_OUT, output=False)
    settings = roles.settings(weights(D_IN, D_OUT))
    assert settings["W_query.bias"].equal(torch.zeros(D_OUT))


def test_a_bias_that_the_module_has_not_is_left_out() -> None:
    module = layers(CONTRACT, bias=False, output=False)
    roles = roles_of(shapes_of(module), D_IN, D_OUT, output=False)
    assert set(roles.settings(weights(D_IN, D_OUT, bias=True))) == {
        f"W_{role}.weight" for role in ROLES
    }


@given(
    d_in=st.integers(1, 6),
    d_out=st.integers(1, 6),
    bias=st.booleans(),
    linear=st.booleans(),
    output=st.booleans(),
)
def test_what_was_put_in_place_is_read_again(
    d_in: int, d_out: int, bias: bool, linear: bool, output: bool
) -> None:
    shapes: Shapes = {}
    for role in ROLES:
        shapes[f"W_{role}.weight" if linear else f"W_{role}"] = (
            (d_out, d_in) if linear else (d_in, d_out)
        )
        if bias and linear:
            shapes[f"W_{role}.bias"] = (d_out,)
    if output:
        shapes |= {"out_proj.weight": (d_out, d_out), "out_proj.bias": (d_out,)}
    held = weights(d_in, d_out, bias=bias and linear, output=output)
    roles = roles_of(shapes, d_in, d_out, output=output)
    found = roles.read(roles.settings(held))
    assert found.keys() == held.keys()
    assert all(found[role].equal(held[role]) for role in held)


@pytest.mark.parametrize("name", ["qkv", "c_attn", "W_qkv", "qkv_proj", "in_proj", "to_qkv"])
@pytest.mark.parametrize("bias", [False, True])
def test_a_fused_layer_holds_query_key_and_value_one_under_the_other(name: str, bias: bool) -> None:
    module = nn.Module()
    module.add_module(name, nn.Linear(D_IN, 3 * D_OUT, bias=bias))
    held = weights(D_IN, D_OUT, bias=bias)
    roles = roles_of(shapes_of(module), D_IN, D_OUT, output=False)
    assert not roles.exact
    settings = roles.settings(held)
    fill(module, settings)
    tokens = numbers(3, D_IN)
    parts = module.get_submodule(name)(tokens).chunk(3, dim=-1)
    for role, found in zip(ROLES, parts, strict=True):
        torch.testing.assert_close(found, tokens @ held[role] + held.get(f"{role}_bias", 0.0))
    read = roles.read(settings)
    assert all(read[role].equal(held[role]) for role in held)


def test_of_two_fused_layers_of_unknown_names_none_is_guessed() -> None:
    shapes: Shapes = {"one.weight": (3 * D_OUT, D_IN), "two.weight": (3 * D_OUT, D_IN)}
    with pytest.raises(RolesUnknown):
        roles_of(shapes, D_IN, D_OUT, output=False)


def test_keys_and_values_alone_may_be_fused() -> None:
    shapes: Shapes = {"to_q.weight": (D_OUT, D_IN), "to_kv.weight": (2 * D_OUT, D_IN)}
    roles = roles_of(shapes, D_IN, D_OUT, output=False)
    weights = {role: numbers(D_IN, D_OUT) + place for place, role in enumerate(ROLES)}
    held = roles.settings(weights)
    assert held["to_kv.weight"].equal(torch.cat([weights["key"].T, weights["value"].T]))
    read = roles.read(held)
    assert all(read[role].equal(weights[role]) for role in ROLES)


@given(
    shapes=st.dictionaries(
        st.sampled_from(
            ["a", "b.weight", "c.0.weight", "W_query", "qkv.weight", "kv", "o", "b.bias"]
        ),
        st.sampled_from([(4, 6), (6, 4), (6, 6), (18, 4), (4, 12), (6,), (18,), (2, 3, 4), ()]),
    ),
    output=st.booleans(),
    heads=st.sampled_from([0, 2, 3]),
    key_width=st.sampled_from([None, 2]),
)
def test_whatever_a_module_holds_its_roles_are_found_or_unknown(
    shapes: dict[str, tuple[int, ...]], output: bool, heads: int, key_width: int | None
) -> None:
    try:
        ways = layouts_of(shapes, 4, 6, output, heads, key_width)
    except RolesUnknown:
        return
    assert ways
    widths = {"query": 6, "key": key_width or 6, "value": key_width or 6}
    weights = {role: torch.ones(4, width) for role, width in widths.items()}
    weights |= {"output": torch.ones(6, 6)} if output else {}
    for way in ways:
        held = way.settings(weights)
        assert held.keys() <= shapes.keys()
        assert {"query", "key", "value"} <= way.read(held).keys()


def test_what_cannot_be_read_is_left_out() -> None:
    shapes: Shapes = {f"W_{role}": (D_IN, D_OUT) for role in ROLES}
    roles = roles_of(shapes, D_IN, D_OUT, output=False)
    assert roles.read({"W_key": numbers(D_IN, D_OUT)}).keys() == {"key"}


class TestLayouts:
    """Where names leave open how roles lie."""

    def test_names_that_say_everything_leave_one_way(self) -> None:
        shapes = {"W_query.weight": (6, 4), "W_key.weight": (6, 4), "W_value.weight": (6, 4)}
        (only,) = layouts_of(shapes, 4, 6, output=False, heads=3)
        assert only == roles_of(shapes, 4, 6, output=False)

    def test_a_fused_weight_may_have_its_runs_head_by_head(self) -> None:
        usual, by_head = layouts_of({"qkv.weight": (18, 4)}, 4, 6, output=False, heads=3)
        assert {place.heads for place in usual.places.values()} == {1}
        assert {place.heads for place in by_head.places.values()} == {3}
        weights = {
            role: torch.full((4, 6), float(number))
            for number, role in enumerate(("query", "key", "value"))
        }
        held = by_head.settings(weights)["qkv.weight"]
        assert held[:, 0].tolist() == [0.0, 0.0, 1.0, 1.0, 2.0, 2.0] * 3
        read = by_head.read({"qkv.weight": held})
        assert all(torch.equal(read[role], weights[role]) for role in weights)

    def test_a_fused_parameter_may_lie_the_other_way(self) -> None:
        roles = roles_of({"W_qkv": (4, 18)}, 4, 6, output=False)
        weights = {role: torch.randn(4, 6) for role in ("query", "key", "value")}
        held = roles.settings(weights)["W_qkv"]
        assert held.shape == (4, 18)
        assert torch.equal(held[:, 6:12], weights["key"])
        assert torch.equal(roles.read({"W_qkv": held})["value"], weights["value"])

    def test_where_names_say_nothing_any_weight_may_play_any_role(self) -> None:
        shapes = {"a.weight": (6, 4), "b.weight": (6, 4), "c.weight": (6, 4), "a.bias": (6,)}
        ways = layouts_of(shapes, 4, 6, output=False, heads=0)
        assert len({tuple(way.places[role].path for role in ("query", "key", "value"))
                    for way in ways}) == 6  # fmt: skip
        assert not any(way.exact for way in ways)

    def test_an_output_projection_that_is_named_stays_what_it_is(self) -> None:
        shapes = {"a.weight": (6, 6), "b.weight": (6, 6), "c.weight": (6, 6)}
        ways = layouts_of({**shapes, "out_proj.weight": (6, 6)}, 6, 6, output=True, heads=2)
        assert len(ways) == 6
        assert {way.places["output"].path for way in ways} == {"out_proj.weight"}
        assert len(layouts_of({**shapes, "d.weight": (6, 6)}, 6, 6, output=True, heads=2)) == 24

    def test_the_runs_of_a_fused_weight_of_an_unknown_name_may_have_any_order(self) -> None:
        ways = layouts_of({"everything.weight": (18, 4)}, 4, 6, output=False, heads=3)
        orders = {
            (way.places["query"].heads, *(way.places[role].part for role in ROLES)) for way in ways
        }
        assert len(orders) == len(ways) == 12

    def test_a_name_that_says_something_is_not_exchanged_for_another(self) -> None:
        shapes = {"W_query.weight": (6, 4), "b.weight": (6, 4), "c.weight": (6, 4)}
        ways = layouts_of(shapes, 4, 6, output=False, heads=0)
        assert {way.places["query"].path for way in ways} == {"W_query.weight"}
        assert len(ways) == 2

    def test_of_several_layers_each_may_be_the_output(self) -> None:
        shapes = {f"W_{role}.weight": (6, 4) for role in ROLES}
        shapes |= {"one.weight": (6, 6), "two.weight": (6, 6)}
        ways = layouts_of(shapes, 4, 6, output=True, heads=2)
        found = {way.places["output"].path for way in ways if "output" in way.places}
        assert found == {"one.weight", "two.weight"}

    def test_where_no_weight_can_be_the_output_none_is_guessed(self) -> None:
        shapes = {f"{name}.weight": (6, 4) for name in ("one", "two", "three", "four")}
        with pytest.raises(RolesUnknown) as caught:
            layouts_of(shapes, 4, 6, output=True, heads=2)
        assert caught.value.role == "out_proj"

    def test_too_few_weights_play_no_roles(self) -> None:
        with pytest.raises(RolesUnknown):
            layouts_of({"a.weight": (6, 4), "b.weight": (6, 4)}, 4, 6, output=False, heads=0)
