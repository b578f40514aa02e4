import torch
import torch.nn as nn
import torch.nn.functional as F


def _attention(queries, keys, values):
    d_k = keys.shape[-1]
    with torch.no_grad():  # saves memory
        scores = torch.mm(queries, keys.t())
        scores = torch.div(scores, torch.sqrt(torch.tensor(d_k, dtype=scores.dtype)))
    return torch.mm(F.softmax(scores, dim=1), values)


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super(SelfAttention_v1, self).__init__()
        self.W_query = nn.Parameter(torch.randn(d_in, d_out) / d_in)
        self.W_key = nn.Parameter(torch.randn(d_in, d_out) / d_in)
        self.W_value = nn.Parameter(torch.randn(d_in, d_out) / d_in)

    def forward(self, x):
        return _attention(
            F.linear(x, self.W_query.T), F.linear(x, self.W_key.T), F.linear(x, self.W_value.T)
        )


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super(SelfAttention_v2, self).__init__()
        self.W_query = nn.Linear(d_in, d_out, qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, qkv_bias)

    def forward(self, x):
        return _attention(
            F.linear(x, self.W_query.weight, self.W_query.bias),
            F.linear(x, self.W_key.weight, self.W_key.bias),
            F.linear(x, self.W_value.weight, self.W_value.bias),
        )


def copy_weights(source, target):
    target.W_query.data = source.W_query.weight.data.T.clone()
    target.W_key.data = source.W_key.weight.data.T.clone()
    target.W_value.data = source.W_value.weight.data.T.clone()
