"""Calls much of what PyTorch has, once: the first call of anything takes far longer.

A spare process does this while you type. The list is in the order of the alphabet, and each is
called with whatever it takes; what attention is made of is for you to find out.
"""

from __future__ import annotations

import contextlib
import gc

import torch
from torch import nn

from .mistakes import known

METHODS = """
abs all amax any argmax bmm bool chunk clone contiguous cos count_nonzero cumsum detach diagonal
div double eq exp expand_as fill_diagonal_ flatten flip float ge gt isfinite isnan item le log
log_softmax logical_not logsumexp lt masked_fill matmul max mean min mT mul ne neg numel permute pow
prod ravel relu repeat repeat_interleave reshape rsqrt select sigmoid sin size softmax split sqrt
square squeeze stack std sub sum t tanh to tolist transpose tril triu type_as unbind unfold
unsqueeze var view
"""
LAYERS = "Bilinear Dropout Embedding Flatten GELU Identity LayerNorm Linear ModuleList ReLU"
MAKERS = "arange empty eye full linspace ones rand randn tensor tril_indices triu_indices zeros"


def warm() -> None:
    """Call everything once, and let Python not look through what it has by now ever again."""
    known()
    torch.manual_seed(0)
    stack, square = torch.rand(2, 3, 3), torch.rand(3, 3)
    tries = ((), (1,), (-1,), (0, 1), (3, 3), (2, 3, 3), (1, 2, 0), (square,), (square > 0.5, 0.0))
    for value in (stack, square):
        for name in METHODS.split():
            for arguments in tries:
                with contextlib.suppress(Exception):
                    getattr(value, name)(*arguments)
    for name in MAKERS.split():
        for numbers in ((3,), (3, 3), (0, 9), ((3, 3), 0.5)):
            with contextlib.suppress(Exception):
                getattr(torch, name)(*numbers)
    modules = []
    for name in LAYERS.split():
        for sizes in ((), (3,), (3, 3)):
            with contextlib.suppress(Exception):
                modules.append(getattr(nn, name)(*sizes))
                modules[-1](stack)
    layer = nn.Linear(3, 3)
    kept = nn.ModuleList([layer, *modules]).eval()
    layer(stack).mean().backward()
    kept.load_state_dict(kept.state_dict())
    torch.isclose(stack, stack, rtol=0, atol=1e-4).all().tolist()
    torch.equal(torch.as_tensor([1.0]), torch.empty(1).uniform_())
    torch.allclose(stack, stack)
    torch.einsum("ab,ab->a", square, square)
    str(stack)
    gc.collect()
    gc.freeze()
