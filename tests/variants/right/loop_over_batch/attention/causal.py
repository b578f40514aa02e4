import torch
import torch.nn as nn


def causal_mask(num_tokens):
    return torch.triu(torch.ones(num_tokens, num_tokens), diagonal=1).bool()


def renormalized_weights(scores):
    attn_weights = torch.softmax(scores, dim=-1)
    masked = attn_weights * torch.tril(torch.ones(scores.shape[0], scores.shape[0]))
    return masked / masked.sum(dim=-1, keepdim=True)


def masked_weights(scores):
    return torch.softmax(scores.masked_fill(causal_mask(scores.shape[0]), -torch.inf), dim=-1)


class CausalAttention(nn.Module):
    """One sequence of the batch after the other."""

    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", causal_mask(context_length))

    def one_sequence(self, x):
        n = x.shape[0]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = (queries @ keys.T).masked_fill(self.mask[:n, :n], -torch.inf)
        return self.dropout(torch.softmax(scores / keys.shape[1] ** 0.5, dim=-1)) @ values

    def forward(self, x):
        return torch.stack([self.one_sequence(sequence) for sequence in x])
