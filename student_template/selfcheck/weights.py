"""The student's attention weights on the worked example, read from the outside.

A module gives context vectors and no weights. But where the values are an identity, the context
vectors *are* the weights. So each token carries, behind its embedding, a mark of its own that
queries and keys do not look at, and the values pick the marks out, as many at a time as there are
columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from .course import Stage, course
from .mistakes import set_weight

HEADS = 2


def weights_of(stage: Stage, module: ModuleType) -> Iterator[dict[str, Any]]:
    """The stage's attention weights, as contents of events; nothing where it does not run yet."""
    example = course().example
    inputs = torch.tensor(example.inputs)
    for name in stage.names:
        try:
            if name.name == "attention_weights":
                matrices = [module.attention_weights(inputs)]
            elif name.name in example.weights:
                matrices = _seen_through_marks(module, name.name, inputs)
            else:
                continue
            square = (len(inputs), len(inputs))
            rows = [matrix.tolist() for matrix in matrices if tuple(matrix.shape) == square]
        except Exception:  # not written yet, or wrong in a way that the checks tell
            continue
        for number, matrix in enumerate(rows, start=1):
            title = f"{name.name}, head {number}" if len(rows) > 1 else name.name
            yield {"stage": stage.id, "title": title, "rows": matrix}


@torch.no_grad()
def _seen_through_marks(module: ModuleType, name: str, inputs: Tensor) -> list[Tensor]:
    weights = {role: torch.tensor(rows) for role, rows in course().example.weights[name].items()}
    count, width = inputs.shape
    columns = weights["W_query"].shape[1]
    attention = _built(getattr(module, name), count + width, columns, count)
    for role, weight in weights.items():
        unseen = torch.zeros(count, columns)
        set_weight(attention, role, torch.cat([weight, unseen]))
    several = isinstance(getattr(attention, "out_proj", None), nn.Linear)
    if several:
        set_weight(attention, "out_proj", torch.eye(columns))
        set_weight(attention, "out_proj.bias", torch.zeros(columns))
    heads = HEADS if several else 1
    tokens = torch.cat([inputs, torch.eye(count)], dim=-1)
    seen = [torch.zeros(count, count) for _ in range(heads)]
    each = columns // heads  # how many marks one call shows of each head
    for first in range(0, count, each):
        picked = torch.zeros(count + width, columns)
        for column in range(columns):
            mark = first + column % each
            if mark < count:
                picked[width + mark, column] = 1.0
        set_weight(attention, "W_value", picked)
        batch = tokens if name.startswith("SelfAttention") else tokens.unsqueeze(0)
        out = attention(batch).reshape(count, columns)
        for column in range(columns):
            mark = first + column % each
            if mark < count:
                seen[column // each][:, mark] = out[:, column]
    return seen


def _built(kind: Any, d_in: int, d_out: int, count: int) -> nn.Module:
    sizes: dict[str, Any] = {"d_in": d_in, "d_out": d_out}
    if kind.__name__ == "MultiHeadAttention":
        sizes["num_heads"] = HEADS
    if not kind.__name__.startswith("SelfAttention"):
        sizes |= {"context_length": count, "dropout": 0.0}
    module: nn.Module = kind(**sizes)
    return module.eval()
