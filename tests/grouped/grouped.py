"""Stage 5: grouped-query attention."""

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    """Causal multi-head attention whose heads share keys and values in groups."""

    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,
        num_heads: int,
        num_groups: int,
        qkv_bias: bool = False,
    ) -> None:
        """Make the layers, the dropout and the mask; `num_groups` divides `num_heads`."""
        ### BEGIN SOLUTION
        super().__init__()
        if d_out % num_heads or num_heads % num_groups:
            raise ValueError("heads must share columns, and groups must share heads, evenly")
        self.num_heads = num_heads
        self.num_groups = num_groups
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, num_groups * self.head_dim, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, num_groups * self.head_dim, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        mask = torch.ones(context_length, context_length, dtype=torch.bool).triu(1)
        self.register_buffer("mask", mask)
        ### END SOLUTION

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """`(b, T, d_in)` to `(b, T, d_out)`."""
        ### BEGIN SOLUTION
        b, num_tokens, _ = tokens.shape
        share = self.num_heads // self.num_groups
        queries = self.W_query(tokens).view(b, num_tokens, self.num_heads, self.head_dim)
        keys = self.W_key(tokens).view(b, num_tokens, self.num_groups, self.head_dim)
        values = self.W_value(tokens).view(b, num_tokens, self.num_groups, self.head_dim)
        queries = queries.transpose(1, 2)
        keys = keys.transpose(1, 2).repeat_interleave(share, dim=1)
        values = values.transpose(1, 2).repeat_interleave(share, dim=1)
        scores = queries @ keys.transpose(2, 3)
        scores = scores / self.head_dim**0.5
        mask = self.mask[:num_tokens, :num_tokens]
        scores = scores.masked_fill(mask, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        weights = self.dropout(weights)
        context = weights @ values
        context = context.transpose(1, 2).reshape(b, num_tokens, -1)
        return self.out_proj(context)
        ### END SOLUTION
