"""Softmax of stage 1 again; attention of one sequence in a function of its own."""
import torch
import torch.nn as nn

from simplified import softmax


def causal_mask(num_tokens):
    return torch.ones(num_tokens, num_tokens).triu(1) == 1


def renormalized_weights(scores):
    weights = softmax(scores) * torch.ones_like(scores).tril()
    return weights / weights.sum(-1, keepdim=True)


def masked_weights(scores):
    return softmax(scores.masked_fill(causal_mask(scores.shape[-1]), -torch.inf))


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", causal_mask(context_length))

    def forward(self, x):
        T = x.shape[1]
        k = self.W_key(x)
        scores = self.W_query(x) @ k.transpose(1, 2)
        scores = scores.masked_fill(self.mask[:T, :T], -torch.inf)
        return self.dropout(softmax(scores / k.shape[-1] ** 0.5)) @ self.W_value(x)
