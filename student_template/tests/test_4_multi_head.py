"""Stage 4 against the worked example of handouts/4_multi_head.md.

Seeded numbers hold only for layers that are made in the order query, key, value, output. Another
order is not wrong: the hidden checks set your weights by name.
"""

import pytest
import torch
from torch import nn

from attention import causal, multi_head

HANDOUT = "4_multi_head.md"


def test_the_wrapper_holds_its_heads_in_a_module_list():
    wrapper = multi_head.MultiHeadAttentionWrapper(3, 2, 6, 0.0, num_heads=2)
    assert isinstance(wrapper.heads, nn.ModuleList), f"see {HANDOUT}#parameters-and-buffers"
    assert [type(head) for head in wrapper.heads] == [causal.CausalAttention] * 2


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


def test_each_head_of_the_wrapper_fills_its_own_columns(batch, agree):
    wrapper = multi_head.MultiHeadAttentionWrapper(3, 2, 6, 0.0, num_heads=3).eval()
    found = wrapper(batch)
    assert found.shape == (2, 6, 6), f"see {HANDOUT}#stacking-heads"
    for number, head in enumerate(wrapper.heads):
        columns = found[..., 2 * number : 2 * number + 2]
        what = f"the columns of head {number + 1}"
        agree(columns, head(batch).detach(), what, f"{HANDOUT}#stacking-heads")


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


def test_multi_head_attention_has_its_layers():
    attention = multi_head.MultiHeadAttention(7, 6, 11, 0.0, num_heads=3)
    found = {path: tuple(weight.shape) for path, weight in attention.named_parameters()}
    expected = {f"W_{role}.weight": (6, 7) for role in ("query", "key", "value")}
    expected |= {"out_proj.weight": (6, 6), "out_proj.bias": (6,)}
    assert found == expected, f"see {HANDOUT}#parameters-and-buffers"


def test_a_later_token_cannot_change_an_earlier_output(batch, agree):
    attention = multi_head.MultiHeadAttention(3, 6, 11, 0.0, num_heads=3).eval()
    expected = attention(batch)[:, :3].detach()
    changed = batch.clone()
    changed[:, 3:] += 5.0
    look = f"{HANDOUT}#attention-inside-each-head"
    agree(attention(changed)[:, :3], expected, "the first three outputs", look)


@pytest.mark.parametrize("num_heads", [1, 2, 3, 6])
@pytest.mark.parametrize("num_tokens", [1, 5])
def test_other_sizes_work(batch, num_heads, num_tokens):
    attention = multi_head.MultiHeadAttention(3, 6, 11, 0.0, num_heads=num_heads)
    assert attention(batch[:, :num_tokens]).shape == (2, num_tokens, 6)


def test_heads_that_cannot_share_the_output_evenly_are_refused():
    with pytest.raises((ValueError, AssertionError)):
        multi_head.MultiHeadAttention(3, 5, 6, 0.0, num_heads=2)


def test_dropout_acts_in_training_and_not_in_evaluation(batch):
    torch.manual_seed(5)
    attention = multi_head.MultiHeadAttention(3, 4, 6, 0.5, num_heads=2)
    look = f"{HANDOUT}#attention-inside-each-head"
    attention.train()
    assert not torch.equal(attention(batch), attention(batch)), f"nothing is dropped: {look}"
    attention.eval()
    assert torch.equal(attention(batch), attention(batch)), f"dropout in evaluation: {look}"


@pytest.mark.parametrize("qkv_bias", [False, True])
def test_merge_heads_computes_what_the_wrapper_computes(batch, agree, qkv_bias):
    torch.manual_seed(6)
    wrapper = multi_head.MultiHeadAttentionWrapper(3, 2, 6, 0.0, 3, qkv_bias=qkv_bias).eval()
    expected = wrapper(batch).detach()
    merged = multi_head.merge_heads(wrapper).eval()
    look = f"{HANDOUT}#two-ways-to-write-one-thing"
    assert isinstance(merged, multi_head.MultiHeadAttention), f"see {look}"
    agree(merged(batch), expected, "the merged heads", look)
    agree(wrapper(batch), expected, "the wrapper after merging", look)


def test_gpt2_attention_has_the_sizes_of_the_smallest_gpt2():
    attention = multi_head.gpt2_attention()
    weights = sum(each.numel() for each in attention.parameters())
    bias = sum(each.numel() for path, each in attention.named_parameters() if "W_" in path)
    bias -= 3 * 768 * 768
    assert weights - bias == 2_360_064, f"see {HANDOUT}#gpt-2"
    assert attention(torch.zeros(1, 2, 768)).shape == (1, 2, 768)
