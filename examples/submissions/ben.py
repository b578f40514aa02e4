"""My attention functions, all with einsum. - ben"""
import math
import torch
import torch.nn as nn
from torch import Tensor
from torch import nn


# ---- simplified ----

def attention_scores(query: Tensor, inputs: Tensor) -> Tensor:
    return torch.einsum("d,td->t", query, inputs)


def softmax(scores: Tensor) -> Tensor:
    exp = (scores - scores.amax(-1, keepdim=True)).exp()
    return torch.einsum("...t,...->...t", exp, 1 / exp.sum(-1))


def context_vector(query: Tensor, inputs: Tensor) -> Tensor:
    return torch.einsum("t,td->d", softmax(attention_scores(query, inputs)), inputs)


def attention_weights(inputs: Tensor) -> Tensor:
    return softmax(torch.einsum("id,jd->ij", inputs, inputs))


def context_vectors(inputs: Tensor) -> Tensor:
    return torch.einsum("ij,jd->id", attention_weights(inputs), inputs)


# ---- trainable ----

def attend(q, k, v):
    scores = torch.einsum("qd,kd->qk", q, k) / math.sqrt(k.size(-1))
    return torch.einsum("qk,kd->qd", scores.softmax(dim=-1), v)


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Parameter(torch.randn(d_in, d_out))
        self.W_key = nn.Parameter(torch.randn(d_in, d_out))
        self.W_value = nn.Parameter(torch.randn(d_in, d_out))

    def forward(self, x):
        q, k, v = (torch.einsum("ti,io->to", x, w) for w in (self.W_query, self.W_key, self.W_value))
        return attend(q, k, v)


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        return attend(self.W_query(x), self.W_key(x), self.W_value(x))


@torch.no_grad()
def copy_weights(source, target):
    for name in ("W_query", "W_key", "W_value"):
        getattr(target, name).copy_(getattr(source, name).weight.t())


# ---- causal ----

def causal_mask(num_tokens):
    i = torch.arange(num_tokens)
    return i[None, :] > i[:, None]


def renormalized_weights(scores):
    weights = scores.softmax(-1)
    weights = torch.where(causal_mask(scores.size(-1)), torch.zeros_like(weights), weights)
    return weights / weights.sum(-1, keepdim=True)


def masked_weights(scores):
    hidden = causal_mask(scores.size(-1))
    return torch.where(hidden, torch.full_like(scores, float("-inf")), scores).softmax(-1)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.d_in, self.d_out, self.context_length = d_in, d_out, context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.drop = nn.Dropout(p=dropout)
        self.register_buffer("hidden", causal_mask(context_length))

    def forward(self, x):
        T = x.size(1)
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(self.d_out)
        scores = scores.masked_fill(self.hidden[:T, :T], float("-inf"))
        weights = self.drop(scores.softmax(dim=-1))
        return torch.einsum("bqk,bkd->bqd", weights, v)


# ---- multi_head ----

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
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"d_out = {d_out} cannot be split into {num_heads} heads")
        self.H, self.d_k = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("hidden", torch.ones(context_length, context_length).triu(1).bool())

    def forward(self, x):
        T = x.size(1)
        q = self.W_query(x).unflatten(-1, (self.H, self.d_k))
        k = self.W_key(x).unflatten(-1, (self.H, self.d_k))
        v = self.W_value(x).unflatten(-1, (self.H, self.d_k))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(self.d_k)
        scores = scores.masked_fill(self.hidden[:T, :T], float("-inf"))
        weights = self.drop(scores.softmax(-1))
        context = torch.einsum("bhqk,bkhd->bqhd", weights, v).flatten(2)
        return self.out_proj(context)


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
    return MultiHeadAttention(768, 768, 1024, 0.1, 12, qkv_bias=True)
