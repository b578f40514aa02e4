from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Config:
    d_in: int
    d_out: int
    qkv_bias: bool = False

    @property
    def temperature(self) -> float:
        return float(self.d_out) ** 0.5


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.config = Config(d_in, d_out)
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))
        self.last_attention: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = (x @ self.W_query) @ (x @ self.W_key).T
        weights: Tensor = torch.softmax(scores / self.config.temperature, dim=-1)
        self.last_attention = weights.detach()  # for plotting
        return weights @ (x @ self.W_value)


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.config = Config(d_in, d_out, qkv_bias)
        self.W_query: nn.Linear = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key: nn.Linear = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value: nn.Linear = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.last_attention: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.W_query(x) @ self.W_key(x).T
        weights: Tensor = torch.softmax(scores / self.config.temperature, dim=-1)
        self.last_attention = weights.detach()
        return weights @ self.W_value(x)


def copy_weights(source: SelfAttention_v2, target: SelfAttention_v1) -> None:
    with torch.no_grad():
        target.W_query.set_(source.W_query.weight.T.contiguous())
        target.W_key.set_(source.W_key.weight.T.contiguous())
        target.W_value.set_(source.W_value.weight.T.contiguous())
