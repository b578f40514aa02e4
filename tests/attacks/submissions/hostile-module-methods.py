"""Overrides train, double, to and __call__ with traps."""

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

import os


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (
            nn.Parameter(torch.rand(d_in, d_out)) for _ in range(3)
        )

    def train(self, mode=True):
        raise KeyboardInterrupt

    def double(self):
        os._exit(3)

    def __call__(self, *args):
        return torch.zeros(args[0].shape[0], self.W_query.shape[1])


class SelfAttention_v2(SelfAttention_v2):
    def double(self):
        self.W_query = None
        return 7

    def _apply(self, function):
        return self

    def __getattr__(self, name):
        found = super().__getattr__(name)
        return found if name.startswith("W_") else self

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
