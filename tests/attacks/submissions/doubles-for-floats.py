"""Returns numbers of another precision than its inputs."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.num_heads, self.head_dim = num_heads, d_out // num_heads

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (
            layer(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        scores = q @ k.transpose(2, 3) / self.head_dim**0.5
        context = torch.softmax(scores, dim=-1) @ v
        return self.out_proj(context.transpose(1, 2).reshape(b, t, -1))


# ---- the attack ----

class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x):
        return super().forward(x).double()


class CausalAttention(MultiHeadAttention):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, context_length, dropout, 1, qkv_bias)
        self.half()
