"""The mask is cut as [-T:, -T:]; sizes read from the first head in merge_heads."""
import torch
import torch.nn as nn

from .causal import CausalAttention


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList([CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
                                    for i in range(num_heads)])

    def forward(self, x):
        out = self.heads[0](x)
        for head in self.heads[1:]:
            out = torch.cat((out, head(x)), dim=-1)
        return out


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0
        self.d_out, self.num_heads, self.head_dim = d_out, num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(1, 1, context_length, context_length), diagonal=1) > 0)

    def forward(self, x):
        b, T, _ = x.shape
        q = self.W_query(x).view(b, T, self.num_heads, self.head_dim)
        k = self.W_key(x).view(b, T, self.num_heads, self.head_dim)
        v = self.W_value(x).view(b, T, self.num_heads, self.head_dim)
        q.transpose_(1, 2), k.transpose_(1, 2), v.transpose_(1, 2)
        attn = q @ k.transpose(2, 3)
        attn = torch.masked_fill(attn, self.mask[..., -T:, -T:], -torch.inf)
        attn = torch.softmax(attn / self.head_dim ** 0.5, dim=3)
        ctx = self.dropout(attn) @ v
        return self.out_proj(ctx.transpose(1, 2).reshape(b, T, self.d_out))


def merge_heads(wrapper):
    heads = wrapper.heads
    first = heads[0]
    d_out, d_in = first.W_value.weight.shape
    total = d_out * len(heads)
    mha = MultiHeadAttention(d_in, total, first.mask.shape[-1], first.dropout.p, len(heads),
                             qkv_bias=first.W_value.bias is not None)
    state = {f"{n}.{kind}": torch.cat([getattr(getattr(h, n), kind) for h in heads])
             for n in ("W_query", "W_key", "W_value") for kind in ("weight", "bias")
             if getattr(getattr(first, n), kind) is not None}
    state["out_proj.weight"] = torch.eye(total)
    state["out_proj.bias"] = torch.zeros(total)
    mha.load_state_dict(state, strict=False)
    return mha


def gpt2_attention():
    return MultiHeadAttention(768, 768, 1024, 0.1, 12, qkv_bias=True)
