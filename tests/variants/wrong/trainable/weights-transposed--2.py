import math

import torch
from torch import nn


def attend(q, k, v):
    scores = torch.einsum("qd,kd->qk", q, k) / math.sqrt(k.size(-1))
    return torch.einsum("qk,qd->kd", scores.softmax(dim=-1), v)


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Parameter(torch.randn(d_in, d_out))
        self.W_key = nn.Parameter(torch.randn(d_in, d_out))
        self.W_value = nn.Parameter(torch.randn(d_in, d_out))

    def forward(self, x):
        q, k, v = (torch.einsum("ti,io->to", x, w) for w in (self.W_query, self.W_key, self.W_value))
        return attend(q, k, v)


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        return attend(self.W_query(x), self.W_key(x), self.W_value(x))


@torch.no_grad()
def copy_weights(source, target):
    for name in ("W_query", "W_key", "W_value"):
        getattr(target, name).copy_(getattr(source, name).weight.t())
