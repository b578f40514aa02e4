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


def test_softmax_is_written_out_and_not_the_librarys(calls_of, holds):
    found = [name for name in calls_of(simplified.softmax, torch.ones(3)) if "softmax" in name]
    what = "calls of PyTorch's own softmax within softmax"
    holds(not found, what, "none", ", ".join(found), f"{HANDOUT}#softmax")


@pytest.mark.parametrize("name", ["attention_scores", "context_vector"])
@pytest.mark.parametrize("num_tokens", [1, 4, 9])
def test_one_query_and_other_numbers_of_tokens_work(inputs, holds, name, num_tokens):
    tokens = inputs.repeat(2, 1)[:num_tokens]
    found = tuple(getattr(simplified, name)(inputs[1], tokens).shape)
    expected = (num_tokens,) if name == "attention_scores" else (3,)
    what = f"the shape that {name} gives for {num_tokens} tokens"
    holds(found == expected, what, expected, found, f"{HANDOUT}#shapes-and-sizes")


def test_attention_weights_need_no_loop_over_the_tokens(calls_of, holds):
    few, many = (
        len(calls_of(simplified.attention_weights, torch.ones(count, 3))) for count in (4, 12)
    )
    what = "calls of PyTorch in attention_weights for 12 tokens"
    expected = f"{few}, as many as for 4 tokens"
    holds(many == few, what, expected, many, f"{HANDOUT}#shapes-and-sizes")


@pytest.mark.parametrize("name", ["attention_scores", "context_vector"])
def test_query_and_inputs_stay_as_they_were(inputs, agree, name):
    query, before = inputs[1].clone(), inputs.clone()
    getattr(simplified, name)(query, inputs)
    agree(query, before[1], f"the query after {name}", f"{HANDOUT}#shapes-and-sizes")
    agree(inputs, before, f"the inputs after {name}", f"{HANDOUT}#shapes-and-sizes")


def test_the_scores_stay_as_they_were(agree):
    scores = torch.tensor([[1.0, 2.0, 4.0], [0.0, 5.0, 0.0]])
    before = scores.clone()
    simplified.softmax(scores)
    agree(scores, before, "the scores after softmax", f"{HANDOUT}#shapes-and-sizes")
