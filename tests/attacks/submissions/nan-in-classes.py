"""Is classes that hold the right layers and return nan."""

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

class Nothing(nn.Module):
    def __init__(self, d_in, d_out, context_length=0, dropout=0.0, num_heads=1, qkv_bias=False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (
            nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3)
        )
        self.d_out = d_out

    def forward(self, x):
        return torch.full((*x.shape[:-1], self.d_out), float("nan"))


class CausalAttention(Nothing):
    pass


class MultiHeadAttention(Nothing):
    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        self.out_proj = nn.Linear(self.d_out, self.d_out)
