"""Stage 4 against the worked example of handouts/4_multi_head.md.

Seeded numbers hold only for layers that are made in the order query, key, value, output. Another
order is not wrong: the hidden checks set your weights by name.
"""

import pytest
import torch
from torch import nn

from attention import causal, multi_head

HANDOUT = "4_multi_head.md"


def test_the_wrapper_holds_its_heads_in_a_module_list(holds):
    wrapper = multi_head.MultiHeadAttentionWrapper(3, 2, 6, 0.0, num_heads=2)
    kind = type(wrapper.heads).__name__
    look = f"{HANDOUT}#parameters-and-buffers"
    holds(isinstance(wrapper.heads, nn.ModuleList), "the kind of heads", "ModuleList", kind, look)
    found = [type(head).__name__ for head in wrapper.heads]
    right = [*map(type, wrapper.heads)] == [causal.CausalAttention] * 2
    holds(right, "what is in heads", ["CausalAttention"] * 2, found, look)


def test_the_wrapper_gives_the_numbers_of_the_worked_example(inputs, agree):
    torch.manual_seed(123)
    wrapper = multi_head.MultiHeadAttentionWrapper(3, 2, 6, 0.0, num_heads=2)
    found = wrapper(torch.stack([inputs, inputs]))
    expected = [
        [-0.4519, 0.2216, 0.4772, 0.1063],
        [-0.5874, 0.0058, 0.5891, 0.3257],
        [-0.6300, -0.0632, 0.6202, 0.3860],
        [-0.5675, -0.0843, 0.5478, 0.3589],
        [-0.5526, -0.0981, 0.5321, 0.3428],
        [-0.5299, -0.1081, 0.5077, 0.3493],
    ]
    what = "MultiHeadAttentionWrapper(3, 2, 6, 0.0, 2), seed 123"
    agree(found, [expected, expected], what, f"{HANDOUT}#stacking-heads")


def test_two_heads_of_one_column_give_two_columns(inputs, agree):
    torch.manual_seed(123)
    wrapper = multi_head.MultiHeadAttentionWrapper(3, 1, 6, 0.0, num_heads=2)
    found = wrapper(torch.stack([inputs, inputs]))[0]
    what = "the first and the last row with d_out=1"
    expected = [[-0.5740, 0.2216], [-0.6424, -0.1065]]
    agree(found[[0, -1]], expected, what, f"{HANDOUT}#stacking-heads")


def test_each_head_of_the_wrapper_fills_its_own_columns(batch, agree, holds):
    wrapper = multi_head.MultiHeadAttentionWrapper(3, 2, 6, 0.0, num_heads=3).eval()
    found = wrapper(batch)
    shape, look = tuple(found.shape), f"{HANDOUT}#stacking-heads"
    holds(shape == (2, 6, 6), "the shape with three heads of two columns", (2, 6, 6), shape, look)
    for number, head in enumerate(wrapper.heads):
        columns = found[..., 2 * number : 2 * number + 2]
        what = f"the columns of head {number + 1}"
        agree(columns, head(batch).detach(), what, look)


def test_multi_head_attention_gives_the_numbers_of_the_worked_example(inputs, agree):
    torch.manual_seed(123)
    attention = multi_head.MultiHeadAttention(3, 2, 6, 0.0, num_heads=2)
    found = attention(torch.stack([inputs, inputs]))
    expected = [
        [0.3190, 0.4858],
        [0.2943, 0.3897],
        [0.2856, 0.3593],
        [0.2693, 0.3873],
        [0.2639, 0.3928],
        [0.2575, 0.4028],
    ]
    what = "MultiHeadAttention(3, 2, 6, 0.0, 2), seed 123"
    agree(found, [expected, expected], what, f"{HANDOUT}#output-projection")


def test_multi_head_attention_has_its_layers(holds):
    attention = multi_head.MultiHeadAttention(7, 6, 11, 0.0, num_heads=3)
    found = {path: tuple(weight.shape) for path, weight in attention.named_parameters()}
    expected = {f"W_{role}.weight": (6, 7) for role in ("query", "key", "value")}
    expected |= {"out_proj.weight": (6, 6), "out_proj.bias": (6,)}
    look = f"{HANDOUT}#parameters-and-buffers"
    holds(found == expected, "parameters of MultiHeadAttention(7, 6, ...)", expected, found, look)


