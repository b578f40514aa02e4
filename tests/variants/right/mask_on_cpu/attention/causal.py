"""Builds the mask in forward with causal_mask, without a word about devices."""
import torch
import torch.nn as nn


def causal_mask(num_tokens):
    mask = torch.zeros(num_tokens, num_tokens, dtype=torch.bool)
    for row in range(num_tokens):
        mask[row, row + 1:] = True
    return mask


def renormalized_weights(scores):
    weights = torch.softmax(scores, dim=-1).clone()
    weights[causal_mask(scores.shape[0])] = 0.0
    return weights / weights.sum(dim=-1, keepdim=True)


def masked_weights(scores):
    scores = scores.clone()
    scores[causal_mask(scores.shape[0])] = float("-inf")
    return torch.softmax(scores, dim=-1)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        keys = self.W_key(x)
        scores = self.W_query(x) @ keys.mT
        scores = scores.masked_fill(causal_mask(x.shape[1]), -torch.inf)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return self.dropout(weights) @ self.W_value(x)
