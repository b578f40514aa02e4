"""One linear product for q, k, v: weights joined in forward; baddbmm adds the float mask."""
import torch
import torch.nn as nn
import torch.nn.functional as F


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
        self.dropout = nn.Dropout(dropout)
        mask = torch.zeros(context_length, context_length)
        mask = mask.masked_fill(causal_mask(context_length), float("-inf"))
        self.register_buffer("mask", mask)

    def _qkv(self, x):
        weight = torch.cat([self.W_query.weight, self.W_key.weight, self.W_value.weight], dim=0)
        bias = None
        if self.W_query.bias is not None:
            bias = torch.cat([self.W_query.bias, self.W_key.bias, self.W_value.bias])
        return F.linear(x, weight, bias).chunk(3, dim=-1)

    def forward(self, x):
        T = x.shape[1]
        q, k, v = self._qkv(x)
        scores = torch.baddbmm(self.mask[:T, :T].unsqueeze(0), q, k.transpose(1, 2), alpha=q.size(-1) ** -0.5)
        return torch.bmm(self.dropout(scores.softmax(-1)), v)
