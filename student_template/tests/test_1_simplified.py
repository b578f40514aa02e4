"""Stage 1 against the worked example of handouts/1_simplified.md."""

import pytest
import torch

from attention import simplified

HANDOUT = "1_simplified.md"
SCORES = [0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865]
WEIGHTS = [0.1385, 0.2379, 0.2333, 0.1240, 0.1082, 0.1581]
CONTEXT = [
    [0.4421, 0.5931, 0.5790],
    [0.4419, 0.6515, 0.5683],
    [0.4431, 0.6496, 0.5671],
    [0.4304, 0.6298, 0.5510],
    [0.4671, 0.5910, 0.5266],
    [0.4177, 0.6503, 0.5645],
]


def test_attention_scores_compare_the_second_token_with_all(inputs, agree):
    found = simplified.attention_scores(inputs[1], inputs)
    agree(found, SCORES, "the second token's scores", f"{HANDOUT}#scores")


def test_softmax_turns_scores_into_weights(agree):
    found = simplified.softmax(torch.tensor(SCORES))
    agree(found, WEIGHTS, "softmax of the second token's scores", f"{HANDOUT}#softmax")


def test_softmax_works_along_the_last_dimension(agree):
    scores = torch.tensor([[1.0, 2.0, 4.0], [0.0, 5.0, 0.0], [3.0, 3.0, 3.0]])
    sums = simplified.softmax(scores).sum(dim=-1)
    agree(sums, [1.0, 1.0, 1.0], "the sums of three rows of weights", f"{HANDOUT}#softmax")


def test_softmax_takes_any_number_of_dimensions(agree):
    scores = torch.arange(24.0).reshape(2, 3, 4)
    sums = simplified.softmax(scores).sum(dim=-1)
    agree(sums, torch.ones(2, 3), "the sums of rows in a stack", f"{HANDOUT}#shapes-and-sizes")


@pytest.mark.parametrize("largest", [100.0, 1000.0, -1000.0])
def test_softmax_stays_finite_for_large_scores(largest, agree):
    found = simplified.softmax(torch.tensor([largest, largest]))
    agree(found, [0.5, 0.5], f"softmax of twice {largest:g}", f"{HANDOUT}#softmax")


def test_context_vector_gathers_the_tokens(inputs, agree):
    found = simplified.context_vector(inputs[1], inputs)
    agree(found, CONTEXT[1], "the second token's context vector", f"{HANDOUT}#context-vectors")


def test_attention_weights_have_a_row_for_each_query(inputs, agree):
    found = simplified.attention_weights(inputs)
    agree(found.sum(dim=-1), torch.ones(6), "the sums of the rows", f"{HANDOUT}#softmax")
    agree(found[1], WEIGHTS, "the second row of weights", f"{HANDOUT}#softmax")


def test_context_vectors_of_all_tokens(inputs, agree):
    found = simplified.context_vectors(inputs)
    agree(found, CONTEXT, "all context vectors", f"{HANDOUT}#context-vectors")


@pytest.mark.parametrize("num_tokens", [1, 4])
def test_other_numbers_of_tokens_work(inputs, agree, num_tokens):
    token = inputs[0].repeat(num_tokens, 1)  # equal tokens: each context vector is the token
    found = simplified.context_vectors(token)
    look = f"{HANDOUT}#shapes-and-sizes"
    agree(found, token, f"context vectors of {num_tokens} equal tokens", look)


def test_the_inputs_stay_as_they_were(inputs, agree):
    before = inputs.clone()
    simplified.context_vectors(inputs)
    agree(inputs, before, "the inputs after the call", f"{HANDOUT}#shapes-and-sizes")
