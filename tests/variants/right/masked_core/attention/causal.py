import torch
import torch.nn as nn


def causal_mask(num_tokens):
    return torch.tril(torch.ones(num_tokens, num_tokens)).logical_not()


def renormalized_weights(scores):
    w = torch.softmax(scores, dim=-1).masked_fill(causal_mask(scores.shape[-1]), 0)
    return w / torch.einsum("ij->i", w)[:, None]


def masked_weights(scores):
    return torch.softmax(scores.masked_fill(causal_mask(scores.shape[-1]), float("-inf")), dim=-1)


class MaskedAttention(nn.Module):
    """Everything between the projections and the context; owns the mask."""

    def __init__(self, context_length, dropout):
        super().__init__()
        self.softmax = nn.Softmax(dim=-1)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", causal_mask(context_length).T)   # (key, query)

    def forward(self, q, k, v):
        T = q.shape[-2]
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(self.mask.T[:T, :T], float("-inf"))
        return self.dropout(self.softmax(scores)) @ v


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.core = MaskedAttention(context_length, dropout)

    def forward(self, x):
        return self.core(self.W_query(x), self.W_key(x), self.W_value(x))
