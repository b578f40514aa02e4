import torch
import torch.nn as nn

from .simplified import softmax


class SelfAttention_v1(nn.Module):
    """x: (T, d_in) -> (T, d_out)"""

    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out)).data
        self.W_key = nn.Parameter(torch.rand(d_in, d_out)).data
        self.W_value = nn.Parameter(torch.rand(d_in, d_out)).data

    def forward(self, x):
        queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_value
        omega = queries @ keys.T           # (T, T)
        d_k = keys.shape[1]
        alpha = softmax(omega / d_k ** 0.5)
        return alpha @ values


class SelfAttention_v2(nn.Module):
    """Same thing with nn.Linear"""

    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        omega = queries @ keys.T
        d_k = keys.shape[1]
        alpha = softmax(omega / d_k ** 0.5)
        return alpha @ values


def copy_weights(source, target):
    with torch.no_grad():
        target.W_query.copy_(source.W_query.weight.T)
        target.W_key.copy_(source.W_key.weight.T)
        target.W_value.copy_(source.W_value.weight.T)
