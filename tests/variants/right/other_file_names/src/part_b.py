"""Adds a batch dimension of one, attends with bmm, takes it away again."""
import math
import torch
import torch.nn as nn


def scaled_dot_product(q, k, v):
    q, k, v = q[None], k[None], v[None]
    w = torch.bmm(q, k.transpose(1, 2)).mul(1 / math.sqrt(q.shape[-1])).softmax(dim=2)
    return torch.bmm(w, v)[0]


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out, seed=None):
        super().__init__()
        if seed is not None:
            torch.manual_seed(seed)
        self.W_query = nn.Parameter(torch.empty(d_in, d_out).uniform_(-1, 1))
        self.W_key = nn.Parameter(torch.empty(d_in, d_out).uniform_(-1, 1))
        self.W_value = nn.Parameter(torch.empty(d_in, d_out).uniform_(-1, 1))

    def forward(self, x, verbose=False):
        if verbose:
            print("x:", x.shape)
        return scaled_dot_product(x @ self.W_query, x @ self.W_key, x @ self.W_value)


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False, seed=None):
        super().__init__()
        if seed is not None:
            torch.manual_seed(seed)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x, verbose=False):
        if verbose:
            print("x:", x.shape)
        return scaled_dot_product(self.W_query(x), self.W_key(x), self.W_value(x))


def copy_weights(source, target):
    new = {f"{n}": getattr(source, n).weight.detach().clone().t() for n in ("W_query", "W_key", "W_value")}
    target.load_state_dict(new, strict=True)
