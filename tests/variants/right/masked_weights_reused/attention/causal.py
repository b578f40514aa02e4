"""CausalAttention calls masked_weights, written for any number of leading dimensions."""
import torch
import torch.nn as nn


def causal_mask(num_tokens):
    ones = torch.ones((num_tokens, num_tokens), dtype=torch.int64)
    return torch.triu(ones, 1).to(torch.bool)


def renormalized_weights(scores):
    weights = torch.softmax(scores, -1)
    weights = weights - torch.triu(weights, diagonal=1)
    return weights / weights.sum(-1, keepdim=True)


def masked_weights(scores):
    """scores: (..., T, T)"""
    mask = causal_mask(scores.shape[-1]).to(scores.device)
    return torch.softmax(scores.masked_fill(mask, torch.finfo(scores.dtype).min), dim=-1)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.context_length = context_length
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        if x.shape[1] > self.context_length:
            raise ValueError(f"{x.shape[1]} tokens, but the context length is {self.context_length}")
        scores = self.W_query(x) @ self.W_key(x).transpose(-2, -1)
        weights = self.dropout(masked_weights(scores / self.W_key.out_features ** 0.5))
        return weights @ self.W_value(x)
