"""Attention to the six words of the worked example: inputs and weights that make it visible."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from autograder.attention import worked_example
from autograder.attention.sample import Sizes
from autograder.checks.declaration import rounded

#: The six tokens of the handouts, of three dimensions each.
WORDS = worked_example.TOKENS
INPUTS = worked_example.inputs()

#: For each head a phase of its queries, one of its keys, and how strong both are: chosen by eye,
#: so that every row has words that it attends to and words that it does not.
HEADS = ((1.0, 2.0, 1.5), (4.0, 1.5, 1.2))
KEY_SIZE = 9  # holds the six words; no other size has its root
D_IN = 8  # unlike every other size; the tokens use six of it

#: Decimal places of numbers that the self-check holds.
DIGITS = 5


def shown(heads: int = 0, batch: int = 0) -> Sizes:
    """The sizes of a module whose attention is drawn."""
    return Sizes(
        d_in=D_IN,
        d_out=max(heads, 1) * KEY_SIZE,
        tokens=len(WORDS),
        batch=batch,
        context_length=10 if batch else 0,
        heads=heads,
    )


def visible_weights(sizes: Sizes) -> dict[str, Tensor]:
    """Weights by role with which one-hot tokens attend as the words' own inputs would.

    The rows of the query and key weights are the inputs, projected; the first columns of each
    head's values are the identity, and so is the output projection.
    """
    weights = {}
    for role, place, count in (("query", 0, max(sizes.heads, 1)), ("key", 1, sizes.key_heads)):
        columns = [
            INPUTS @ _wave(HEADS[head % len(HEADS)][place], HEADS[head % len(HEADS)][2])
            for head in range(count)
        ]
        weights[role] = torch.zeros(sizes.d_in, count * sizes.head_size)
        weights[role][: len(WORDS)] = torch.cat(columns, dim=-1)
    identity = torch.eye(len(WORDS), sizes.head_size)
    weights["value"] = torch.cat([identity] * sizes.key_heads, dim=-1)
    weights["value"] = torch.nn.functional.pad(weights["value"], (0, 0, 0, sizes.d_in - len(WORDS)))
    if sizes.heads:
        weights["output"] = torch.eye(sizes.d_out)
        weights["output_bias"] = torch.zeros(sizes.d_out)
    return weights


def _wave(phase: float, strength: float) -> Tensor:
    """A projection `(3, KEY_SIZE)` without any regular pattern, from the sine."""
    return strength * torch.tensor(
        [
            [math.sin(phase + 5.3 * row + 2.1 * column) for column in range(KEY_SIZE)]
            for row in range(INPUTS.shape[1])
        ]
    )


def short(tensor: Tensor) -> Tensor:
    """The tensor as it will be read back, rounded."""
    return torch.tensor(rounded(tensor, DIGITS), dtype=torch.float64)
