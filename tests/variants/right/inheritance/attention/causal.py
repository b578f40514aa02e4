"""The head is a subclass of a small base class, weights kept (detached) for plots."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


def causal_mask(num_tokens: int) -> Tensor:
    """True where a token must not look."""
    rows, columns = torch.triu_indices(num_tokens, num_tokens, offset=1)
    mask = torch.zeros((num_tokens, num_tokens), dtype=torch.bool)
    mask[rows, columns] = True
    return mask


def renormalized_weights(scores: Tensor) -> Tensor:
    weights = F.softmax(scores, dim=-1) * (~causal_mask(scores.shape[-1]))
    return weights / weights.sum(dim=-1, keepdim=True)


def masked_weights(scores: Tensor) -> Tensor:
    return F.softmax(scores.masked_fill(causal_mask(scores.shape[-1]), -math.inf), dim=-1)


class Projections(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias):
        super().__init__()
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Linear(d_in, d_out, bias=qkv_bias))
        self.reset_parameters()

    def reset_parameters(self):
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_normal_(p)
            else:
                nn.init.zeros_(p)

    def project(self, x):
        return self.W_query(x), self.W_key(x), self.W_value(x)


class CausalAttention(Projections):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__(d_in, d_out, qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.context_length = context_length
        self.last_attention = None
        self.register_buffer("mask", causal_mask(context_length), persistent=True)

    def forward(self, x):
        T = x.shape[1]
        q, k, v = self.project(x)
        scores = q @ k.transpose(1, 2) / math.sqrt(k.shape[-1])
        weights = F.softmax(scores.masked_fill(self.mask[:T, :T], -math.inf), dim=-1)
        self.last_attention = weights.detach()
        return self.dropout(weights) @ v
