import torch
import torch.nn as nn


def causal_mask(num_tokens):
    return torch.triu(torch.ones(num_tokens, num_tokens), 1) > 0.5


def renormalized_weights(scores):
    w = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)   # the sum of the full row cancels
    w = w.tril()
    return w / w.sum(dim=-1, keepdim=True)


def masked_weights(scores):
    return torch.softmax(scores - 1e9 * causal_mask(scores.shape[-1]), dim=-1)


class CausalAttention(nn.Module):
    """The mask is subtracted as a big number."""

    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), 1))

    def forward(self, x):
        T = x.shape[1]
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = q @ k.transpose(1, 2) / k.shape[-1] ** 0.5
        scores = scores - self.mask[:T, :T] * 1e9
        return self.dropout(torch.softmax(scores, dim=-1)) @ v
