import torch
from torch import nn


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        qkv = x @ torch.cat([self.W_query, self.W_key, self.W_value], dim=1)
        q, k, v = qkv.split(self.d_out, dim=-1)
        return torch.softmax(q @ k.T * self.d_out**-0.5, -1) @ v


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        layers = [self.W_query, self.W_key, self.W_value]
        weight = torch.cat([layer.weight for layer in layers])
        bias = torch.cat([layer.bias for layer in layers]) if layers[0].bias is not None else None
        q, k, v = nn.functional.linear(x, weight, bias).chunk(3, dim=-1)
        return torch.softmax(q @ k.T * self.d_out**-0.5, -1) @ v


def copy_weights(source, target):
    with torch.no_grad():
        for (_, p), layer in zip(
            target.named_parameters(), [source.W_query, source.W_key, source.W_value]
        ):
            p.copy_(layer.weight.detach().T)
