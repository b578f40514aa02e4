"""A big number is subtracted where a token must not look."""
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
        assert d_out % num_heads == 0, "d_out must be divisible by num_heads"
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1) * 1e9, persistent=False)

    def forward(self, x):
        b, n, _ = x.shape
        q = self.W_query(x).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        scores = q @ k.transpose(2, 3) / self.head_dim ** 0.5 - self.mask[:n, :n]
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return self.out_proj((weights @ v).transpose(1, 2).reshape(b, n, -1))


def merge_heads(wrapper):
    d_in, d_out, context_length, p, H, bias = wrapper.sizes
    big = MultiHeadAttention(d_in, d_out * H, context_length, p, H, bias)
    for kind in ["weight", "bias"] if bias else ["weight"]:
        for role in ["W_query", "W_key", "W_value"]:
            blocks = torch.stack([getattr(getattr(head, role), kind).detach() for head in wrapper.heads])
            setattr(getattr(big, role), kind, nn.Parameter(blocks.flatten(0, 1)))
    big.out_proj.weight = nn.Parameter(torch.eye(d_out * H, dtype=big.W_query.weight.dtype))
    big.out_proj.bias = nn.Parameter(torch.zeros(d_out * H, dtype=big.W_query.weight.dtype))
    return big.train(wrapper.training)


def gpt2_attention():
    return MultiHeadAttention(768, 768, 1024, 0.0, 12, True)
