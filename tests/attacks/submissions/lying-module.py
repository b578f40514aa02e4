"""Is a module that tells of parameters it has not got."""

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

class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.plain = [torch.rand(d_in, d_out) for _ in range(3)]

    def named_parameters(self, *args, **keywords):
        return zip(("W_query", "W_key", "W_value"), map(nn.Parameter, self.plain))

    def parameters(self, *args):
        return map(nn.Parameter, self.plain)

    def state_dict(self, *args, **keywords):
        return dict(self.named_parameters())

    @property
    def __dict__(self):
        return {"_parameters": self.state_dict(), "_buffers": {}, "_modules": {}}

    def __getattr__(self, name):
        if name.startswith("W_"):
            return self.plain[("W_query", "W_key", "W_value").index(name)]
        return super().__getattr__(name)

    def forward(self, x):
        q, k, v = (x @ weight for weight in self.plain)
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v
