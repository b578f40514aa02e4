"""Hidden inputs: the same for everyone of a course, on every machine, and strong enough."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from torch import Tensor

from autograder.attention.sample import WIDEST_SPREAD, Sample, Sizes

labels = st.text(max_size=12)
shapes = st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple)
reaches = st.sampled_from([0.5, 1.0, 2.0, 8.0])
PLAIN = Sizes(d_in=7, d_out=5, tokens=6)
BATCH = Sizes(d_in=7, d_out=15, tokens=6, batch=2, context_length=11, heads=3, bias=True)


@given(label=labels, shape=shapes, reach=reaches)
def test_numbers_are_dyadic_rationals_within_reach(
    label: str, shape: tuple[int, ...], reach: float
) -> None:
    drawn = Sample(b"secret").numbers(label, *shape, reach=reach)
    whole = drawn.double() / reach * 2**15
    assert drawn.shape == shape
    assert drawn.dtype == torch.float32
    assert whole.equal(whole.round())
    assert float(drawn.abs().max()) <= reach


@given(label=labels, shape=shapes)
def test_the_same_secret_and_label_give_the_same_numbers(
    label: str, shape: tuple[int, ...]
) -> None:
    first, second = Sample(b"secret"), Sample(b"secret")
    second.numbers("something else before", 3)
    assert first.numbers(label, *shape).equal(second.numbers(label, *shape))


def test_numbers_are_the_same_on_every_processor_and_in_every_version() -> None:
    drawn = Sample(b"practice").numbers("pinned", 4) * 2**15
    assert drawn.tolist() == PINNED


PINNED = [10384.0, 16671.0, -20468.0, 28206.0]


@pytest.mark.parametrize("other", [(b"another", "label"), (b"secret", "other label")])
def test_another_secret_or_label_gives_other_numbers(other: tuple[bytes, str]) -> None:
    secret, label = other
    ours = Sample(b"secret").numbers("label", 4, 4)
    assert not Sample(secret).numbers(label, 4, 4).equal(ours)


def test_secret_and_label_do_not_run_into_each_other() -> None:
    assert not Sample(b"a").numbers("bc", 8).equal(Sample(b"ab").numbers("c", 8))


def test_torchs_own_generator_has_no_part_in_it() -> None:
    torch.manual_seed(1)
    first = Sample(b"secret").numbers("label", 8)
    state = torch.get_rng_state()
    torch.manual_seed(2)
    assert Sample(b"secret").numbers("label", 8).equal(first)
    torch.manual_seed(1)
    assert torch.get_rng_state().equal(state)


def test_numbers_are_spread_over_the_whole_reach() -> None:
    drawn = Sample(b"secret").numbers("many", 4096)
    assert abs(float(drawn.mean())) < 0.05
    assert 0.55 < float(drawn.std()) < 0.6  # of an even spread from -1 to 1: 0.577
    assert float(drawn.min()) < -0.99
    assert float(drawn.max()) > 0.99


def test_no_numbers_at_all_can_be_asked_for() -> None:
    assert Sample(b"secret").numbers("none", 0, 3).shape == (0, 3)


class TestTokens:
    """Texts of embeddings."""

    def test_tokens_have_a_batch_in_front_only_where_sizes_say_so(self) -> None:
        sample = Sample(b"secret")
        assert sample.tokens("label", PLAIN).shape == (6, 7)
        assert sample.tokens("label", BATCH).shape == (2, 6, 7)

    def test_no_two_tokens_are_alike(self) -> None:
        rows = Sample(b"secret").tokens("label", BATCH).flatten(0, 1)
        assert len(torch.unique(rows, dim=0)) == 12

    @given(position=st.integers(0, 5))
    def test_changing_what_comes_after_keeps_what_comes_before(self, position: int) -> None:
        sample = Sample(b"secret")
        tokens = sample.tokens("label", BATCH)
        kept = tokens.clone()
        changed = sample.change_after(tokens, position)
        assert changed[:, : position + 1].equal(tokens[:, : position + 1])
        assert not (changed[:, position + 1 :] == tokens[:, position + 1 :]).any()
        assert tokens.equal(kept)


def spread(tokens: Tensor, weights: dict[str, Tensor], sizes: Sizes) -> float:
    """How far the scaled scores of one query lie apart, at most."""
    heads = max(sizes.heads, 1)
    query, key = (
        tokens.double() @ weights[role].double()
        + weights.get(f"{role}_bias", torch.zeros(sizes.d_out)).double()
        for role in ("query", "key")
    )
    widest = 0.0
    for columns in torch.arange(sizes.d_out).chunk(heads):
        scores = query[..., columns] @ key[..., columns].mT / math.sqrt(len(columns))
        widest = max(widest, float((scores.amax(-1) - scores.amin(-1)).max()))
    return widest


class TestWeights:
    """Weights by role."""

    @pytest.mark.parametrize("secret", [b"practice", b"a", b"bc", b"a whole sentence of it"])
    @pytest.mark.parametrize("sizes", [PLAIN, BATCH, Sizes(d_in=18, d_out=18, tokens=9)])
    def test_they_are_as_strong_as_the_spread_of_scores_allows(
        self, sizes: Sizes, secret: bytes
    ) -> None:
        sample = Sample(secret)
        weights = sample.weights("label", sizes)
        widest = spread(sample.tokens("label", sizes), weights, sizes)
        assert 4.0 < widest <= WIDEST_SPREAD

    def test_there_are_biases_and_an_output_only_where_sizes_say_so(self) -> None:
        sample, roles = Sample(b"secret"), {"query", "key", "value"}
        assert sample.weights("label", PLAIN).keys() == roles
        biases = {f"{role}_bias" for role in roles}
        everything = roles | biases | {"output", "output_bias"}
        assert sample.weights("label", BATCH).keys() == everything

    def test_every_role_has_the_shape_of_a_projection_and_numbers_of_its_own(self) -> None:
        weights = Sample(b"secret").weights("label", BATCH)
        shapes = {role: tuple(weight.shape) for role, weight in weights.items()}
        assert shapes["query"] == shapes["key"] == shapes["value"] == (7, 15)
        assert shapes["output"] == (15, 15)
        assert {shapes[role] for role in shapes if role.endswith("bias")} == {(15,)}
        assert not weights["key"].equal(weights["value"])

    def test_a_check_that_replaces_a_weight_does_not_change_it_for_the_next(self) -> None:
        sample = Sample(b"secret")
        first = sample.weights("label", PLAIN)
        kept = first["query"].clone()
        first["query"] = first["query"] * 4
        assert sample.weights("label", PLAIN)["query"].equal(kept)

    def test_they_are_dyadic_rationals_as_well(self) -> None:
        for weight in Sample(b"secret").weights("label", BATCH).values():
            whole = weight.double() * 2**24
            assert whole.equal(whole.round())


def test_the_size_of_a_head_is_its_share_of_the_width() -> None:
    assert BATCH.head_size == 5
    assert PLAIN.head_size == 5
    assert replace(BATCH, heads=1).head_size == 15
