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
        assert d_out % num_heads == 0, "heads must divide d_out"
        self.num_heads, self.head_dim, self.d_out = num_heads, d_out // num_heads, d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("simple_mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x):
        b, n, _ = x.shape
        shape = (b, n, self.num_heads, self.head_dim)
        queries = self.W_query(x).view(shape).transpose(1, 2)
        keys = self.W_key(x).view(shape).transpose(1, 2)
        values = self.W_value(x).view(shape).transpose(1, 2)
        weights = torch.softmax(queries @ keys.transpose(2, 3) / self.head_dim ** 0.5, dim=-1)
        weights = weights * self.simple_mask[:n, :n]
        context = (self.dropout(weights) @ values).transpose(1, 2).reshape(b, n, self.d_out)
        return self.out_proj(context)


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
    return MultiHeadAttention(768, 768, 1024, 0.1, 12, qkv_bias=True)
