import torch
import torch.nn as nn


def causal_mask(num_tokens):
    return torch.tril(torch.ones(num_tokens, num_tokens)) == 0


def renormalized_weights(scores):
    w = torch.tril(torch.softmax(scores, dim=-1))
    return w / w.sum(dim=1, keepdim=True)


def masked_weights(scores):
    num_tokens = scores.shape[-1]
    return torch.softmax(scores + torch.full((num_tokens, num_tokens), float("-inf")).triu(1), dim=-1)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        # (key, query): the key must not come after the query
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length), diagonal=-1).bool())

    def forward(self, x):
        T = x.shape[1]
        keys = self.W_key(x)
        scores = keys @ self.W_query(x).transpose(1, 2)
        scores = scores.masked_fill(self.mask[:T, :T], -torch.inf) / keys.shape[-1] ** 0.5
        weights = self.dropout(torch.softmax(scores, dim=2))
        return weights.transpose(1, 2) @ self.W_value(x)
