"""MultiHeadAttention is a subclass of a base class; the weights are kept, detached."""
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


class SplitHeads(nn.Module):
    """Everything but the attending itself"""

    def __init__(self, d_in, d_out, num_heads, qkv_bias):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out % num_heads must be 0")
        self.d_out = d_out
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Linear(d_in, d_out, bias=qkv_bias))
        self.out_proj = nn.Linear(d_out, d_out)

    def split(self, projected):
        return projected.unflatten(-1, (self.num_heads, self.head_dim)).movedim(-2, -3)

    def join(self, context):
        return context.movedim(-3, -2).flatten(-2)

    def attend(self, q, k, v):
        raise RuntimeError("abstract")

    def forward(self, x):
        q, k, v = map(self.split, (self.W_query(x), self.W_key(x), self.W_value(x)))
        return self.out_proj(self.join(self.attend(q, k, v)))


class MultiHeadAttention(SplitHeads):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(d_in, d_out, num_heads, qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1) != 0)
        self.last_attention = None

    def attend(self, q, k, v):
        T = q.shape[-2]
        scores = q @ k.mT * self.head_dim**-0.5
        weights = scores.masked_fill(self.mask[:T, :T], -torch.inf).softmax(-1)
        self.last_attention = weights.detach()
        return self.dropout(weights) @ v


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
