"""The heads are folded into the batch: (b * H, T, d_k) and torch.bmm."""
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
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), 1).bool(), persistent=False)

    def _fold(self, x):
        b, t, _ = x.shape
        x = x.view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        return x.reshape(b * self.num_heads, t, self.head_dim)

    def _unfold(self, x, b):
        _, t, _ = x.shape
        x = x.view(b, self.num_heads, t, self.head_dim).transpose(1, 2)
        return x.reshape(b, t, self.num_heads * self.head_dim)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self._fold(self.W_query(x)), self._fold(self.W_key(x)), self._fold(self.W_value(x))
        scores = torch.bmm(q, k.transpose(1, 2)) / self.head_dim ** 0.5
        scores = scores.masked_fill(self.mask[:t, :t], float("-inf"))
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return self.out_proj(self._unfold(torch.bmm(weights, v), b))


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
