"""MultiHeadAttention builds on CausalAttention of stage 3 (its layers and its mask are reused)."""
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


class MultiHeadAttention(CausalAttention):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        super().__init__(d_in, d_out, context_length, dropout, qkv_bias)
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        b, num_tokens, _ = x.shape
        split = (b, num_tokens, self.num_heads, self.head_dim)
        keys = self.W_key(x).reshape(split).transpose(1, 2)
        queries = self.W_query(x).reshape(split).transpose(1, 2)
        values = self.W_value(x).reshape(split).transpose(1, 2)
        scores = queries @ keys.transpose(2, 3)
        scores = scores.masked_fill(self.mask.bool()[:num_tokens, :num_tokens], -torch.inf)
        weights = self.dropout(torch.softmax(scores / self.head_dim ** 0.5, dim=-1))
        context = (weights @ values).transpose(1, 2).reshape(b, num_tokens, -1)
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
    return MultiHeadAttention(
        d_in=768, d_out=768, context_length=1024, dropout=0.0, num_heads=12, qkv_bias=False
    )
