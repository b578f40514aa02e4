import torch
import torch.nn as nn

from .causal import CausalAttention, MaskedAttention


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.options = dict(context_length=context_length, dropout=dropout, num_heads=num_heads, qkv_bias=qkv_bias)
        self.d_in, self.d_out = d_in, d_out
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)
        )

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.split = nn.Unflatten(-1, (num_heads, d_out // num_heads))
        self.join = nn.Flatten(start_dim=2)
        self.core = MaskedAttention(context_length, dropout)

    def forward(self, x):
        q, k, v = (self.split(layer(x)).transpose(1, 2) for layer in (self.W_query, self.W_key, self.W_value))
        return self.out_proj(self.join(self.core(q, k, v).transpose(1, 2)))


@torch.no_grad()
def merge_heads(wrapper):
    n = wrapper.options["num_heads"]
    merged = MultiHeadAttention(wrapper.d_in, n * wrapper.d_out, **wrapper.options)
    for h, head in enumerate(wrapper.heads):
        rows = slice(h * wrapper.d_out, (h + 1) * wrapper.d_out)
        for path, parameter in head.named_parameters():
            merged.get_parameter(path)[rows] = parameter
    merged.out_proj.weight.fill_(0.0).fill_diagonal_(1.0)
    merged.out_proj.bias.fill_(0.0)
    return merged


def gpt2_attention():
    return MultiHeadAttention(num_heads=12, d_in=768, d_out=768, dropout=0.1, context_length=1024)
