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
        if d_out % num_heads != 0:
            raise ValueError("d_out has to be a multiple of num_heads")
        self.n_head = num_heads
        self.scale = d_in ** -0.5
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.attn_drop = nn.Dropout(dropout)
        self.register_buffer("tril", torch.tril(torch.ones(context_length, context_length)).view(1, 1, context_length, context_length))

    def forward(self, x):
        B, T, _ = x.size()
        q = (self.W_query(x) * self.scale).view(B, T, self.n_head, -1).transpose(1, 2)
        k = self.W_key(x).view(B, T, self.n_head, -1).transpose(1, 2)
        v = self.W_value(x).view(B, T, self.n_head, -1).transpose(1, 2)
        att = q @ k.transpose(-2, -1)
        att = att.masked_fill(self.tril[:, :, :T, :T] == 0, -1e9)
        att = self.attn_drop(nn.functional.softmax(att, dim=-1))
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, -1)
        return self.out_proj(y)


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
