import torch
from torch import nn


def causal_mask(num_tokens):
    return torch.tril(torch.ones(num_tokens, num_tokens)) == 0


def renormalized_weights(scores):
    w = torch.tril(torch.softmax(scores, dim=-1))
    return w / w.sum(dim=1, keepdim=True)


def masked_weights(scores):
    num_tokens = scores.shape[-1]
    return torch.softmax(scores + torch.full((num_tokens, num_tokens), float("-inf")).triu(1), dim=-1)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.scale = 1.0 / d_out ** 0.5
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("tril", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x):
        B, T, C = x.shape
        q = self.W_query(x) * self.scale
        k = self.W_key(x)
        wei = q @ k.transpose(-2, -1)
        wei = wei * self.tril[:T, :T]
        wei = torch.softmax(wei, dim=-1)
        wei = self.dropout(wei)
        return wei @ self.W_value(x)
