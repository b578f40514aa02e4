"""The solutions keep every promise that they are judged by: the reference has to be right."""

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import nn

from tests.conftest import ROOT

FOLDER = ROOT / "solutions" / "attention"
HANDOUTS = ROOT / "assignments" / "attention"
SIZES = {"d_in": 7, "d_out": 15, "context_length": 11}
LARGE = 1000.0
SENTENCE = [
    [0.43, 0.15, 0.89],
    [0.55, 0.87, 0.66],
    [0.57, 0.85, 0.64],
    [0.22, 0.58, 0.33],
    [0.77, 0.25, 0.10],
    [0.05, 0.80, 0.55],
]


@pytest.fixture(scope="module")
def attention() -> ModuleType:
    """The solutions as a package of a private name; three folders here are called `attention`."""
    spec = spec_from_file_location(
        "_solutions", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
    )
    assert spec is not None
    assert spec.loader is not None
    package = module_from_spec(spec)
    sys.modules["_solutions"] = package
    spec.loader.exec_module(package)
    for stage in ("simplified", "trainable", "causal", "multi_head"):
        __import__(f"_solutions.{stage}")
    return package


def numbers(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(17), dtype=dtype)


def every_class(attention: ModuleType, dropout: float = 0.0) -> list[nn.Module]:
    heads = {**SIZES, "dropout": dropout, "num_heads": 3}
    return [
        attention.trainable.SelfAttention_v1(7, 15),
        attention.trainable.SelfAttention_v2(7, 15, qkv_bias=True),
        attention.causal.CausalAttention(**SIZES, dropout=dropout, qkv_bias=True),
        attention.multi_head.MultiHeadAttentionWrapper(**heads, qkv_bias=True),
        attention.multi_head.MultiHeadAttention(**heads, qkv_bias=True),
    ]


def tokens_for(module: nn.Module, num_tokens: int, dtype: torch.dtype) -> torch.Tensor:
    batch = () if type(module).__name__.startswith("Self") else (2,)
    return numbers(*batch, num_tokens, 7, dtype=dtype)


def without_links(handout: Path) -> str:
    """A handout's text; the number of a paper in a link is none that anybody computes."""
    text = handout.read_text(encoding="utf-8")
    return re.sub(r"https?://[^\s)]+|arXiv:[\d.]+", "", text)


def test_every_number_in_a_handout_is_computed_by_the_solutions(attention: ModuleType) -> None:
    printed = {
        (handout.name, number)
        for handout in HANDOUTS.glob("*.md")
        for number in re.findall(r"-?\d+\.\d{4}", without_links(handout))
    }
    computed = {
        f"{number:.4f}"
        for tensor in worked_example(attention)
        for number in tensor.detach().flatten().tolist()
    }
    assert len(printed) > 100
    assert {each for each in printed if each[1] not in computed} == set()


def worked_example(attention: ModuleType) -> list[torch.Tensor]:
    """All that the handouts show numbers of."""
    simplified, trainable = attention.simplified, attention.trainable
    inputs = torch.tensor(SENTENCE)
    batch = torch.stack([inputs, inputs])
    scores = simplified.attention_scores(inputs[1], inputs)
    weights = simplified.softmax(scores)

    torch.manual_seed(123)
    v1 = trainable.SelfAttention_v1(3, 2)
    queries, keys, values = (inputs @ each for each in (v1.W_query, v1.W_key, v1.W_value))
    v1_scores = queries @ keys.T
    torch.manual_seed(789)
    v2 = trainable.SelfAttention_v2(3, 2)
    v2_scores = v2.W_query(inputs) @ v2.W_key(inputs).T / 2**0.5

    shown = [scores, weights, weights.sum(), simplified.context_vectors(inputs)]
    shown += [queries[1], keys[1], values[1], v1_scores[1], v1(inputs), v2(inputs)]
    shown += [torch.softmax(v1_scores[1] / 2**0.5, dim=-1)]
    shown += [torch.softmax(v2_scores, dim=-1).tril().sum(dim=-1)]
    shown += [attention.causal.masked_weights(v2_scores)]
    heads = attention.multi_head
    for build in (
        lambda: attention.causal.CausalAttention(3, 2, 6, 0.0),
        lambda: heads.MultiHeadAttentionWrapper(3, 2, 6, 0.0, 2),
        lambda: heads.MultiHeadAttentionWrapper(3, 1, 6, 0.0, 2),
        lambda: heads.MultiHeadAttention(3, 2, 6, 0.0, 2),
    ):
        torch.manual_seed(123)
        shown.append(build()(batch)[0])
    return shown


@pytest.mark.parametrize("num_tokens", [1, 6, 11])
def test_classes_work_in_double_precision_for_every_length(
    attention: ModuleType, num_tokens: int
) -> None:
    for module in every_class(attention):
        tokens = tokens_for(module, num_tokens, torch.float64)
        before = tokens.clone()
        found = module.double()(tokens)
        assert found.dtype == torch.float64
        assert found.shape[-2] == num_tokens
        assert torch.equal(tokens, before)
        assert torch.equal(module(tokens), found)


