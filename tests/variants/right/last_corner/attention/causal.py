"""The mask is cut at the other end: [-T:, -T:] is triangular as well."""
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
        self.d_out = d_out
        self.context_length = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(1, context_length, context_length), diagonal=1) > 0)

    def forward(self, x):
        T = x.shape[1]
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2)
        scores = torch.masked_fill(scores, self.mask[:, -T:, -T:], -torch.inf)
        attn = torch.softmax(scores / self.d_out ** 0.5, dim=2)
        return self.dropout(attn) @ self.W_value(x)
