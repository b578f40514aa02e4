"""Dropout by hand: keep each weight with probability 1 - p and divide what is kept."""
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
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.p = dropout
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.register_buffer("mask", causal_mask(context_length))

    def forward(self, x):
        T = x.shape[1]
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = (q @ k.transpose(1, 2)) / k.shape[2] ** 0.5
        weights = scores.masked_fill(self.mask[:T, :T], float("-inf")).softmax(dim=-1)
        if self.training and self.p > 0:
            keep = (torch.rand_like(weights) >= self.p).to(weights.dtype)
            weights = weights * keep / (1 - self.p)
        return weights @ v
