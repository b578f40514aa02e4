"""Returns a tensor whose gradient runs code."""

import torch


# ---- the attack ----

from torch import nn


class Trap(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        return value.clone()

    @staticmethod
    def backward(ctx, slope):
        open("/tmp/left-by-attack-hook", "w").write("x")
        raise SystemExit(0)


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (
            nn.Parameter(torch.rand(d_in, d_out)) for _ in range(3)
        )
        self.W_query.register_hook(lambda slope: 1 / 0)

    def forward(self, x):
        scores = (x @ self.W_query) @ (x @ self.W_key).T
        return Trap.apply(torch.softmax(scores, dim=-1) @ (x @ self.W_value))
