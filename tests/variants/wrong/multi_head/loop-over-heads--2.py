import torch.nn.functional as F
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
        assert d_out % num_heads == 0
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length, dtype=torch.bool).triu(1))

    def _qkv(self, x):
        layers = (self.W_query, self.W_key, self.W_value)
        weight = torch.cat([layer.weight for layer in layers], dim=0)
        bias = torch.cat([layer.bias for layer in layers]) if layers[0].bias is not None else None
        return F.linear(x, weight, bias)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self._qkv(x).chunk(3, dim=-1)
        mask = self.mask[:t, :t]

        def one_head(q, k, v):
            scores = q @ k.transpose(-2, -1) * self.head_dim**-0.5
            return self.dropout(scores.masked_fill(mask, float("-inf")).softmax(dim=-1)) @ v

        parts = zip(*(y.split(self.head_dim, dim=-1) for y in (q, k, v)))
        return self.out_proj(torch.cat([one_head(*part) for part in parts], dim=-1))


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
    return MultiHeadAttention(
        d_in=768, d_out=768, context_length=1024, dropout=0.0, num_heads=12, qkv_bias=False
    )
