"""torch.vmap over the dimension of the heads."""
import torch
import torch.nn as nn

from .causal import CausalAttention


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.sizes = (d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.d_out = d_out
        self.heads = nn.ModuleList()
        for h in range(num_heads):
            self.heads.add_module(str(h), CausalAttention(d_in, d_out, context_length, dropout, qkv_bias))

    def forward(self, x):
        out = x.new_empty(x.shape[0], x.shape[1], len(self.heads) * self.d_out)
        for h, head in enumerate(self.heads):
            out[..., h * self.d_out : (h + 1) * self.d_out] = head(x)
        return out


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0, "d_out must be divisible by num_heads"
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1).bool())

    def one_head(self, q, k, v, mask):
        scores = q @ k.transpose(1, 2) / self.head_dim ** 0.5
        weights = torch.softmax(scores.masked_fill(mask, -torch.inf), dim=-1)
        return nn.functional.dropout(weights, self.dropout.p, self.training) @ v

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (f(x).view(b, n, self.num_heads, self.head_dim) for f in (self.W_query, self.W_key, self.W_value))
        attend = torch.vmap(self.one_head, in_dims=(2, 2, 2, None), out_dims=2, randomness="different")
        return self.out_proj(attend(q, k, v, self.mask[:n, :n]).flatten(2))


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
    return MultiHeadAttention(768, 768, 1024, 0.0, 12, True)
