import torch
import torch.nn as nn


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        keys = x @ self.W_key
        queries = x @ self.W_query
        values = x @ self.W_value
        scores_t = keys @ queries.T / keys.shape[1] ** 0.5   # row = key, column = query
        weights_t = torch.softmax(scores_t, dim=0)
        return weights_t.T @ values


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        scores_t = self.W_key(x) @ self.W_query(x).T
        weights_t = torch.softmax(scores_t / scores_t.new_tensor(self.W_key.out_features).sqrt(), dim=0)
        return weights_t.T @ self.W_value(x)


def copy_weights(source, target):
    for layer in ["W_query", "W_key", "W_value"]:
        getattr(source, layer).weight = nn.Parameter(getattr(target, layer).detach().T.clone())
