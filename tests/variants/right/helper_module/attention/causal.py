import torch
from torch import nn

from . import ops
from .ops import future as causal_future


def causal_mask(num_tokens):
    return causal_future(num_tokens)


def renormalized_weights(scores):
    weights = torch.softmax(scores, -1) * ~causal_mask(scores.shape[-1])
    return weights / weights.sum(-1, keepdim=True)


def masked_weights(scores):
    # attention whose values are one-hot gives the weights themselves; here q @ k is given
    return torch.softmax(scores.masked_fill(causal_mask(scores.shape[-1]), float("-inf")), -1)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.drop = nn.Dropout(dropout)
        self.context_length = context_length

    def forward(self, x):
        hidden = ops.future(x.shape[1], like=x)
        return ops.attend(self.W_query(x), self.W_key(x), self.W_value(x), hidden, self.drop)
