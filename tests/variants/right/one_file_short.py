import torch
import torch as t
import torch, torch.nn as nn
import torch.nn as nn
from torch import nn


attention_scores = lambda query, inputs: inputs @ query


def softmax(scores):
    e = t.exp(scores - scores.max(-1, keepdim=True)[0])
    return e / e.sum(-1, keepdim=True)


def context_vector(query, inputs): return softmax(attention_scores(query, inputs)) @ inputs


def attention_weights(inputs): return softmax(inputs @ inputs.T)


def context_vectors(inputs): return attention_weights(inputs) @ inputs


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        shape = (d_in, d_out)
        self.W_query, self.W_key, self.W_value = (nn.Parameter(torch.randn(shape)) for _ in range(3))

    def forward(self, x):
        root = self.W_key.shape[1] ** 0.25
        q = x.mm(self.W_query) / root
        k = x.mm(self.W_key) / root
        w = (q @ k.T).softmax(-1)
        return w.mm(x.mm(self.W_value))


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, qkv_bias) for _ in range(3))

    @staticmethod
    def _apply_layer(layer, x):
        if layer.bias is None:
            return x.mm(layer.weight.t())
        return torch.addmm(layer.bias, x, layer.weight.t())

    def forward(self, x):
        root = self.W_key.out_features ** 0.25
        q = self._apply_layer(self.W_query, x) / root
        k = self._apply_layer(self.W_key, x) / root
        w = (q @ k.T).softmax(-1)
        return w.mm(self._apply_layer(self.W_value, x))


def copy_weights(source, target):
    pairs = zip((source.W_query, source.W_key, source.W_value), (target.W_query, target.W_key, target.W_value))
    with torch.no_grad():
        for layer, parameter in pairs:
            parameter[:] = layer.weight.T


def causal_mask(num_tokens):
    return torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu(1)


def renormalized_weights(scores):
    weights = torch.softmax(scores, dim=-1)
    weights = weights.mul(~causal_mask(weights.shape[0]))
    return weights.div(weights.sum(dim=-1).reshape(-1, 1))


def masked_weights(scores):
    hidden = torch.full_like(scores, float("-inf")).triu(diagonal=1)
    return (scores + hidden).softmax(dim=-1)


class CausalAttention(nn.Module):
    """Minus infinity above the diagonal of something shaped like the scores."""

    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        q, k, v = (layer(x) for layer in (self.W_query, self.W_key, self.W_value))
        scores = torch.einsum("...qd,...kd->...qk", q, k) / k.shape[-1] ** 0.5
        scores = scores + torch.full_like(scores, float("-inf")).triu(diagonal=1)
        return self.dropout(scores.softmax(dim=-1)) @ v


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(s, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(); s.a = (d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        s.heads = nn.ModuleList(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads))
    def forward(s, x): return torch.cat([h(x) for h in s.heads], -1)


class MultiHeadAttention(nn.Module):
    def __init__(s, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(); assert not d_out % num_heads; s.n = num_heads
        s.W_query, s.W_key, s.W_value = (nn.Linear(d_in, d_out, qkv_bias) for _ in "qkv")
        s.out_proj, s.drop = nn.Linear(d_out, d_out), nn.Dropout(dropout)
        s.register_buffer("m", torch.ones(context_length, context_length).triu(1).bool())
    def forward(s, x):
        T = x.size(1); q, k, v = (f(x).unflatten(2, (s.n, -1)).transpose(1, 2) for f in (s.W_query, s.W_key, s.W_value))
        a = (q @ k.mT * q.size(-1) ** -.5).masked_fill(s.m[:T, :T], -torch.inf).softmax(-1)
        return s.out_proj((s.drop(a) @ v).transpose(1, 2).flatten(2))


def merge_heads(w):
    i, o, c, p, H, b = w.a; m = MultiHeadAttention(i, o * H, c, p, H, b); sd = m.state_dict()
    for k in sd:
        if k[:2] == "W_": sd[k] = torch.cat([h.state_dict()[k] for h in w.heads])
    sd["out_proj.weight"], sd["out_proj.bias"] = torch.eye(o * H), torch.zeros(o * H)
    m.load_state_dict(sd); return m


def gpt2_attention(): return MultiHeadAttention(768, 768, 1024, .1, 12)
