import torch
import torch.nn as nn


def causal_mask(num_tokens):
    return torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu(1)


def renormalized_weights(scores):
    weights = torch.softmax(scores, dim=-1)
    weights = weights.mul(~causal_mask(weights.shape[0]))
    return weights.div(weights.sum(dim=-1).reshape(-1, 1))


def masked_weights(scores):
    hidden = torch.full_like(scores, float("-inf")).triu(diagonal=1)
    return (scores + hidden).softmax(dim=-1)


class CausalAttention(nn.Module):
    """Minus infinity above the diagonal of something shaped like the scores."""

    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        q, k, v = (layer(x) for layer in (self.W_query, self.W_key, self.W_value))
        scores = torch.einsum("...qd,...kd->...qk", q, k) / k.shape[-1] ** 0.5
        scores = scores + torch.full_like(scores, float("-inf")).triu(diagonal=1)
        return self.dropout(scores.softmax(dim=-1)) @ v
