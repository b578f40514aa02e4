"""The chain with every step right is attention: it equals what PyTorch itself computes."""

import math
from collections.abc import Mapping

import msgspec
import pytest
import torch
from hypothesis import given as examples
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from autograder.attention import chain
from autograder.attention.chain import Given, Values
from autograder.attention.misconceptions import causal, multi_head, simplified, trainable
from autograder.diagnosis.chain import Chain, StepRaises, run

ROLES = ("query", "key", "value")


def numbers(seed: int, *shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def weights(
    d_in: int, d_out: int, *, bias: bool = False, output: bool = False
) -> dict[str, Tensor]:
    found = {role: numbers(place, d_in, d_out) for place, role in enumerate(ROLES)}
    if bias:
        found |= {f"{role}_bias": numbers(10 + place, d_out) for place, role in enumerate(ROLES)}
    if output:
        found |= {"output": numbers(20, d_out, d_out), "output_bias": numbers(21, d_out)}
    return found


def projected(tokens: Tensor, held: Mapping[str, Tensor]) -> list[Tensor]:
    return [
        F.linear(tokens, held[role].T, held.get(f"{role}_bias"))  # PyTorch's own projection
        for role in ROLES
    ]


def assert_close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


class TestStageOne:
    """Attention without weights."""

    def test_scores_of_one_query_are_matrix_times_vector(self) -> None:
        tokens, query = numbers(1, 6, 4), numbers(2, 4)
        found = run(simplified.CHAINS["attention_scores"], Given(tokens=tokens, query=query))
        assert_close(found, torch.mv(tokens, query))

    @pytest.mark.parametrize("shape", [(7,), (4, 6), (2, 3, 5)])
    def test_softmax_is_the_librarys_over_the_last_dimension(self, shape: tuple[int, ...]) -> None:
        scores = numbers(3, *shape)
        found = run(simplified.CHAINS["softmax"], Given(scores=scores))
        assert_close(found, F.softmax(scores, dim=-1))

    def test_context_vectors_are_unscaled_dot_product_attention(self) -> None:
        tokens = numbers(4, 6, 4)
        expected = F.scaled_dot_product_attention(tokens, tokens, tokens, scale=1.0)
        assert_close(run(simplified.CHAINS["context_vectors"], Given(tokens=tokens)), expected)

    def test_one_context_vector_is_the_row_of_its_query(self) -> None:
        tokens = numbers(5, 6, 4)
        all_of_them = run(simplified.CHAINS["context_vectors"], Given(tokens=tokens))
        one = run(simplified.CHAINS["context_vector"], Given(tokens=tokens, query=tokens[2]))
        assert_close(one, all_of_them[2])

    def test_weights_are_what_attention_gives_for_values_that_are_an_identity(self) -> None:
        tokens = numbers(6, 5, 4)
        identity = torch.eye(5, dtype=torch.float64)
        expected = F.scaled_dot_product_attention(tokens, tokens, identity, scale=1.0)
        assert_close(run(simplified.CHAINS["attention_weights"], Given(tokens=tokens)), expected)


class TestStageTwo:
    """Trainable weights."""

    @pytest.mark.parametrize("name", sorted(trainable.CHAINS))
    @pytest.mark.parametrize("bias", [False, True])
    def test_it_is_scaled_dot_product_attention(self, name: str, bias: bool) -> None:
        tokens, held = numbers(7, 6, 7), weights(7, 5, bias=bias)
        expected = F.scaled_dot_product_attention(*projected(tokens, held))
        assert_close(run(trainable.CHAINS[name], Given(tokens=tokens, weights=held)), expected)


class TestStageThree:
    """Causal masks."""

    def test_the_mask_is_true_above_the_diagonal(self) -> None:
        mask = run(causal.CHAINS["causal_mask"], Given(count=3))
        assert mask.dtype == torch.bool
        assert mask.tolist() == [[False, True, True], [False, False, True], [False, False, False]]

    @pytest.mark.parametrize("name", ["renormalized_weights", "masked_weights"])
    def test_both_forms_of_masked_weights_are_causal_attention(self, name: str) -> None:
        query, key = numbers(8, 6, 4), numbers(9, 6, 4)
        identity = torch.eye(6, dtype=torch.float64)
        found = run(causal.CHAINS[name], Given(scores=query @ key.T))
        expected = F.scaled_dot_product_attention(query, key, identity, is_causal=True, scale=1.0)
        assert_close(found, expected)

    @pytest.mark.parametrize("bias", [False, True])
    def test_causal_attention_is_the_librarys_for_a_batch(self, bias: bool) -> None:
        tokens, held = numbers(10, 3, 6, 7), weights(7, 5, bias=bias)
        expected = F.scaled_dot_product_attention(*projected(tokens, held), is_causal=True)
        given = Given(tokens=tokens, weights=held, context_length=11)
        assert_close(run(causal.CHAINS["CausalAttention"], given), expected)


class TestStageFour:
    """Several heads."""

    @pytest.mark.parametrize("heads", [1, 3, 12])
    def test_it_is_the_librarys_module_with_packed_weights(self, heads: int) -> None:
        width, tokens = 12, numbers(11, 2, 6, 12)
        held = weights(width, width, bias=True, output=True)
        library = nn.MultiheadAttention(width, heads, batch_first=True, dtype=torch.float64).eval()
        with torch.no_grad():
            library.in_proj_weight.copy_(torch.cat([held[role].T for role in ROLES]))
            library.in_proj_bias.copy_(torch.cat([held[f"{role}_bias"] for role in ROLES]))
            library.out_proj.weight.copy_(held["output"].T)
            library.out_proj.bias.copy_(held["output_bias"])
            hidden = nn.Transformer.generate_square_subsequent_mask(6, dtype=torch.float64)
            expected, _ = library(tokens, tokens, tokens, attn_mask=hidden, need_weights=False)
        given = Given(tokens=tokens, weights=held, heads=heads)
        assert_close(run(multi_head.CHAINS["MultiHeadAttention"], given), expected)

    def test_widths_that_differ_give_the_heads_side_by_side(self) -> None:
        tokens, held = numbers(12, 2, 6, 7), weights(7, 15, output=True)
        apart = [
            F.scaled_dot_product_attention(*parts, is_causal=True)
            for parts in zip(
                *(whole.split(5, -1) for whole in projected(tokens, held)), strict=True
            )
        ]
        expected = F.linear(torch.cat(apart, -1), held["output"].T, held["output_bias"])
        given = Given(tokens=tokens, weights=held, heads=3)
        assert_close(run(multi_head.CHAINS["MultiHeadAttention"], given), expected)

    def test_the_wrapper_joins_its_heads_along_the_last_dimension(self) -> None:
        parts = (numbers(13, 2, 6, 5), numbers(14, 2, 6, 5))
        given = Given(tokens=numbers(15, 2, 6, 7), parts=parts)
        found = run(multi_head.CHAINS["MultiHeadAttentionWrapper"], given)
        assert found[..., :5].equal(parts[0])
        assert found[..., 5:].equal(parts[1])

    @examples(heads=st.integers(1, 5), size=st.integers(1, 4), tokens=st.integers(1, 6))
    def test_merging_undoes_splitting(self, heads: int, size: int, tokens: int) -> None:
        joined = numbers(16, 2, tokens, heads * size)
        values = msgspec.structs.replace(
            chain.start(Given()), context=chain.into_heads(joined, heads)
        )
        assert chain.merge(values).context.equal(joined)


@examples(tokens=st.integers(1, 9), d_in=st.integers(1, 6), d_out=st.integers(1, 6))
def test_no_output_depends_on_later_tokens_whatever_the_sizes(
    tokens: int, d_in: int, d_out: int
) -> None:
    before, held = numbers(17, 2, tokens, d_in), weights(d_in, d_out)
    after = before.clone()
    after[:, -1] += 3.0
    causally = causal.CHAINS["CausalAttention"]
    first, second = (run(causally, Given(tokens=each, weights=held)) for each in (before, after))
    assert_close(second[:, :-1], first[:, :-1])
    assert not second[:, -1].equal(first[:, -1])


@examples(tokens=st.integers(1, 9), reach=st.floats(0.0, 50.0))
def test_every_row_of_masked_weights_sums_to_one(tokens: int, reach: float) -> None:
    scores = numbers(18, tokens, tokens).clamp(-1, 1) * reach
    rows = run(causal.CHAINS["masked_weights"], Given(scores=scores))
    assert_close(rows.sum(-1), torch.ones(tokens, dtype=torch.float64))
    assert bool((rows >= 0).all())


def case(name: str) -> tuple[Chain, Given]:
    """A chain and something to call it with."""
    every = simplified.CHAINS | trainable.CHAINS | causal.CHAINS | multi_head.CHAINS
    given = {
        "attention_scores": Given(tokens=numbers(1, 6, 4), query=numbers(2, 4)),
        "softmax": Given(scores=numbers(3, 5, 6)),
        "context_vector": Given(tokens=numbers(1, 6, 4), query=numbers(2, 4)),
        "attention_weights": Given(tokens=numbers(1, 6, 4)),
        "context_vectors": Given(tokens=numbers(1, 6, 4)),
        "causal_mask": Given(count=6),
        "renormalized_weights": Given(scores=numbers(3, 6, 6)),
        "masked_weights": Given(scores=numbers(3, 6, 6)),
        "MultiHeadAttentionWrapper": Given(parts=(numbers(1, 2, 6, 5), numbers(2, 2, 6, 5))),
        "MultiHeadAttention": Given(
            tokens=numbers(1, 2, 6, 7), weights=weights(7, 15, output=True), heads=3
        ),
    }
    attention = Given(tokens=numbers(1, 2, 6, 7), weights=weights(7, 5, bias=True))
    return every[name], given.get(name, attention)


NAMES = sorted(simplified.CHAINS | trainable.CHAINS | causal.CHAINS | multi_head.CHAINS)


def tensors(holder: Given | Values) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for field in msgspec.structs.fields(holder):
        held = getattr(holder, field.name)
        if isinstance(held, Tensor):
            found[field.name] = held
        elif isinstance(held, Mapping):
            found |= {f"{field.name}.{key}": entry for key, entry in held.items()}
        elif isinstance(held, tuple):
            found |= {
                f"{field.name}.{place}": entry
                for place, entry in enumerate(held)
                if isinstance(entry, Tensor)
            }
    return found


@pytest.mark.parametrize("name", NAMES)
def test_no_step_changes_what_the_step_before_left(name: str) -> None:
    attention, given = case(name)
    values = attention.begin(given)
    for step_name, step in attention.steps:
        before = {key: held.clone() for key, held in (tensors(values) | tensors(given)).items()}
        after = step(values)
        for key, held in (tensors(values) | tensors(given)).items():
            assert held.equal(before[key]), f"{step_name} changed {key} in place"
        values = after


def test_values_and_what_was_given_are_frozen() -> None:
    values = chain.start(Given(tokens=numbers(1, 2, 3)))
    with pytest.raises(AttributeError, match="immutable"):
        values.scores = torch.zeros(1)
    with pytest.raises(AttributeError, match="immutable"):
        values.given.heads = 2


@pytest.mark.parametrize("name", NAMES)
def test_running_twice_gives_the_same_numbers(name: str) -> None:
    attention, given = case(name)
    assert run(attention, given).equal(run(attention, given))


class TestReplacedSteps:
    """What `run` does with steps done otherwise."""

    def test_a_replaced_step_takes_the_place_of_the_right_one(self) -> None:
        attention, given = case("SelfAttention_v1")
        found = run(attention, given, {"scaling": lambda values: values})
        expected = F.scaled_dot_product_attention(
            *projected(given.tokens, given.weights), scale=1.0
        )
        assert_close(found, expected)

    def test_a_step_that_raises_is_told_as_such(self) -> None:
        attention, given = case("SelfAttention_v1")

        def never_runs(values: Values) -> Values:
            raise StepRaises

        with pytest.raises(StepRaises):
            run(attention, given, {"scores": never_runs})

    def test_what_a_misplaced_step_left_for_later_is_done_after_softmax(self) -> None:
        values = msgspec.structs.replace(
            chain.start(Given(), scores=numbers(1, 4, 4)),
            after_softmax=(lambda held: held / 2, lambda held: held + 1),
        )
        expected = F.softmax(values.scores, dim=-1) / 2 + 1
        assert_close(chain.softmax(values).weights, expected)

    def test_the_names_of_the_steps_are_in_order(self) -> None:
        assert multi_head.CHAINS["MultiHeadAttention"].names == (
            "projections",
            "split",
            "scores",
            "scaling",
            "masking",
            "softmax",
            "dropout",
            "context",
            "merge",
            "output",
        )


def test_scaling_divides_by_the_root_of_one_heads_key_size() -> None:
    given = Given(tokens=numbers(1, 2, 6, 7), weights=weights(7, 12), heads=3)
    values = chain.scores(chain.split(chain.projections(chain.start(given))))
    assert_close(chain.scaling(values).scores * math.sqrt(4), values.scores)