def test_a_later_token_cannot_change_an_earlier_output(batch, agree):
    attention = multi_head.MultiHeadAttention(3, 6, 11, 0.0, num_heads=3).eval()
    expected = attention(batch)[:, :3].detach()
    changed = batch.clone()
    changed[:, 3:] += 5.0
    look = f"{HANDOUT}#attention-inside-each-head"
    agree(attention(changed)[:, :3], expected, "the first three outputs", look)


def test_scores_are_divided_by_the_root_of_the_size_of_one_head(agree):
    attention = multi_head.MultiHeadAttention(8, 8, 2, 0.0, num_heads=2).eval()
    for parameter in attention.parameters():
        parameter.data.copy_(torch.eye(8) if parameter.dim() == 2 else torch.zeros(8))
    # Token 2 scores 2 with itself in the first head, 4 in the second, and 0 with token 1 in both.
    # Heads have 4 columns: divided by the root of 4 that is 1 and 2.
    tokens = torch.tensor([[0, 1.0, 0, 0, 0, 1.0, 0, 0], [2.0**0.5, 0, 0, 0, 2.0, 0, 0, 0]])
    found = attention(tokens.unsqueeze(0))
    expected = [0, 1.0, 0, 0, 0, 1.0, 0, 0], [1.0339, 0.2689, 0, 0, 1.7616, 0.1192, 0, 0]
    what = "MultiHeadAttention(8, 8, 2, 0.0, 2), all weights the identity"
    agree(found, [expected], what, f"{HANDOUT}#scaling")


@pytest.mark.parametrize("num_heads", [1, 2, 3, 6])
@pytest.mark.parametrize("num_tokens", [1, 5])
def test_other_sizes_work(batch, num_heads, num_tokens, holds):
    attention = multi_head.MultiHeadAttention(3, 6, 11, 0.0, num_heads=num_heads)
    found, expected = tuple(attention(batch[:, :num_tokens]).shape), (2, num_tokens, 6)
    what = f"the shape for {num_heads} heads and {num_tokens} tokens"
    holds(found == expected, what, expected, found, f"{HANDOUT}#shapes-and-sizes")


def test_heads_that_cannot_share_the_output_evenly_are_refused(holds):
    try:
        multi_head.MultiHeadAttention(3, 5, 6, 0.0, num_heads=2)
    except (ValueError, AssertionError):
        return
    what = "two heads for d_out = 5, at MultiHeadAttention's construction"
    holds(False, what, "ValueError", "no error", f"{HANDOUT}#splitting")


def test_dropout_acts_in_training_and_not_in_evaluation(batch, holds):
    torch.manual_seed(5)
    attention = multi_head.MultiHeadAttention(3, 4, 6, 0.5, num_heads=2)
    look = f"{HANDOUT}#attention-inside-each-head"
    for mode, expected in (("training", "different"), ("evaluation", "the same")):
        attention.train(mode == "training")
        equal = torch.equal(attention(batch), attention(batch))
        found = "the same" if equal else "different"
        holds(found == expected, f"two outputs in {mode}, dropout 0.5", expected, found, look)


@pytest.mark.parametrize("qkv_bias", [False, True])
def test_merge_heads_computes_what_the_wrapper_computes(batch, agree, holds, qkv_bias):
    torch.manual_seed(6)
    wrapper = multi_head.MultiHeadAttentionWrapper(3, 2, 6, 0.0, 3, qkv_bias=qkv_bias).eval()
    expected = wrapper(batch).detach()
    merged = multi_head.merge_heads(wrapper).eval()
    look = f"{HANDOUT}#two-ways-to-write-one-thing"
    right, kind = isinstance(merged, multi_head.MultiHeadAttention), type(merged).__name__
    holds(right, "what merge_heads returns", "MultiHeadAttention", kind, look)
    agree(merged(batch), expected, "the merged heads", look)
    agree(wrapper(batch), expected, "the wrapper after merging", look)


