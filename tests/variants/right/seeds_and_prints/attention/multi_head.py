"""Prints, warns, and sets seeds where they do no harm."""
import warnings

import torch
import torch.nn as nn

from .causal import CausalAttention

torch.manual_seed(123)


class MultiHeadAttentionWrapper(nn.Module):

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.sizes = (d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        torch.manual_seed(123)  # same weights every time
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1).bool())
        print("created", self.__class__.__name__, "with", num_heads, "heads")

    def forward(self, x):
        b, n, _ = x.shape
        print("forward", tuple(x.shape))
        if self.training:
            warnings.warn("dropout is on")
        q = self.W_query(x).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        attn = (q @ k.transpose(2, 3)) / self.head_dim ** 0.5
        attn = attn.masked_fill(self.mask[:n, :n], float("-inf"))
        attn = torch.softmax(attn, dim=-1)
        out = (self.dropout(attn) @ v).transpose(1, 2).contiguous().view(b, n, -1)
        return self.out_proj(out)


def merge_heads(wrapper):
    d_in, d_out, context_length, p, H, bias = wrapper.sizes
    big = MultiHeadAttention(d_in, d_out * H, context_length, p, H, bias)
    for kind in ["weight", "bias"] if bias else ["weight"]:
        for role in ["W_query", "W_key", "W_value"]:
            blocks = torch.stack([getattr(getattr(head, role), kind).detach() for head in wrapper.heads])
            setattr(getattr(big, role), kind, nn.Parameter(blocks.flatten(0, 1)))
    big.out_proj.weight = nn.Parameter(torch.eye(d_out * H, dtype=big.W_query.weight.dtype))
    big.out_proj.bias = nn.Parameter(torch.zeros(d_out * H, dtype=big.W_query.weight.dtype))
    return big.train(wrapper.training)


GPT_CONFIG_124M = {
    "vocab_size": 50257,
    "context_length": 1024,
    "emb_dim": 768,
    "n_heads": 12,
    "n_layers": 12,
    "drop_rate": 0.1,
    "qkv_bias": False,
}


def gpt2_attention():
    cfg = GPT_CONFIG_124M
    return MultiHeadAttention(
        d_in=cfg["emb_dim"],
        d_out=cfg["emb_dim"],
        context_length=cfg["context_length"],
        num_heads=cfg["n_heads"],
        dropout=cfg["drop_rate"],
        qkv_bias=cfg["qkv_bias"],
    )
