import torch
import torch.nn as nn


def causal_mask(num_tokens):
    i = torch.arange(num_tokens)
    return i[None, :] > i[:, None]


def renormalized_weights(scores):
    weights = scores.softmax(-1)
    weights = torch.where(causal_mask(scores.size(-1)), torch.zeros_like(weights), weights)
    return weights / weights.sum(-1, keepdim=True)


def masked_weights(scores):
    hidden = causal_mask(scores.size(-1))
    return torch.where(hidden, torch.full_like(scores, float("-inf")), scores).softmax(-1)


class CausalAttention(nn.Module):
    """Scores and softmax in float64, whatever comes in."""

    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", causal_mask(context_length), persistent=False)

    def forward(self, x):
        T = x.shape[1]
        q, k = self.W_query(x).double(), self.W_key(x).double()
        scores = torch.matmul(q, k.transpose(-1, -2)) / k.shape[-1] ** 0.5
        scores.masked_fill_(self.mask[:T, :T], -torch.inf)
        weights = torch.softmax(scores, dim=-1).to(x.dtype)
        return torch.matmul(self.dropout(weights), self.W_value(x))
