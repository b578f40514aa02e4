"""Calls what code of this course calls, once: the first call of anything takes far longer.

A spare process does this while you type. The operations stand here one by one; how attention is
made of them is for you to say.
"""

from __future__ import annotations

import gc

import torch
from torch import nn

from .mistakes import known


def warm() -> None:
    """Call everything once, and let Python not look through what it has by now ever again."""
    known()
    torch.manual_seed(0)
    square = torch.rand(2, 3, 3)
    layer = nn.Linear(3, 3)
    for result in (
        layer(square),
        square @ square.transpose(1, 2),
        torch.matmul(square, square.mT),
        torch.einsum("bij,bjk->bik", square, square),
        square.exp() / square.sum(dim=-1, keepdim=True),
        square - square.max(dim=-1, keepdim=True).values,
        square.masked_fill(torch.ones(3, 3).triu(1).bool(), -torch.inf),
        torch.tril(torch.ones(3, 3)) * square,
        torch.softmax(square / 3**0.5, dim=-1),
        nn.Dropout(0.5)(square),
        nn.Parameter(torch.randn(3, 3)).T.square().mean(),
        torch.stack([square, square.clone()]),
        torch.cat([square, square], dim=-1).view(2, 3, 2, 3).permute(0, 2, 1, 3).contiguous(),
        torch.eye(3).repeat(2, 1, 1),
        torch.arange(9.0).reshape(3, 3).unsqueeze(0).expand(2, 3, 3),
        torch.zeros(3, 3).float().flip(0),
    ):
        torch.isclose(result, result, rtol=0, atol=1e-4).all().tolist()
        torch.isfinite(result).any().item()
    layer(square).square().sum().backward()
    layer.weight.data.copy_(torch.full((3, 3), 0.5))
    module = nn.ModuleList([layer]).eval()
    module.load_state_dict(module.state_dict())
    torch.equal(torch.as_tensor([1.0]), torch.empty(1).uniform_())
    torch.allclose(square, square)
    str(square)
    gc.collect()
    gc.freeze()
