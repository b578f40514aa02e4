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
        self.q_proj = nn.Parameter(torch.randn(d_in, d_out))
        self.k_proj = nn.Parameter(torch.randn(d_in, d_out))
        self.v_proj = nn.Parameter(torch.randn(d_in, d_out))

    def forward(self, x):
        q = x.matmul(self.q_proj)
        k = x.matmul(self.k_proj)
        v = x.matmul(self.v_proj)
        return attend(q, k, v)


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        for name in ("q_proj", "k_proj", "v_proj"):
            setattr(self, name, nn.Linear(d_in, d_out, bias=qkv_bias))

    def forward(self, x):
        q = self.q_proj(x)
        k = self.k_proj(x)
        v = self.v_proj(x)
        return attend(q, k, v)


def copy_weights(source, target):
    with torch.no_grad():
        for name in ("q_proj", "k_proj", "v_proj"):
            getattr(target, name).copy_(getattr(source, name).weight.t())
