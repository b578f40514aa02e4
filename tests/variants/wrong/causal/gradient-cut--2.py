import torch
import torch.nn as nn
import torch.nn.functional as F


def causal_mask(num_tokens):
    i = torch.arange(num_tokens)
    return i[None, :] > i[:, None]


def renormalized_weights(scores):
    weights = scores.softmax(-1)
    weights = torch.where(causal_mask(scores.size(-1)), torch.zeros_like(weights), weights)
    return weights / weights.sum(-1, keepdim=True)


def masked_weights(scores):
    hidden = causal_mask(scores.size(-1))
    return torch.where(hidden, torch.full_like(scores, float("-inf")), scores).softmax(-1)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, qkv_bias)
        self.p = dropout
        allowed = torch.tril(torch.ones(context_length, context_length, dtype=torch.bool))
        self.register_buffer("allowed", allowed)

    def forward(self, x):
        _, t, _ = x.size()
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        s = torch.matmul(q, k.transpose(-1, -2)) * k.size(-1) ** -0.5
        s = torch.where(self.allowed[:t, :t], s, -float("inf"))
        with torch.no_grad():
            a = F.dropout(F.softmax(s, dim=-1), p=self.p, training=self.training)
        return torch.matmul(a, v)
