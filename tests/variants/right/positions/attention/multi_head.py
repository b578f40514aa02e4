"""Positions are compared in forward, Softmax and Dropout are layers in a Sequential."""
import torch
import torch.nn as nn

from .causal import CausalAttention


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
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False, verbose=False):
        super().__init__()
        self.head_dim, rest = divmod(d_out, num_heads)
        if rest != 0:
            raise ValueError(f"{d_out} is not a multiple of {num_heads}")
        self.verbose = verbose
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.to_weights = nn.Sequential(nn.Softmax(dim=-1), nn.Dropout(dropout))
        self.register_buffer("positions", torch.arange(context_length))

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (
            y.reshape(b, n, self.num_heads, self.head_dim).transpose(1, 2)
            for y in (self.W_query(x), self.W_key(x), self.W_value(x))
        )
        if self.verbose:
            print("queries", q.shape)
        here = self.positions[:n]
        scores = q.matmul(k.mT) / self.head_dim ** 0.5
        scores = torch.where(here <= here[:, None], scores, float("-inf"))
        context = self.to_weights(scores).matmul(v)
        return self.out_proj(context.transpose(1, 2).reshape(b, n, self.num_heads * self.head_dim))


def merge_heads(wrapper):
    d_in, d_out, context_length, dropout, num_heads, qkv_bias = wrapper.sizes
    merged = MultiHeadAttention(
        d_in, num_heads * d_out, context_length, dropout, num_heads, qkv_bias
    )
    with torch.no_grad():
        for name in ("W_query", "W_key", "W_value"):
            layers = [getattr(head, name) for head in wrapper.heads]
            getattr(merged, name).weight.copy_(torch.cat([layer.weight for layer in layers]))
            if qkv_bias:
                getattr(merged, name).bias.copy_(torch.cat([layer.bias for layer in layers]))
        merged.out_proj.weight.copy_(torch.eye(num_heads * d_out))
        merged.out_proj.bias.zero_()
    return merged


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
