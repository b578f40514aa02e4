"""Sizes in an exception are told by what they are."""

import pytest
import torch

from autograder.attention.chain import Given
from autograder.diagnosis.dimensions import named, told


def called_with(b: int, t: int, d_in: int, d_out: int, heads: int, context: int) -> Given:
    weights = {"value": torch.empty(d_in, d_out)}
    tokens = torch.empty(b, t, d_in)
    return Given(tokens=tokens, weights=weights, heads=heads, context_length=context)


USUAL = called_with(2, 6, 7, 15, 3, 11)


def raised(slip: str) -> str:
    """What PyTorch says of a slip on tensors of the usual sizes."""
    heads = torch.ones(2, 3, 6, 5)
    slips = {
        "mask": lambda: torch.ones(2, 3, 6, 6).masked_fill(torch.ones(11, 11).bool(), 0.0),
        "keys": lambda: heads @ heads.transpose(1, 2),
        "view": lambda: torch.ones(2, 6, 15).view(2, 6, 3, 7),
        "weight": lambda: torch.ones(2, 6, 7) @ torch.ones(15, 7),
        "sums": lambda: torch.ones(2, 3, 6, 6) / torch.ones(2, 3, 6, 6).sum(-1),
    }
    with pytest.raises(RuntimeError) as caught:
        slips[slip]()
    return f"RuntimeError: {caught.value}"


@pytest.mark.parametrize(
    ("slip", "words"),
    [
        ("mask", ("tensor a (11: context_length)", "tensor b (6: tokens)")),
        ("keys", ("tensor a (3: heads)", "tensor b (6: tokens)")),
        ("view", ("[2, 6, 3, 7: batch, tokens, heads, d_in]",)),
        ("weight", ("12x7: batch * tokens x d_in", "15x7: d_out x d_in")),
        ("sums", ("tensor a (6: tokens)", "tensor b (3: heads)")),
    ],
)
def test_sizes_have_their_names_beside_them(slip: str, words: tuple[str, ...]) -> None:
    text = told(raised(slip), USUAL)
    for each in words:
        assert each in text


def test_a_shape_of_heads_is_told_dimension_by_dimension() -> None:
    text = "shape (2, 3, 6, 5) does not match [2, 1, 6, 6]"
    assert told(text, USUAL) == (
        "shape (2, 3, 6, 5: batch, heads, tokens, d_k) does not match "
        "[2, 1, 6, 6: batch, 1, tokens, tokens]"
    )


def test_a_mistake_is_recognised_by_names_whatever_the_numbers_are() -> None:
    pattern = "tensor a (tokens) must match the size of tensor b (heads)"
    assert pattern in named(raised("sums"), USUAL)
    other = called_with(3, 8, 10, 14, 2, 9)
    text = raised("sums").replace("(6)", "(8)").replace("(3)", "(2)")
    assert pattern in named(text, other)


def test_a_size_that_stands_for_two_things_names_both() -> None:
    assert called_with(3, 8, 8, 6, 3, 8).size_names() == {
        3: "batch or heads",
        8: "tokens or d_in or context_length",
        2: "d_k",
        6: "d_out",
        24: "batch * tokens",
    }


def test_numbers_that_are_no_sizes_of_the_call_stay_as_they_are() -> None:
    text = "IndexError: index 9 is out of bounds (41) at dimension (1), [6, 40]"
    assert told(text, USUAL) == text


def test_functions_without_weights_know_tokens_and_features() -> None:
    tokens = Given(tokens=torch.empty(9, 5), query=torch.empty(5))
    assert tokens.size_names() == {9: "tokens", 5: "d"}
    assert Given(scores=torch.empty(8, 8)).size_names() == {8: "tokens"}
    assert Given(count=8).size_names() == {8: "tokens"}
