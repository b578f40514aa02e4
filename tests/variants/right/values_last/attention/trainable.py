"""Layers made in the order value, query, key; weights times x first, then the value projection."""
import torch
from torch import nn
from torch.nn import functional as F


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_value = nn.Parameter(torch.randn(d_in, d_out))
        self.W_query = nn.Parameter(torch.randn(d_in, d_out))
        self.W_key = nn.Parameter(torch.randn(d_in, d_out))
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x):
        d_k = self.W_key.size(1)
        bilinear = self.W_query @ self.W_key.T / d_k ** 0.5     # (d_in, d_in)
        weights = self.softmax(x @ bilinear @ x.T)
        return (weights @ x) @ self.W_value


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x):
        q, k = self.W_query(x), self.W_key(x)
        weights = self.softmax(F.linear(q, k) * k.shape[1] ** -0.5)
        # rows sum to 1, so the bias of the values comes out once
        return self.W_value(weights @ x)


def copy_weights(source, target):
    for name in "W_query W_key W_value".split():
        getattr(target, name).data[...] = getattr(source, name).weight.data.T
