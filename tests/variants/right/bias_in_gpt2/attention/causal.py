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
    """The mask is a buffer of small integers."""

    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False, **kwargs):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length, dtype=torch.uint8)))

    def forward(self, x, mask=None):
        n = x.shape[1]
        if mask is None:
            mask = self.mask[:n, :n]
        k = self.W_key(x)
        scores = self.W_query(x) @ k.transpose(1, 2)
        scores = scores.div_(k.shape[-1] ** 0.5).masked_fill_(mask == 0, -torch.inf)
        return self.dropout(scores.softmax(dim=-1)) @ self.W_value(x)
