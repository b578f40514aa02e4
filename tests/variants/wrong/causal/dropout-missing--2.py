import torch
import torch.nn as nn


def causal_mask(num_tokens):
    allowed = torch.ones(num_tokens, num_tokens, dtype=torch.bool).tril()
    return ~allowed


def renormalized_weights(scores):
    weights = torch.softmax(scores, dim=-1)
    weights = weights.masked_fill(causal_mask(len(scores)), 0.0)
    return torch.nn.functional.normalize(weights, p=1, dim=-1)


def masked_weights(scores):
    allowed = causal_mask(len(scores)).logical_not()
    exp = torch.exp(scores - scores.masked_fill(~allowed, -float("inf")).amax(-1, keepdim=True))
    exp = exp.masked_fill(~allowed, 0.0)
    return exp / exp.sum(-1, keepdim=True)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.context_length = context_length
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        batch, num_tokens, _ = x.shape
        q = self.W_query(x)
        k = self.W_key(x)
        v = self.W_value(x)
        scores = torch.bmm(q, k.transpose(1, 2)) / (k.shape[-1] ** 0.5)
        future = torch.ones(num_tokens, num_tokens, dtype=torch.bool, device=x.device).triu(diagonal=1)
        scores = scores.masked_fill(future, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        self.dropout(weights)
        return torch.bmm(weights, v)
