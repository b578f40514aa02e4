"""Changes shapes, types and names of its parameters from call to call."""

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

class SelfAttention_v2(SelfAttention_v2):
    turn = 0

    def forward(self, x):
        answer = super().forward(x)
        SelfAttention_v2.turn += 1
        other = (torch.rand(3), torch.rand(2, 2, 2), torch.zeros(0), torch.rand(5, 7).double())
        self.W_value.weight = nn.Parameter(other[self.turn % 4])
        if self.turn % 3 == 0:
            self.W_key = nn.Identity()
        return answer


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Linear(d_in, d_out, bias=qkv_bias))
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        answer = self.out_proj(self.W_value(x))
        for number, layer in enumerate(list(self.children())):
            layer.weight = nn.Parameter((torch.rand(3, 3), torch.rand(2), torch.rand(()))[number % 3])
            layer.double()
        return answer


def gpt2_attention():
    return MultiHeadAttention(768, 768, 1024, 0.0, 12)
