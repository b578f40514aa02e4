"""Has parameters that are bool, whole, complex, scalar, on meta, shared or none."""

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

def fixed(tensor):
    return nn.Parameter(tensor, requires_grad=False)


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = fixed(torch.ones(d_in, d_out, dtype=torch.bool))
        self.W_key = fixed(torch.ones(d_in, d_out, dtype=torch.int8))
        self.W_value = nn.Parameter(torch.ones(d_in, d_out, dtype=torch.complex64))
        self.register_buffer("nothing", None)
        self.register_parameter("neither", None)
        self.scalar = nn.Parameter(torch.tensor(1.0))
        self._parameters["\x1b[31m<b>.=1+1"] = self.scalar
        self._parameters["x" * 4000] = self.scalar
        self._buffers[None] = self._buffers[7] = "no tensor"

    def forward(self, x):
        return x @ self.W_value.real


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = self.W_key = self.W_value = nn.Linear(d_in, d_out, device="meta")
        self.mask = torch.ones(context_length, context_length).to_sparse()

    def forward(self, x):
        return x


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out)
        self.W_key = nn.Linear(d_in, d_out, dtype=torch.complex64)
        self.W_value = nn.Linear(d_in, d_out).half()
        self.out_proj = self.W_query
        del self.W_query._parameters["bias"]
        self._modules["heads"] = self._modules["self"] = self

    def forward(self, x):
        return self.W_query(x)


def copy_weights(source, target):
    target._parameters.clear()
    source._parameters = target
    target.W_query = None


def merge_heads(wrapper):
    return MultiHeadAttention(7, 15, 11, 0.0, 3)


def gpt2_attention():
    return MultiHeadAttention(768, 768, 1024, 0.0, 12)
