"""Out projection written out, split by reshape of the transposed projection; asks for T <= context_length."""
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
        assert d_out % num_heads == 0, "d_out must be divisible by num_heads"
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.context_length = context_length

    def forward(self, x):
        b, n, _ = x.shape
        assert n <= self.context_length, "too many tokens"

        def heads(layer):
            y = layer(x).transpose(1, 2)                             # (b, d_out, T)
            return y.reshape(b, self.num_heads, self.head_dim, n)    # (b, H, d_k, T)

        q, k, v = heads(self.W_query), heads(self.W_key), heads(self.W_value)
        scores = q.transpose(2, 3) @ k / self.head_dim ** 0.5
        future = torch.full((n, n), -torch.inf, dtype=x.dtype, device=x.device).triu(1)
        weights = self.dropout(torch.softmax(scores + future, dim=-1))
        context = v @ weights.transpose(2, 3)                        # (b, H, d_k, T)
        context = context.reshape(b, -1, n).transpose(1, 2)
        return context @ self.out_proj.weight.T + self.out_proj.bias


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


def gpt2_attention():
    return MultiHeadAttention(768, 768, 1024, 0.0, 12, True)
