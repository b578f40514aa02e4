import torch
from torch import nn

from . import ops
from .causal import CausalAttention


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        heads = [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        self.heads = nn.ModuleList(heads)

    def forward(self, x):
        return torch.cat([h(x) for h in self.heads], dim=-1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("d_out must be a multiple of num_heads")
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.drop = nn.Dropout(dropout)
        self.num_heads = num_heads

    def forward(self, x):
        b, t, _ = x.shape

        def heads(y):
            return y.view(b, t, self.num_heads, -1).transpose(1, 2)

        q, k, v = heads(self.W_query(x)), heads(self.W_key(x)), heads(self.W_value(x))
        context = ops.attend(q, k, v, ops.future(t, like=x), self.drop)
        return self.out_proj(context.transpose(1, 2).reshape(b, t, -1))


def merge_heads(wrapper):
    first = wrapper.heads[0]
    d_out, d_in = first.W_query.weight.shape
    n = len(wrapper.heads)
    merged = MultiHeadAttention(
        d_in, n * d_out, first.context_length, first.drop.p, n, first.W_query.bias is not None
    )
    with torch.no_grad():
        for name, parameter in merged.named_parameters():
            if name.startswith("W_"):
                parameter.copy_(torch.cat([head.get_parameter(name) for head in wrapper.heads]))
        nn.init.eye_(merged.out_proj.weight)
        nn.init.zeros_(merged.out_proj.bias)
    return merged


def gpt2_attention():
    return MultiHeadAttention(768, 768, 1024, 0.1, 12, qkv_bias=True)
