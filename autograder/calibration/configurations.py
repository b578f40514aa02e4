"""Random configurations, on which a mutant and the solution are called side by side."""

from __future__ import annotations

import random
import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import torch
from torch import Tensor

Namespace = Mapping[str, Any]


_numbers = count()


def loaded(sources: Mapping[str, str]) -> dict[str, Namespace]:
    """The modules of a package by name, executed in order under a package name of their own."""
    package = f"_calibrated_{next(_numbers)}"
    parent = types.ModuleType(package)
    parent.__path__ = []
    sys.modules[package] = parent
    spaces: dict[str, Namespace] = {}
    made = [package]
    try:
        for name, source in sources.items():
            module = types.ModuleType(f"{package}.{name}")
            module.__package__ = package
            sys.modules[module.__name__] = module
            made.append(module.__name__)
            exec(compile(source, f"{name}.py", "exec"), module.__dict__)
            spaces[name] = module.__dict__
    finally:
        for each in made:
            sys.modules.pop(each, None)
    return spaces


@dataclass(frozen=True, slots=True)
class Configuration:
    """Sizes, seed and precision of one comparison; all sizes are allowed by the contract."""

    seed: int
    tokens: int
    batch: int
    d_in: int
    d_k: int
    heads: int
    spare: int  # how many tokens more the context has
    dropout: float
    bias: bool
    double: bool
    reach: float

    @property
    def context(self) -> int:
        """The context length."""
        return self.tokens + self.spare

    def numbers(self, *shape: int, reach: float | None = None) -> Tensor:
        """Random numbers, the same for the same configuration and shape.

        Args:
            *shape: The shape.
            reach: Their standard deviation; the configuration's by default.
        """
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + sum(shape))
        kind = torch.float64 if self.double else torch.float32
        drawn = torch.randn(*shape, generator=generator, dtype=torch.float64)
        return (drawn * (self.reach if reach is None else reach)).to(kind)


def configuration(seed: int) -> Configuration:
    """The configuration with this number."""
    draw = random.Random(seed)
    return Configuration(
        seed=seed,
        tokens=draw.choice((1, 2, 3, 4, 5, 7)),
        batch=draw.choice((1, 2, 3, 5)),
        d_in=draw.choice((1, 2, 3, 5, 8)),
        d_k=draw.choice((1, 2, 3, 4, 6)),
        heads=draw.choice((1, 2, 3, 4)),
        spare=draw.choice((0, 0, 1, 3)),
        dropout=draw.choice((0.0, 0.0, 0.3, 0.6)),
        bias=draw.random() < 0.5,
        double=draw.random() < 0.7,
        reach=draw.choice((0.3, 1.0, 2.0)),
    )
