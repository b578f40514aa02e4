import torch
from torch import nn
import torch.nn.functional as F


def causal_mask(num_tokens):
    place = torch.arange(num_tokens)
    return place[None, :] > place[:, None]


def renormalized_weights(scores):
    w = torch.softmax(scores, dim=-1).tril(-1)
    return w / w.sum(-1, keepdim=True)


def masked_weights(scores):
    hidden = torch.ones_like(scores).triu() > 0
    s = torch.where(hidden, float("-inf"), scores)
    return torch.softmax(s, dim=-1)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("mask", causal_mask(context_length), persistent=False)

    def forward(self, x):
        T = x.size(1)
        q = self.W_query(x)
        k = self.W_key(x)
        v = self.W_value(x)
        scores = torch.einsum("bid,bjd->bij", q, k)
        scores = scores.mul(k.size(-1) ** -0.5)
        scores = scores.masked_fill(self.mask[:T, :T], float("-inf"))
        weights = F.softmax(scores, dim=-1)
        weights = self.drop(weights)
        out = torch.einsum("bij,bjd->bid", weights, v)
        return out
