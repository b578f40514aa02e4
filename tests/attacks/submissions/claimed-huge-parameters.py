"""Has parameters that claim a shape of 2 to the 40 numbers."""

import torch
from torch import nn


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        scores = self.W_query(x) @ self.W_key(x).T
        return torch.softmax(scores, dim=-1) @ self.W_value(x)


# ---- the attack ----

def vast(*shape):
    return nn.Parameter(torch.zeros(1).expand(*shape), requires_grad=False)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        for name in ("W_query", "W_key", "W_value", "out_proj"):
            layer = nn.Linear(d_in, d_out, bias=False)
            layer.register_parameter("bias", vast(1 << 24))
            if name == "out_proj":
                layer.weight = vast(1 << 24, 1 << 16)
            setattr(self, name, layer)
        self.register_buffer("mask", torch.zeros(1).expand(1 << 24, 1 << 24))

    def forward(self, x):
        return x


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList([Head(d_in, d_out) for _ in range(num_heads)])

    def forward(self, x):
        return x


class Head(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out) for _ in range(3))


def merge_heads(wrapper):
    return MultiHeadAttention(7, 15, 11, 0.0, 3)


def gpt2_attention():
    return MultiHeadAttention(768, 768, 1024, 0.0, 12)
