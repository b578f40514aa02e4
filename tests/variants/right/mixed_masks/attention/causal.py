import torch
import torch.nn as nn


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
    """A buffer of positions; the comparison is made in forward."""

    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.attend = nn.Sequential(nn.Softmax(dim=-1), nn.Dropout(dropout))
        self.register_buffer("positions", torch.arange(context_length))

    def forward(self, x):
        here = self.positions[: x.shape[1]]
        scores = self.W_query(x) @ self.W_key(x).mT / self.W_key.out_features ** 0.5
        scores = scores.masked_fill(here > here.unsqueeze(-1), float("-inf"))
        return self.attend(scores) @ self.W_value(x)
