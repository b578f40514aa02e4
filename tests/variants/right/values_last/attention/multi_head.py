"""Each head gets its block of the weights by a batched product, the outputs are summed up at the end."""
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
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1).bool())

    def _heads(self, x, layer):
        w = layer.weight.view(self.num_heads, self.head_dim, -1).transpose(1, 2)   # (H, d_in, d_k)
        y = x.unsqueeze(1) @ w                                                      # (b, H, T, d_k)
        return y if layer.bias is None else y + layer.bias.view(self.num_heads, 1, self.head_dim)

    def forward(self, x):
        T = x.shape[1]
        q, k, v = (self._heads(x, m) for m in (self.W_query, self.W_key, self.W_value))
        scores = (q @ k.transpose(-2, -1)).div(self.head_dim ** 0.5)
        weights = scores.masked_fill(self.mask[:T, :T], -torch.inf).softmax(-1)
        context = self.dropout(weights) @ v
        # joined output times out_proj is the sum over heads of each with its columns
        columns = self.out_proj.weight.T.view(self.num_heads, self.head_dim, -1)
        return (context @ columns).sum(dim=1) + self.out_proj.bias


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


def gpt2_attention():
    return MultiHeadAttention(
        d_in=768, d_out=768, context_length=1024, dropout=0.0, num_heads=12, qkv_bias=False
    )
