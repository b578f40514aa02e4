"""Projections by tensordot into (b, T, H, d_k) directly."""
import torch
import torch.nn as nn

from .causal import CausalAttention


class MultiHeadAttentionWrapper(nn.Module):

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.sizes = (d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0, (d_out, num_heads)
        self.num_heads = num_heads
        self.d_k = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.full((context_length, context_length), float("-inf")).triu(1))

    def _project(self, x, layer):
        weight = layer.weight.view(self.num_heads, self.d_k, -1)
        y = torch.tensordot(x, weight, dims=([2], [2]))      # (b, T, H, d_k)
        if layer.bias is not None:
            y = y + layer.bias.view(self.num_heads, self.d_k)
        return y.movedim(2, 1)

    def forward(self, x):
        n = x.shape[1]
        q = self._project(x, self.W_query)
        k = self._project(x, self.W_key)
        v = self._project(x, self.W_value)
        scores = q @ k.transpose(-1, -2) / self.d_k ** 0.5 + self.mask[:n, :n]
        weights = self.dropout(scores.softmax(-1))
        context = (weights @ v).movedim(1, 2)               # (b, T, H, d_k)
        out = self.out_proj.weight.view(-1, self.num_heads, self.d_k)
        return torch.tensordot(context, out, dims=([2, 3], [1, 2])) + self.out_proj.bias


def merge_heads(wrapper):
    d_in, d_out, context_length, dropout, num_heads, qkv_bias = wrapper.sizes
    merged = MultiHeadAttention(
        d_in, num_heads * d_out, context_length, dropout, num_heads, qkv_bias
    )
    with torch.no_grad():
        for name in ("W_query", "W_key", "W_value"):
            layers = [getattr(head, name) for head in wrapper.heads]
            getattr(merged, name).weight.copy_(torch.cat([layer.weight for layer in layers]))
            if qkv_bias:
                getattr(merged, name).bias.copy_(torch.cat([layer.bias for layer in layers]))
        merged.out_proj.weight.copy_(torch.eye(num_heads * d_out))
        merged.out_proj.bias.zero_()
    return merged


def gpt2_attention():
    return MultiHeadAttention(
        d_in=768, d_out=768, context_length=1024, dropout=0.0, num_heads=12, qkv_bias=False
    )
