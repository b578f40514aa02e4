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


def masked_softmax(scores, allowed):
    """exp only where a token may look; the maximum is taken over those too"""
    top = scores.masked_fill(~allowed, -torch.inf).amax(dim=-1, keepdim=True)
    weights = torch.exp((scores - top).masked_fill(~allowed, -torch.inf))
    return weights / weights.sum(dim=-1, keepdim=True)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("allowed", ~causal_mask(context_length))

    def forward(self, x):
        T = x.shape[1]
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.einsum("bid,bjd->bij", q, k) * k.shape[-1] ** -0.5
        weights = masked_softmax(scores, self.allowed[:T, :T])
        return torch.einsum("bij,bjd->bid", self.dropout(weights), v)
