import torch
import torch.nn as nn

from .causal import CausalAttention


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


def drop(weights, p, training):
    if not training or p == 0.0:
        return weights
    keep = torch.bernoulli(torch.full_like(weights[0], 1.0 - p))
    return weights * keep / (1.0 - p)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0
        self.name = "multi-head attention"
        self.shapes = {"in": d_in, "out": d_out}
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.dropout = dropout
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1).bool())

    def forward(self, x):
        b, n, d = x.shape
        q = self.W_query(x).view(b, n, self.num_heads, self.head_dim).permute(0, 2, 1, 3)
        k_t = self.W_key(x).view(b, n, self.num_heads, self.head_dim).permute(0, 2, 3, 1)
        v = self.W_value(x).view(b, n, self.num_heads, self.head_dim).permute(0, 2, 1, 3)
        s = q @ k_t / self.head_dim ** 0.5
        w = torch.softmax(s.masked_fill(self.mask[:n, :n], float("-inf")), dim=-1)
        w = drop(w, self.dropout, self.training)
        return self.out_proj((w @ v).permute(0, 2, 1, 3).reshape(b, n, -1))


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
