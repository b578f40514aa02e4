import torch
from torch import nn
import torch.nn.functional as F

from .causal import CausalAttention


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.given = dict(context_length=context_length, dropout=dropout, num_heads=num_heads)
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias=True)
            for _ in range(num_heads)
        )

    def forward(self, x):
        outs = []
        for head in self.heads:
            outs.append(head(x))
        return torch.cat(outs, -1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("num_heads must divide d_out")
        self.n_head = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.drop = nn.Dropout(dropout)
        mask = torch.ones(context_length, context_length, dtype=torch.bool).triu(1)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x):
        T = x.size(1)
        # (b, T, H, d_k)
        q = self.W_query(x).unflatten(-1, (self.n_head, -1))
        k = self.W_key(x).unflatten(-1, (self.n_head, -1))
        v = self.W_value(x).unflatten(-1, (self.n_head, -1))
        scores = torch.einsum("bihd,bjhd->bhij", q, k)
        scores = scores.mul(k.size(-1) ** -0.5)
        scores = scores.masked_fill(self.mask[:T, :T], float("-inf"))
        weights = F.softmax(scores, dim=-1)
        weights = self.drop(weights)
        out = torch.einsum("bhij,bjhd->bihd", weights, v)
        return self.out_proj(out.flatten(2))


def merge_heads(wrapper):
    d_out, d_in = wrapper.heads[0].W_query.weight.shape
    n = len(wrapper.heads)
    bias = wrapper.heads[0].W_query.bias is not None
    merged = MultiHeadAttention(d_in, n * d_out, qkv_bias=bias, **wrapper.given)
    with torch.no_grad():
        for name in ("W_query", "W_key", "W_value"):
            big = getattr(merged, name)
            for h, head in enumerate(wrapper.heads):
                small = getattr(head, name)
                big.weight[h * d_out : (h + 1) * d_out] = small.weight
                if bias:
                    big.bias[h * d_out : (h + 1) * d_out] = small.bias
        nn.init.eye_(merged.out_proj.weight)
        nn.init.zeros_(merged.out_proj.bias)
    return merged


def gpt2_attention():
    return MultiHeadAttention(768, 768, 1024, 0.1, 12)
