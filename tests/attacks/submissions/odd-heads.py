"""Keeps as heads numbers, texts, itself, and lists that never end."""

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

class Endless(list):
    def __iter__(self):
        while True:
            yield nn.Linear(3, 3)

    __len__ = lambda self: 1 << 40


class MultiHeadAttentionWrapper(nn.Module):
    turn = 0

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        turn = MultiHeadAttentionWrapper.turn = MultiHeadAttentionWrapper.turn + 1
        kinds = (
            [1, "two", None],
            nn.ModuleList([nn.Linear(d_in, d_out)] * num_heads),
            {"0": self, "1": self, "2": self},
            Endless([nn.Linear(d_in, d_out)] * num_heads),
            nn.ModuleDict({str(n): nn.Linear(1, 1) for n in range(num_heads)}),
            (nn.Linear(d_in, d_out) for _ in range(num_heads)),
        )
        self.__dict__["heads"] = kinds[turn % 6]
        self.__dict__["_modules"] = {"heads": kinds[turn % 6]} if turn % 5 else self.__dict__

    def forward(self, x):
        return torch.cat([x, x, x], dim=-1)


def merge_heads(wrapper):
    wrapper.__dict__.clear()
    return wrapper
