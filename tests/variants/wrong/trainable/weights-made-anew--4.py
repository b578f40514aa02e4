import torch
from torch import nn
import torch.nn.functional as F


def attend(q, k, v):
    scores = torch.einsum("id,jd->ij", q, k)
    scores = scores.mul(k.size(-1) ** -0.5)
    weights = F.softmax(scores, dim=-1)
    out = torch.einsum("ij,jd->id", weights, v)
    return out


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.randn(d_in, d_out))
        self.W_key = nn.Parameter(torch.randn(d_in, d_out))
        self.W_value = nn.Parameter(torch.randn(d_in, d_out))

    def forward(self, x):
        q = x.matmul(self.W_query)
        k = x.matmul(self.W_key)
        v = x.matmul(self.W_value)
        return attend(q, k, v)


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Linear(d_in, d_out, bias=qkv_bias))

    def forward(self, x):
        for layer in (self.W_query, self.W_key, self.W_value):
            layer.reset_parameters()
        q = self.W_query(x)
        k = self.W_key(x)
        v = self.W_value(x)
        return attend(q, k, v)


def copy_weights(source, target):
    with torch.no_grad():
        for name in ("W_query", "W_key", "W_value"):
            getattr(target, name).copy_(getattr(source, name).weight.t())
