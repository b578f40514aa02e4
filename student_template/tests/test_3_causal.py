"""Stage 3 against the worked example of handouts/3_causal.md.

Seeded numbers hold only for layers that are made in the order query, key, value. Another order is
not wrong: the hidden checks set your weights by name.
"""

import pytest
import torch

from attention import causal

HANDOUT = "3_causal.md"


def weights_are(name, agree, scores, expected):
    agree(getattr(causal, name)(scores), expected, name, f"{HANDOUT}#masking")


def test_causal_mask_is_true_above_the_diagonal(agree, holds):
    found = causal.causal_mask(4)
    expected = [
        [False, True, True, True],
        [False, False, True, True],
        [False, False, False, True],
        [False, False, False, False],
    ]
    kind, look = found.dtype, f"{HANDOUT}#masking"
    holds(kind == torch.bool, "the type of causal_mask(4)", torch.bool, kind, look)
    agree(found, expected, "causal_mask(4)", look)


def test_causal_mask_of_a_single_token(agree):
    agree(causal.causal_mask(1), [[False]], "causal_mask(1)", f"{HANDOUT}#masking")


@pytest.mark.parametrize("name", ["renormalized_weights", "masked_weights"])
def test_weights_leave_out_what_comes_later(name, agree):
    # The exponentials of these scores are whole numbers, so the weights can be done by hand.
    scores = torch.tensor([[1.0, 2.0, 3.0], [1.0, 3.0, 4.0], [2.0, 1.0, 1.0]]).log()
    expected = [[1.0, 0.0, 0.0], [0.25, 0.75, 0.0], [0.5, 0.25, 0.25]]
    weights_are(name, agree, scores, expected)


@pytest.mark.parametrize("name", ["renormalized_weights", "masked_weights"])
def test_a_single_token_has_all_the_weight(name, agree):
    weights_are(name, agree, torch.tensor([[7.0]]), [[1.0]])


def test_masked_weights_stay_finite_for_large_scores(agree):
    scores = torch.tensor([[1000.0, -1000.0], [1000.0, 1000.0]])
    weights_are("masked_weights", agree, scores, [[1.0, 0.0], [0.5, 0.5]])


def test_causal_attention_gives_the_numbers_of_the_worked_example(inputs, agree):
    torch.manual_seed(123)
    attention = causal.CausalAttention(3, 2, context_length=6, dropout=0.0)
    found = attention(torch.stack([inputs, inputs]))
    expected = [
        [-0.4519, 0.2216],
        [-0.5874, 0.0058],
        [-0.6300, -0.0632],
        [-0.5675, -0.0843],
        [-0.5526, -0.0981],
        [-0.5299, -0.1081],
    ]
    look = f"{HANDOUT}#shapes-and-sizes"
    agree(found, [expected, expected], "CausalAttention(3, 2, 6, 0.0), seed 123", look)


def test_a_later_token_cannot_change_an_earlier_output(batch, agree):
    attention = causal.CausalAttention(3, 2, context_length=6, dropout=0.0).eval()
    expected = attention(batch)[:, :3].detach()
    changed = batch.clone()
    changed[:, 3:] += 5.0
    agree(attention(changed)[:, :3], expected, "the first three outputs", f"{HANDOUT}#masking")


def test_the_sequences_of_a_batch_know_nothing_of_each_other(batch, agree):
    attention = causal.CausalAttention(3, 2, context_length=6, dropout=0.0).eval()
    together = attention(batch)
    for position in range(2):
        alone = attention(batch[position : position + 1])[0].detach()
        what = f"sequence {position + 1} within a batch, against itself alone"
        agree(together[position], alone, what, f"{HANDOUT}#from-one-sequence-to-a-batch")


@pytest.mark.parametrize("num_tokens", [1, 4, 6])
def test_shorter_sequences_work(batch, num_tokens, holds):
    attention = causal.CausalAttention(3, 2, context_length=6, dropout=0.0)
    found = tuple(attention(batch[:, :num_tokens]).shape)
    what = f"the shape for two sequences of {num_tokens} tokens, context_length 6"
    expected = (2, num_tokens, 2)
    holds(found == expected, what, expected, found, f"{HANDOUT}#shapes-and-sizes")


