"""Training and evaluation mode: as torch's own `train` does it, and for layers outside as well."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

from autograder.sandbox.guest.modes import bring_along, put_into


class Stubborn(nn.Dropout):
    def train(self, mode: bool = True) -> Stubborn:
        super().train(True)
        return self


class Counting(nn.Linear):
    def __init__(self) -> None:
        super().__init__(2, 2)
        self.times = 0

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "training":
            self.times = getattr(self, "times", 0) + 1


class Hiding(nn.Sequential):
    def named_children(self) -> Iterator[tuple[str, nn.Module]]:
        yield from ()


class Around(nn.Module):
    def __init__(self, *inner: nn.Module) -> None:
        super().__init__()
        self.inner = nn.ModuleList(inner)
        self.nothing: nn.Module | None
        self.register_module("nothing", None)


def modes(module: nn.Module) -> list[bool]:
    return [part.training for part in module.modules()]


BUILDS = {
    "a layer": lambda: nn.Linear(2, 2),
    "layers in layers": lambda: Around(nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5)), Around()),
    "one with a mode of its own": lambda: Around(Stubborn(0.5), nn.Linear(2, 2)),
    "one that hides its parts": lambda: Around(Hiding(nn.Linear(2, 2)), nn.Linear(2, 2)),
    "one that is there twice": lambda: Around(*[nn.Linear(2, 2)] * 2),
    "one that is of the library's": lambda: nn.TransformerEncoderLayer(4, 2),
}


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("training", [True, False])
def test_every_part_is_in_the_mode_that_torch_would_put_it_into(build: str, training: bool) -> None:
    ours, theirs = BUILDS[build](), BUILDS[build]()
    for module in (ours, theirs):
        module.train(not training)
    put_into(ours, training)
    theirs.train(training)
    assert modes(ours) == modes(theirs)


def test_what_a_class_does_when_its_mode_is_set_is_done() -> None:
    module = Around(Counting())
    before = module.inner[0].times
    put_into(module, False)
    assert module.inner[0].times == before + 1  # type: ignore[operator]


def test_a_way_to_train_that_hangs_on_the_module_itself_is_taken() -> None:
    module: Any = nn.Linear(2, 2)
    asked: list[bool] = []
    module.train = asked.append
    put_into(module, False)
    assert asked == [False]


def test_a_module_within_itself_ends_as_it_does_with_torch() -> None:
    module = Around()
    module.inner.append(module)
    with pytest.raises(RecursionError):
        put_into(module, False)


shared = nn.Dropout(0.5)


class Leaning(nn.Module):
    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        dropped: torch.Tensor = shared(tokens)
        return dropped


def test_a_layer_outside_follows() -> None:
    put_into(Around(Leaning()), False)
    assert not shared.training
    put_into(Around(Leaning()), True)
    assert shared.training


def test_a_layer_outside_goes_with_the_module_that_is_called() -> None:
    one, other = Around(Leaning()), Around(Leaning())
    put_into(one, False)
    put_into(other, True)
    bring_along(one)
    assert not shared.training
    bring_along(other)
    assert shared.training
