"""A float mask of zeros and minus infinity is added to the scores."""
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


class CausalAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("bias", torch.full((context_length, context_length), -math.inf).triu(1))

    def forward(self, x: Tensor) -> Tensor:
        length = x.size(1)
        query, key, value = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = query.matmul(key.transpose(1, 2)).div(math.sqrt(key.size(-1)))
        scores = scores + self.bias[:length, :length]
        return self.dropout(F.softmax(scores, dim=-1)).matmul(value)
