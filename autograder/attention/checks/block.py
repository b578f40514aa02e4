"""A small trusted GPT block, in which a student's attention must serve as well as the reference.

Normalisation, attention, shortcut, normalisation, feed-forward, shortcut (the order of GPT-2).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import gelu, layer_norm

from autograder.attention.sample import Sample


def gpt_block(sample: Sample, tokens: Tensor, attention: Callable[[Tensor], Tensor]) -> Tensor:
    """`(b, T, d)` to `(b, T, d)` through one block around `attention`."""
    width = tokens.shape[-1]
    attended = tokens + attention(layer_norm(tokens, (width,))).detach()
    with torch.no_grad():
        inner = gelu(layer_norm(attended, (width,)) @ sample.numbers("inner", width, 4 * width))
        return attended + inner @ sample.numbers("outer", 4 * width, width)
