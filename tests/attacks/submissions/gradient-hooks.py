"""Returns a tensor whose gradient runs code."""

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

class Trap(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        return value.clone()

    @staticmethod
    def backward(ctx, slope):
        open("/tmp/left-by-attack-hook", "w").write("x")
        raise SystemExit(0)


class SelfAttention_v2(SelfAttention_v2):
    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        self.W_query.weight.register_hook(lambda slope: 1 / 0)

    def forward(self, x):
        return Trap.apply(super().forward(x))
