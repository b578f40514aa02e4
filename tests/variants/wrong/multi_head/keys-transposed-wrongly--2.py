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


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.context_length = context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = [
            layer(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        ]
        position = torch.arange(t, device=x.device)
        future = position.unsqueeze(0) > position.unsqueeze(1)
        scores = (q @ k.T) / self.head_dim**0.5
        scores = scores.masked_fill(future, float("-inf"))
        context = self.dropout(scores.softmax(dim=-1)) @ v
        return self.out_proj(context.transpose(1, 2).flatten(-2))


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
    return MultiHeadAttention(
        d_in=768, d_out=768, context_length=1024, dropout=0.0, num_heads=12, qkv_bias=False
    )