def test_every_parameter_has_a_gradient_but_the_keys_bias_a_nonzero_one(
    attention: ModuleType,
) -> None:
    for module in every_class(attention):
        found = module.double()(tokens_for(module, 3, torch.float64))
        (found * numbers(*found.shape)).sum().backward()
        for path, parameter in module.named_parameters():
            assert parameter.grad is not None, path
            if not path.endswith("W_key.bias"):
                assert parameter.grad.abs().max() > 1e-9, path


def test_large_scores_stay_finite_and_right(attention: ModuleType) -> None:
    scores = torch.tensor([[LARGE, -LARGE, 0.0], [LARGE, LARGE, 0.0], [-LARGE] * 3])
    expected = torch.softmax(scores.double(), dim=-1).float()
    assert torch.allclose(attention.simplified.softmax(scores), expected)
    masked = attention.causal.masked_weights(scores)
    assert torch.allclose(masked, torch.tensor([[1, 0, 0], [0.5, 0.5, 0], [1 / 3] * 3]))


def test_both_ways_to_mask_agree(attention: ModuleType) -> None:
    scores = numbers(6, 6) * 5
    masked = attention.causal.masked_weights(scores)
    assert torch.allclose(masked, attention.causal.renormalized_weights(scores))
    assert torch.equal(masked == 0, attention.causal.causal_mask(6))


def test_copied_weights_give_the_same_output_in_the_same_parameters(attention: ModuleType) -> None:
    source = attention.trainable.SelfAttention_v2(7, 5)
    target = attention.trainable.SelfAttention_v1(7, 5)
    parameters = list(target.parameters())
    attention.trainable.copy_weights(source, target)
    tokens = numbers(6, 7, dtype=torch.float32)
    assert torch.allclose(source(tokens), target(tokens), atol=1e-6)
    assert all(a is b for a, b in zip(parameters, target.parameters(), strict=True))
    assert all(parameter.requires_grad for parameter in parameters)


@pytest.mark.parametrize("qkv_bias", [False, True])
def test_merged_heads_are_a_module_of_their_own_that_gives_the_same_output(
    attention: ModuleType, qkv_bias: bool
) -> None:
    wrapper = attention.multi_head.MultiHeadAttentionWrapper(7, 5, 11, 0.3, 3, qkv_bias).double()
    merged = attention.multi_head.merge_heads(wrapper.eval())
    tokens = numbers(2, 6, 7)
    assert torch.allclose(merged(tokens), wrapper(tokens))
    assert merged.dropout.p == 0.3
    assert merged(numbers(2, 11, 7)).shape == (2, 11, 15)
    owned = {parameter.data_ptr() for parameter in merged.parameters()}
    assert owned.isdisjoint(parameter.data_ptr() for parameter in wrapper.parameters())


def test_multi_head_attention_is_torchs_own(attention: ModuleType) -> None:
    ours = attention.multi_head.MultiHeadAttention(15, 15, 11, 0.0, 3, qkv_bias=True).double()
    theirs = nn.MultiheadAttention(15, 3, batch_first=True, dtype=torch.float64)
    layers = [ours.W_query, ours.W_key, ours.W_value]
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([layer.weight for layer in layers]))
        theirs.in_proj_bias.copy_(torch.cat([layer.bias for layer in layers]))
        theirs.out_proj.load_state_dict(ours.out_proj.state_dict())
    tokens = numbers(2, 6, 15)
    later = attention.causal.causal_mask(6)
    expected, _ = theirs(tokens, tokens, tokens, attn_mask=later, need_weights=False)
    assert torch.allclose(ours(tokens), expected)


def test_heads_that_cannot_share_the_output_are_refused(attention: ModuleType) -> None:
    with pytest.raises(ValueError, match="4 heads cannot share 15 columns"):
        attention.multi_head.MultiHeadAttention(**SIZES, dropout=0.0, num_heads=4)


def test_dropout_falls_on_the_weights_for_each_sequence_and_head_anew(
    attention: ModuleType,
) -> None:
    # Heads of width T whose values are the one-hot tokens: the output is the attention weights.
    width, heads = 6, 2
    module = attention.multi_head.MultiHeadAttention(width, width * heads, width, 0.3, heads)
    with torch.no_grad():
        module.W_value.weight.copy_(torch.eye(width).repeat(heads, 1))
        module.out_proj.weight.copy_(torch.eye(width * heads))
        module.out_proj.bias.zero_()
    tokens = torch.eye(width).expand(2, width, width)
    kept = module.eval()(tokens)
    torch.manual_seed(3)
    dropped = module.train()(tokens)
    stayed = dropped != 0
    assert torch.allclose(dropped, torch.where(stayed, kept / 0.7, torch.zeros(())), atol=1e-6)
    # Sequence and head, then only the places that the mask leaves open.
    draws = stayed.unflatten(-1, (heads, width)).transpose(1, 2)[..., torch.ones(6, 6).tril() > 0]
    assert len({tuple(draw.tolist()) for draw in draws.reshape(4, -1)}) == 4


def test_gpt2_attention_has_the_parameters_of_the_smallest_gpt2(attention: ModuleType) -> None:
    module = attention.multi_head.gpt2_attention()
    assert sum(parameter.numel() for parameter in module.parameters()) == 2_360_064
