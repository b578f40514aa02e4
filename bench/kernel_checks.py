"""Checks as a teacher writes them into a notebook, to be run in the student's own kernel.

They ask in spirit what the hidden checks ask: values, shapes, causality, dropout, state. Each is a
function of the student's names, so that one text serves every grader of notebooks. Nothing here
may use anything of the kit; torch is imported by whoever runs them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch


def check_scores(attention_scores: Any) -> None:
    """Scores are dot products of the query with every input."""
    torch.manual_seed(1)
    inputs = torch.randn(6, 3)
    assert torch.allclose(attention_scores(inputs[1], inputs), inputs @ inputs[1], atol=1e-5)


def check_softmax(softmax: Any) -> None:
    """Softmax over the last dimension, finite for large scores."""
    torch.manual_seed(2)
    scores = torch.randn(5, 7) * 3
    assert torch.allclose(softmax(scores), torch.softmax(scores, dim=-1), atol=1e-5)
    assert torch.isfinite(softmax(torch.tensor([900.0, -900.0, 1000.0]))).all()


def check_context_vectors(attention_weights: Any, context_vectors: Any) -> None:
    """Weights whose rows sum to one, and the inputs weighted by them."""
    torch.manual_seed(3)
    inputs = torch.randn(8, 4)
    weights = torch.softmax(inputs @ inputs.T, dim=-1)
    assert torch.allclose(attention_weights(inputs), weights, atol=1e-5)
    assert torch.allclose(context_vectors(inputs), weights @ inputs, atol=1e-5)


def check_self_attention(SelfAttention_v1: Any) -> None:
    """Scaled dot-product attention of the module's own parameters."""
    torch.manual_seed(4)
    tokens = torch.randn(6, 3)
    module = SelfAttention_v1(3, 4)
    q, k, v = tokens @ module.W_query, tokens @ module.W_key, tokens @ module.W_value
    expected = torch.softmax(q @ k.T / 4**0.5, dim=-1) @ v
    assert torch.allclose(module(tokens), expected, atol=1e-5)


def check_linear_self_attention(SelfAttention_v2: Any) -> None:
    """The same with linear layers; biases and gradients reach every parameter."""
    torch.manual_seed(5)
    tokens = torch.randn(5, 3)
    module = SelfAttention_v2(3, 2, qkv_bias=True)
    q, k, v = module.W_query(tokens), module.W_key(tokens), module.W_value(tokens)
    expected = torch.softmax(q @ k.T / 2**0.5, dim=-1) @ v
    assert torch.allclose(module(tokens), expected, atol=1e-5)
    module(tokens).sum().backward()
    assert all(parameter.grad is not None for parameter in module.parameters())


def check_copied_weights(SelfAttention_v1: Any, SelfAttention_v2: Any, copy_weights: Any) -> None:
    """After copying, both modules give the same output."""
    torch.manual_seed(6)
    tokens = torch.randn(6, 3)
    source, target = SelfAttention_v2(3, 2), SelfAttention_v1(3, 2)
    copy_weights(source, target)
    assert torch.allclose(source(tokens), target(tokens), atol=1e-5)


def check_masks(causal_mask: Any, renormalized_weights: Any, masked_weights: Any) -> None:
    """The mask, and the two ways to weights that know no future."""
    torch.manual_seed(7)
    scores = torch.randn(5, 5)
    hidden = torch.ones(5, 5).triu(1).bool()
    expected = torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1)
    assert torch.equal(causal_mask(5), hidden)
    assert torch.allclose(renormalized_weights(scores), expected, atol=1e-5)
    assert torch.allclose(masked_weights(scores), expected, atol=1e-5)


def check_causality(CausalAttention: Any) -> None:
    """Outputs do not move when later tokens change; any length up to the context's."""
    torch.manual_seed(8)
    module = CausalAttention(3, 4, 9, 0.0).eval()
    tokens = torch.randn(2, 6, 3)
    changed = tokens.clone()
    changed[:, 4:] += 1.0
    assert module(tokens).shape == (2, 6, 4)
    assert torch.allclose(module(tokens)[:, :4], module(changed)[:, :4], atol=1e-5)
    assert torch.allclose(module(tokens)[:, 0], module.W_value(tokens)[:, 0], atol=1e-5)


def check_causal_values(CausalAttention: Any) -> None:
    """Masked, scaled attention of the module's own layers."""
    torch.manual_seed(9)
    module = CausalAttention(3, 4, 6, 0.0, qkv_bias=True).eval()
    tokens = torch.randn(2, 6, 3)
    q, k, v = module.W_query(tokens), module.W_key(tokens), module.W_value(tokens)
    scores = (q @ k.transpose(1, 2) / 4**0.5).masked_fill(
        torch.ones(6, 6).triu(1).bool(), float("-inf")
    )
    assert torch.allclose(module(tokens), torch.softmax(scores, dim=-1) @ v, atol=1e-5)


def check_dropout(CausalAttention: Any) -> None:
    """Dropout of the weights while training, none afterwards."""
    torch.manual_seed(10)
    module = CausalAttention(3, 4, 6, 0.5)
    tokens = torch.randn(2, 6, 3)
    assert not torch.allclose(module(tokens), module(tokens))
    module.eval()
    assert torch.allclose(module(tokens), module(tokens))


def check_wrapper(MultiHeadAttentionWrapper: Any) -> None:
    """Heads side by side."""
    torch.manual_seed(11)
    module = MultiHeadAttentionWrapper(3, 2, 6, 0.0, num_heads=3).eval()
    tokens = torch.randn(2, 6, 3)
    expected = torch.cat([head(tokens) for head in module.heads], dim=-1)
    assert torch.allclose(module(tokens), expected, atol=1e-5)


def check_multi_head(MultiHeadAttention: Any) -> None:
    """Contiguous heads, one output projection, and no width that cannot be split."""
    torch.manual_seed(12)
    module = MultiHeadAttention(6, 8, 7, 0.0, num_heads=2).eval()
    tokens = torch.randn(2, 5, 6)
    q, k, v = (
        layer(tokens).view(2, 5, 2, 4).transpose(1, 2)
        for layer in (module.W_query, module.W_key, module.W_value)
    )
    scores = (q @ k.transpose(2, 3) / 4**0.5).masked_fill(
        torch.ones(5, 5).triu(1).bool(), float("-inf")
    )
    context = (torch.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(2, 5, 8)
    assert torch.allclose(module(tokens), module.out_proj(context), atol=1e-5)
    try:
        MultiHeadAttention(6, 8, 7, 0.0, num_heads=3)
    except (AssertionError, ValueError):
        return
    raise AssertionError("a width of 8 was split across 3 heads")


CHECKS: tuple[Callable[..., None], ...] = (
    check_scores,
    check_softmax,
    check_context_vectors,
    check_self_attention,
    check_linear_self_attention,
    check_copied_weights,
    check_masks,
    check_causality,
    check_causal_values,
    check_dropout,
    check_wrapper,
    check_multi_head,
)


def source_of(check: Callable[..., None]) -> str:
    """A check as text, free of names that a kernel does not have."""
    return inspect.getsource(check).replace(": Any", "")


def call_of(check: Callable[..., None]) -> str:
    """The line that calls it with the student's names."""
    return f"{check.__name__}({', '.join(inspect.signature(check).parameters)})"
