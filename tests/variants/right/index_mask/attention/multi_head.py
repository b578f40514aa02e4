"""Heads before the batch: (H, b, T, d_k)."""
import torch
import torch.nn as nn

from .causal import CausalAttention


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.sizes = (d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.d_out = d_out
        self.heads = nn.ModuleList()
        for h in range(num_heads):
            self.heads.add_module(str(h), CausalAttention(d_in, d_out, context_length, dropout, qkv_bias))

    def forward(self, x):
        out = x.new_empty(x.shape[0], x.shape[1], len(self.heads) * self.d_out)
        for h, head in enumerate(self.heads):
            out[..., h * self.d_out : (h + 1) * self.d_out] = head(x)
        return out


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0, "d_out must be divisible by num_heads"
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1).bool())

    def forward(self, x):
        b, n, _ = x.shape
        q = self.W_query(x).view(b, n, self.num_heads, self.head_dim).permute(2, 0, 1, 3)
        k = self.W_key(x).view(b, n, self.num_heads, self.head_dim).permute(2, 0, 1, 3)
        v = self.W_value(x).view(b, n, self.num_heads, self.head_dim).permute(2, 0, 1, 3)
        scores = q @ k.transpose(-1, -2) / self.head_dim ** 0.5
        weights = scores.masked_fill(self.mask[:n, :n], -torch.inf).softmax(dim=-1)
        context = self.dropout(weights) @ v                         # (H, b, n, d_k)
        return self.out_proj(context.permute(1, 2, 0, 3).flatten(2))


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
