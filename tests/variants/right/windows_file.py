import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


# ---- simplified ----

def attention_scores(query, inputs):
    ω = torch.stack([torch.dot(x_i, query) for x_i in inputs])  # Skalarprodukte
    return ω


def softmax(scores):
    # größten Wert abziehen, sonst läuft exp über
    m = torch.max(scores, dim=-1, keepdim=True).values
    zähler = torch.exp(scores - m)
    nenner = torch.sum(zähler, dim=-1, keepdim=True)
    return zähler / nenner


def context_vector(query, inputs):
    α = softmax(attention_scores(query, inputs))
    z = α @ inputs
    return z


def attention_weights(inputs):
    ω = inputs @ inputs.T
    α = softmax(ω)
    return α


def context_vectors(inputs):
    α = attention_weights(inputs)
    return α @ inputs


# ---- trainable ----

def _attention(queries, keys, values):
    d_k = keys.shape[-1]
    scores = torch.mm(queries, keys.t())
    scores = torch.div(scores, torch.sqrt(torch.tensor(d_k, dtype=scores.dtype)))
    return torch.mm(F.softmax(scores, dim=1), values)


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super(SelfAttention_v1, self).__init__()
        self.W_query = nn.Parameter(torch.randn(d_in, d_out) / d_in)
        self.W_key = nn.Parameter(torch.randn(d_in, d_out) / d_in)
        self.W_value = nn.Parameter(torch.randn(d_in, d_out) / d_in)

    def forward(self, x):
        return _attention(
            F.linear(x, self.W_query.T), F.linear(x, self.W_key.T), F.linear(x, self.W_value.T)
        )


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super(SelfAttention_v2, self).__init__()
        self.W_query = nn.Linear(d_in, d_out, qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, qkv_bias)

    def forward(self, x):
        return _attention(
            F.linear(x, self.W_query.weight, self.W_query.bias),
            F.linear(x, self.W_key.weight, self.W_key.bias),
            F.linear(x, self.W_value.weight, self.W_value.bias),
        )


def copy_weights(source, target):
    target.W_query.data = source.W_query.weight.data.T.clone()
    target.W_key.data = source.W_key.weight.data.T.clone()
    target.W_value.data = source.W_value.weight.data.T.clone()


# ---- causal ----

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


# ---- multi_head ----

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
        qkv = self._qkv(x).view(b, t, 3, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4)
        q, k, v = torch.chunk(qkv, 3, dim=0)
        q, k, v = q.squeeze(0), k.squeeze(0), v.squeeze(0)
        scores = q @ k.transpose(-2, -1) * self.head_dim**-0.5
        weights = scores.masked_fill(self.mask[:t, :t], float("-inf")).softmax(dim=-1)
        context = self.dropout(weights) @ v
        return self.out_proj(context.transpose(1, 2).reshape(b, t, -1))


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
