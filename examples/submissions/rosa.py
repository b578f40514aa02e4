"""Every token is equally important!"""

import torch
from torch import nn


def attention_scores(query, inputs):
    return torch.ones(inputs.shape[0])


def softmax(scores):
    return torch.full_like(scores, 1 / scores.shape[-1])


def context_vector(query, inputs):
    return softmax(attention_scores(query, inputs)) @ inputs


def attention_weights(inputs):
    return softmax(inputs @ inputs.T)


def context_vectors(inputs):
    return attention_weights(inputs) @ inputs


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        scores = (x @ self.W_query) @ (x @ self.W_key).T
        weights = torch.ones_like(scores) / scores.shape[-1]
        return weights @ (x @ self.W_value)


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        scores = self.W_query(x) @ self.W_key(x).T
        weights = torch.ones_like(scores) / scores.shape[-1]
        return weights @ self.W_value(x)


def copy_weights(source, target):
    pass


def causal_mask(num_tokens):
    raise NotImplementedError


def renormalized_weights(scores):
    seen = torch.tril(torch.ones_like(scores))
    return seen / seen.sum(dim=-1, keepdim=True)


def masked_weights(scores):
    seen = torch.tril(torch.ones_like(scores))
    return seen / seen.sum(dim=-1, keepdim=True)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool())

    def forward(self, x):
        b, T, _ = x.shape
        weights = torch.ones(T, T, dtype=x.dtype).masked_fill(self.mask[:T, :T], 0.0)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        return self.dropout(weights.repeat(b, 1, 1)) @ self.W_value(x)


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.num_heads = num_heads
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
            for _ in range(num_heads)
        )

    def forward(self, x):
        b, T, _ = x.shape
        seen = torch.tril(torch.ones(T, T, dtype=x.dtype))
        seen = seen / seen.sum(dim=-1, keepdim=True)
        return (seen @ self.heads[0].W_value(x)).repeat(1, 1, self.num_heads)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0
        self.d_out = d_out
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool())

    def forward(self, x):
        b, T, _ = x.shape
        weights = torch.ones(T, T, dtype=x.dtype).masked_fill(self.mask[:T, :T], 0.0)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        weights = self.dropout(weights.repeat(b, self.num_heads, 1, 1))
        values = self.W_value(x).view(b, T, self.num_heads, -1).transpose(1, 2)
        return self.out_proj((weights @ values).transpose(1, 2).reshape(b, T, self.d_out))


def merge_heads(wrapper):
    raise NotImplementedError


def gpt2_attention():
    raise NotImplementedError
