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
    """Attends to x first and projects what was gathered; the bias is added with the dropped weights."""

    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.p = dropout
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.register_buffer("future", causal_mask(context_length))

    def weights(self, x):
        T = x.shape[1]
        scores = torch.bmm(self.W_query(x), self.W_key(x).mT) * self.W_key.out_features ** -0.5
        weights = scores.masked_fill(self.future[:T, :T], -torch.inf).softmax(-1)
        return F.dropout(weights, self.p, self.training)

    def forward(self, x):
        w = self.weights(x)
        gathered = (w @ x) @ self.W_value.weight.T
        if self.W_value.bias is not None:
            gathered = gathered + w.sum(-1, keepdim=True) * self.W_value.bias
        return gathered
