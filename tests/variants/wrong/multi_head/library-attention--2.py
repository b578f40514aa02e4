import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as attend

from .causal import CausalAttention


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.context_length = context_length
        self.p = dropout
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias=qkv_bias))

    def forward(self, x):
        outputs = []
        for head in self.heads:
            outputs.append(head(x))
        return torch.cat(outputs, dim=2)


class MultiHeadAttention(nn.Module):
    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,
        num_heads: int,
        qkv_bias: bool = False,
    ) -> None:
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"{d_out=} is not divisible by {num_heads=}")
        self.num_heads: int = num_heads
        self.head_dim: int = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("bias", torch.full((context_length, context_length), -math.inf).triu(1))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape

        def heads(layer: nn.Linear) -> Tensor:
            projected = F.linear(x, layer.weight, layer.bias)
            return projected.reshape(batch, length, self.num_heads, self.head_dim).swapaxes(1, 2)

        query, key, value = heads(self.W_query), heads(self.W_key), heads(self.W_value)
        rate = self.dropout.p if self.training else 0.0
        context = attend(query, key, value, attn_mask=self.bias[:length, :length], dropout_p=rate)
        context = context.swapaxes(1, 2).reshape(batch, length, -1)
        return F.linear(context, self.out_proj.weight, self.out_proj.bias)


def merge_heads(wrapper):
    first = wrapper.heads[0]
    d_out, d_in = first.W_query.weight.shape
    H = len(wrapper.heads)
    has_bias = first.W_query.bias is not None
    merged = MultiHeadAttention(d_in, d_out * H, wrapper.context_length, wrapper.p, H, qkv_bias=has_bias)
    merged.to(first.W_query.weight.dtype)
    new_state = merged.state_dict()
    for name in ["W_query", "W_key", "W_value"]:
        new_state[name + ".weight"] = torch.cat([getattr(h, name).weight.detach() for h in wrapper.heads], dim=0)
        if has_bias:
            new_state[name + ".bias"] = torch.cat([getattr(h, name).bias.detach() for h in wrapper.heads], dim=0)
    new_state["out_proj.weight"] = torch.eye(d_out * H)
    new_state["out_proj.bias"] = torch.zeros(d_out * H)
    merged.load_state_dict(new_state)
    merged.eval()
    return merged


def gpt2_attention():
    return MultiHeadAttention(
        d_in=768, d_out=768, context_length=1024, dropout=0.0, num_heads=12, qkv_bias=False
    )
