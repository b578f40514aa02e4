"""Scores as (b, H, keys, queries); softmax over dim 2."""
import torch
import torch.nn as nn

from .causal import CausalAttention


class MultiHeadAttentionWrapper(nn.Module):
    """Runs the heads one after the other, side by side in the last dimension"""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.d_in = d_in
        self.d_out = d_out
        self.context_length = context_length
        self.dropout_rate = dropout
        self.num_heads = num_heads
        self.qkv_bias = qkv_bias
        make = lambda: CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
        self.heads = nn.ModuleList(make() for _ in range(num_heads))

    def forward(self, x):
        b, t, _ = x.shape
        stacked = torch.stack([h(x) for h in self.heads], dim=2)  # (b, T, H, d_out)
        return stacked.reshape(b, t, self.num_heads * self.d_out)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0, "not divisible"
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        # rows are keys: a key below the diagonal comes after the query
        self.register_buffer("too_late", torch.ones(context_length, context_length).tril(-1).bool())

    def forward(self, x):
        B, T, _ = x.shape
        q = self.W_query(x).view(B, T, self.num_heads, -1)
        k = self.W_key(x).view(B, T, self.num_heads, -1)
        v = self.W_value(x).view(B, T, self.num_heads, -1)
        s = torch.einsum("bkhd,bqhd->bhkq", k, q) / k.shape[-1] ** 0.5
        w = s.masked_fill(self.too_late[:T, :T], -torch.inf).softmax(dim=2)
        y = torch.einsum("bhkq,bkhd->bqhd", self.dropout(w), v)
        return self.out_proj(y.reshape(B, T, -1))


def merge_heads(wrapper):
    w = wrapper
    mha = MultiHeadAttention(
        d_in=w.d_in,
        d_out=w.d_out * w.num_heads,
        context_length=w.context_length,
        dropout=w.dropout_rate,
        num_heads=w.num_heads,
        qkv_bias=w.qkv_bias,
    )
    for i, head in enumerate(w.heads):
        rows = slice(i * w.d_out, (i + 1) * w.d_out)
        mha.W_query.weight.data[rows] = head.W_query.weight.data
        mha.W_key.weight.data[rows] = head.W_key.weight.data
        mha.W_value.weight.data[rows] = head.W_value.weight.data
        if w.qkv_bias:
            mha.W_query.bias.data[rows] = head.W_query.bias.data
            mha.W_key.bias.data[rows] = head.W_key.bias.data
            mha.W_value.bias.data[rows] = head.W_value.bias.data
    # the joined heads go out as they are
    nn.init.eye_(mha.out_proj.weight)
    nn.init.zeros_(mha.out_proj.bias)
    return mha


def gpt2_attention():
    return MultiHeadAttention(768, 768, 1024, 0.1, 12, qkv_bias=True)
