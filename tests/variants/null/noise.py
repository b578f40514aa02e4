"""Null program: random numbers in the shape of an answer; weights are normalised."""

import torch
from torch import nn


def attention_scores(query, inputs):
    return torch.randn(inputs.shape[0])


def softmax(scores):
    weights = torch.rand_like(scores)
    return weights / weights.sum(dim=-1, keepdim=True)


def context_vector(query, inputs):
    return torch.rand_like(query)


def attention_weights(inputs):
    weights = torch.rand(inputs.shape[0], inputs.shape[0])
    return weights / weights.sum(dim=-1, keepdim=True)


def context_vectors(inputs):
    return torch.rand_like(inputs)


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        return torch.randn_like(x @ self.W_value)


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        return torch.randn_like(self.W_value(x))


def copy_weights(source, target):
    pass


def causal_mask(num_tokens):
    return torch.rand(num_tokens, num_tokens) > 0.5


def renormalized_weights(scores):
    weights = torch.rand_like(scores).tril()
    return weights / weights.sum(dim=-1, keepdim=True)


def masked_weights(scores):
    weights = torch.rand_like(scores).tril()
    return weights / weights.sum(dim=-1, keepdim=True)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool())

    def forward(self, x):
        return torch.randn_like(self.W_value(x))


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
        return torch.randn(x.shape[0], x.shape[1], self.num_heads * self.d_out)


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
        return self.out_proj(torch.randn_like(self.W_value(x)))


def merge_heads(wrapper):
    return None


def gpt2_attention():
    return torch.randn(768, 768)