def test_gpt2_attention_has_the_sizes_of_the_smallest_gpt2(holds):
    attention = multi_head.gpt2_attention()
    weights = sum(each.numel() for each in attention.parameters())
    bias = sum(each.numel() for path, each in attention.named_parameters() if "W_" in path)
    bias -= 3 * 768 * 768
    found, look = weights - bias, f"{HANDOUT}#gpt-2"
    holds(found == 2_360_064, "parameters but for biases of q, k, v", 2_360_064, found, look)
    shape = tuple(attention(torch.zeros(1, 2, 768)).shape)
    holds(shape == (1, 2, 768), "the shape for two tokens", (1, 2, 768), shape, look)
    whole = tuple(attention.requires_grad_(False)(torch.zeros(1, 1024, 768)).shape)
    holds(whole == (1, 1024, 768), "the shape for 1024 tokens", (1, 1024, 768), whole, look)


@pytest.mark.parametrize("num_tokens", [1, 4])
def test_the_wrapper_takes_other_numbers_of_tokens_and_sequences(inputs, holds, num_tokens):
    wrapper = multi_head.MultiHeadAttentionWrapper(3, 2, 6, 0.0, num_heads=2)
    found = tuple(wrapper(inputs[:num_tokens].repeat(3, 1, 1)).shape)
    what = f"the shape for a batch of three with {num_tokens} tokens"
    expected = (3, num_tokens, 4)
    holds(found == expected, what, expected, found, f"{HANDOUT}#stacking-heads")


def test_all_heads_are_done_at_once_without_a_loop(batch, calls_of, holds):
    few, many = (
        len(calls_of(multi_head.MultiHeadAttention(3, 8, 6, 0.0, num_heads=heads).eval(), batch))
        for heads in (2, 8)
    )
    what = "calls of PyTorch in MultiHeadAttention for 8 heads"
    holds(many == few, what, f"{few}, as many as for 2 heads", many, f"{HANDOUT}#splitting")


@pytest.mark.parametrize("role", ["W_query", "W_key", "W_value", "out_proj"])
def test_each_weight_matters(role, batch, holds):
    torch.manual_seed(4)
    attention = multi_head.MultiHeadAttention(3, 4, 6, 0.0, num_heads=2)
    before = attention(batch).detach().clone()
    dict(attention.named_parameters())[f"{role}.weight"].data.mul_(-4.0)
    found = "the same" if torch.allclose(attention(batch), before, atol=1e-6) else "different"
    what = f"the output after {role} of MultiHeadAttention was changed"
    look = f"{HANDOUT}#one-projection-for-all-heads"
    holds(found == "different", what, "different", found, look)


def test_the_batch_stays_as_it_was(batch, agree):
    before = batch.clone()
    multi_head.MultiHeadAttention(3, 4, 6, 0.0, num_heads=2)(batch)
    look = f"{HANDOUT}#shapes-and-sizes"
    agree(batch, before, "the batch after MultiHeadAttention", look)


def test_a_mask_that_is_kept_is_a_buffer(holds):
    attention = multi_head.MultiHeadAttention(3, 4, 6, 0.0, num_heads=2)
    plain = [
        name
        for name, value in vars(attention).items()
        if isinstance(value, torch.Tensor) and value.dim() > 1
    ]
    what = "tensors that are plain attributes of MultiHeadAttention"
    holds(not plain, what, "none", ", ".join(plain), f"{HANDOUT}#parameters-and-buffers")


def test_dropout_takes_whole_weights_of_a_head(holds):
    # A single token has one weight in each head, 1: the head's two columns go or stay together.
    torch.manual_seed(7)
    attention = multi_head.MultiHeadAttention(3, 4, 6, 0.5, num_heads=2).train()
    attention.out_proj.weight.data.copy_(torch.eye(4))
    attention.out_proj.bias.data.zero_()
    heads = attention(torch.ones(64, 1, 3)).reshape(64, 2, 2)
    zeros = (heads == 0).sum(dim=-1).flatten().tolist()
    found = f"{sorted(set(zeros))} of 2 numbers are zero, over 64 sequences"
    what = "a head's columns for single tokens in training, dropout 0.5"
    look = f"{HANDOUT}#attention-inside-each-head"
    holds(set(zeros) == {0, 2}, what, "either none or both are zero", found, look)
