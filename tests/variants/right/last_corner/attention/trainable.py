"""Scale folded into the queries; W_key is created first."""
import torch
from torch import nn
import torch.nn.functional as F


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_key = nn.Parameter(torch.empty(d_in, d_out))
        self.W_query = nn.Parameter(torch.empty(d_in, d_out))
        self.W_value = nn.Parameter(torch.empty(d_in, d_out))
        self.scale = d_out ** -0.5
        for w in self.parameters():
            nn.init.xavier_uniform_(w)

    def forward(self, x):
        q = torch.matmul(x, self.W_query) * self.scale
        k = torch.matmul(x, self.W_key)
        v = torch.matmul(x, self.W_value)
        return torch.matmul(F.softmax(torch.matmul(q, k.transpose(-2, -1)), dim=-1), v)


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.scale = d_out ** -0.5

    def forward(self, x):
        q = self.W_query(x) * self.scale
        k, v = self.W_key(x), self.W_value(x)
        return torch.matmul(F.softmax(torch.matmul(q, k.transpose(-2, -1)), dim=-1), v)


def copy_weights(source, target):
    state = {key[: -len(".weight")]: value.T for key, value in source.state_dict().items()}
    target.load_state_dict(state)
