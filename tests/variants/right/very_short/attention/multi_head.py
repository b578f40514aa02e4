"""As short as it gets."""
import torch, torch.nn as nn
from .causal import CausalAttention


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(s, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(); s.a = (d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        s.heads = nn.ModuleList(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads))
    def forward(s, x): return torch.cat([h(x) for h in s.heads], -1)


class MultiHeadAttention(nn.Module):
    def __init__(s, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__(); assert not d_out % num_heads; s.n = num_heads
        s.W_query, s.W_key, s.W_value = (nn.Linear(d_in, d_out, qkv_bias) for _ in "qkv")
        s.out_proj, s.drop = nn.Linear(d_out, d_out), nn.Dropout(dropout)
        s.register_buffer("m", torch.ones(context_length, context_length).triu(1).bool())
    def forward(s, x):
        T = x.size(1); q, k, v = (f(x).unflatten(2, (s.n, -1)).transpose(1, 2) for f in (s.W_query, s.W_key, s.W_value))
        a = (q @ k.mT * q.size(-1) ** -.5).masked_fill(s.m[:T, :T], -torch.inf).softmax(-1)
        return s.out_proj((s.drop(a) @ v).transpose(1, 2).flatten(2))


def merge_heads(w):
    i, o, c, p, H, b = w.a; m = MultiHeadAttention(i, o * H, c, p, H, b); sd = m.state_dict()
    for k in sd:
        if k[:2] == "W_": sd[k] = torch.cat([h.state_dict()[k] for h in w.heads])
    sd["out_proj.weight"], sd["out_proj.bias"] = torch.eye(o * H), torch.zeros(o * H)
    m.load_state_dict(sd); return m


def gpt2_attention(): return MultiHeadAttention(768, 768, 1024, .1, 12)