def test_dropout_acts_in_training_and_not_in_evaluation(batch, holds):
    torch.manual_seed(5)
    attention = causal.CausalAttention(3, 2, context_length=6, dropout=0.5)
    look = f"{HANDOUT}#dropout"
    for mode, expected in (("training", "different"), ("evaluation", "the same")):
        attention.train(mode == "training")
        equal = torch.equal(attention(batch), attention(batch))
        found = "the same" if equal else "different"
        holds(found == expected, f"two outputs in {mode}, dropout 0.5", expected, found, look)


@pytest.mark.parametrize("qkv_bias", [False, True])
def test_only_the_three_layers_are_trained(qkv_bias, holds):
    attention = causal.CausalAttention(3, 2, 6, 0.0, qkv_bias=qkv_bias)
    kinds = ["weight", "bias"] if qkv_bias else ["weight"]
    expected = {f"W_{role}.{kind}" for role in ("query", "key", "value") for kind in kinds}
    found = {path for path, _ in attention.named_parameters()}
    what = f"the parameters with qkv_bias={qkv_bias}"
    look = f"{HANDOUT}#parameters-and-buffers"
    holds(found == expected, what, sorted(expected), sorted(found), look)


@pytest.mark.parametrize("count", [1, 3])
def test_any_number_of_sequences_works(count, inputs, holds):
    attention = causal.CausalAttention(3, 2, context_length=6, dropout=0.0)
    found, expected = tuple(attention(inputs.repeat(count, 1, 1)).shape), (count, 6, 2)
    what = f"the shape for a batch of {count}"
    holds(found == expected, what, expected, found, f"{HANDOUT}#shapes-and-sizes")


@pytest.mark.parametrize("name", ["renormalized_weights", "masked_weights"])
def test_the_scores_stay_as_they_were(name, agree):
    scores = torch.arange(9.0).reshape(3, 3)
    before = scores.clone()
    getattr(causal, name)(scores)
    agree(scores, before, f"the scores after {name}", f"{HANDOUT}#shapes-and-sizes")


def test_the_batch_stays_as_it_was(batch, agree):
    before = batch.clone()
    causal.CausalAttention(3, 2, context_length=6, dropout=0.0)(batch)
    agree(batch, before, "the batch after CausalAttention", f"{HANDOUT}#shapes-and-sizes")


def test_a_mask_that_is_kept_is_a_buffer(holds):
    attention = causal.CausalAttention(3, 2, context_length=6, dropout=0.0)
    plain = [
        name
        for name, value in vars(attention).items()
        if isinstance(value, torch.Tensor) and value.dim() > 1
    ]
    what = "tensors that are plain attributes of CausalAttention"
    holds(not plain, what, "none", ", ".join(plain), f"{HANDOUT}#parameters-and-buffers")


@pytest.mark.parametrize("role", ["W_query", "W_key", "W_value"])
def test_each_weight_matters(role, batch, holds):
    torch.manual_seed(4)
    attention = causal.CausalAttention(3, 4, context_length=6, dropout=0.0)
    before = attention(batch).detach().clone()
    dict(attention.named_parameters())[f"{role}.weight"].data.mul_(-4.0)
    found = "the same" if torch.allclose(attention(batch), before, atol=1e-6) else "different"
    what = f"the output after {role} of CausalAttention was changed"
    look = f"{HANDOUT}#from-one-sequence-to-a-batch"
    holds(found == "different", what, "different", found, look)


def test_dropout_takes_whole_weights_and_not_parts_of_an_output(holds):
    # A single token has one weight, 1. It is dropped, and with it the whole output, or doubled.
    torch.manual_seed(7)
    attention = causal.CausalAttention(3, 4, context_length=6, dropout=0.5).train()
    zeros = (attention(torch.ones(64, 1, 3)) == 0).sum(dim=-1).flatten().tolist()
    found = f"{sorted(set(zeros))} of 4 numbers are zero, over 64 sequences"
    what = "outputs of single tokens in training, dropout 0.5"
    holds(
        set(zeros) == {0, 4}, what, "either none or all of 4 are zero", found, f"{HANDOUT}#dropout"
    )
