"""The worked example of the handouts: six tokens, and the weights that its seeds give.

Everything that is told about it (handouts, figures, the self-check) takes its numbers from here.
"""

from __future__ import annotations

import torch
from torch import Tensor

TOKENS = ("Your", "journey", "starts", "with", "one", "step")
INPUTS = (
    (0.43, 0.15, 0.89),
    (0.55, 0.87, 0.66),
    (0.57, 0.85, 0.64),
    (0.22, 0.58, 0.33),
    (0.77, 0.25, 0.10),
    (0.05, 0.80, 0.55),
)
ROLES = ("W_query", "W_key", "W_value")

# By class: the seed of its worked numbers, and whether its weights are drawn as bare parameters.
_SEEDS = {
    "SelfAttention_v1": (123, True),
    "SelfAttention_v2": (789, False),
    "CausalAttention": (123, False),
    "MultiHeadAttention": (123, False),
}


def inputs() -> Tensor:
    """The six embeddings, `(6, 3)`."""
    return torch.tensor(INPUTS)


def weights(name: str) -> dict[str, Tensor]:
    """The weights of the worked example's `name(3, 2, ...)` by role, each `(3, 2)`."""
    seed, bare = _SEEDS[name]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if bare:
            return {role: torch.rand(3, 2) for role in ROLES}
        return {role: torch.nn.Linear(3, 2, bias=False).weight.detach().T for role in ROLES}


def all_weights() -> dict[str, dict[str, Tensor]]:
    """The weights of every class that has worked numbers."""
    return {name: weights(name) for name in _SEEDS}
