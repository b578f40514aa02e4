"""What a class leans on that lies outside of it."""

import torch
from torch import nn

from autograder.sandbox.guest.globals_used import globals_of, layers_in, notes_on
from autograder.sandbox.guest.modules import walk

context_size = 6
mask = torch.ones(6, 6).triu(1)
shared_dropout = nn.Dropout(0.5)
SMALL, RATE, TITLE = 1, 0.1, "attention"


class Leaning(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rate, self.title, self.small = RATE, TITLE, SMALL

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        masked: torch.Tensor = shared_dropout(tokens * mask[:context_size])
        return masked


class Heir(Leaning):
    """Finds outside what its base finds there."""


class Upright(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mask, self.shared_dropout = torch.ones(2, 2), nn.Dropout(0.1)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        context_size = tokens.shape[0]
        dropped: torch.Tensor = self.shared_dropout(tokens[:context_size] @ self.mask)
        return dropped


class Nested(nn.Module):
    def forward(self, tokens: torch.Tensor) -> list[torch.Tensor]:
        return [row * mask for row in tokens]


def test_layers_tensors_and_sizes_are_found_and_nothing_else() -> None:
    found = globals_of(Leaning)
    assert found.keys() == {"shared_dropout", "mask", "context_size"}
    assert found["mask"] is mask


def test_what_a_base_class_leans_on_is_found_too() -> None:
    assert globals_of(Heir).keys() == globals_of(Leaning).keys()


def test_a_comprehension_is_looked_into() -> None:
    assert globals_of(Nested).keys() == {"mask"}


def test_a_local_or_an_attribute_of_the_same_name_and_torch_itself_are_no_globals() -> None:
    assert globals_of(Upright) == {}
    assert globals_of(nn.Linear) == {}


def test_names_are_found_in_large_functions_as_well() -> None:
    names = [f"size_{number}" for number in range(700)]
    kind = type("Large", (nn.Module,), {})
    namespace: dict[str, object] = dict.fromkeys(names, 5) | {"size_699": nn.Dropout(0.5)}
    source = "def forward(self, x):\n" + "".join(f"    x = x.{name} + x\n" for name in names)
    exec(source + "    return [size_699 for _ in x] + size_3", namespace)
    kind.forward = namespace["forward"]  # type: ignore[attr-defined]
    assert globals_of(kind).keys() == {"size_699", "size_3"}


def test_each_is_told_by_its_name_and_kind() -> None:
    assert notes_on(Upright) == ()
    told = notes_on(Leaning)
    assert len(told) == 3
    assert "leans on mask, a tensor outside of the class, whatever it is built with" in told
    assert any("context_size, a number" in note for note in told)


def test_layers_are_found_in_what_is_registered_as_well() -> None:
    around = nn.Sequential(Upright(), Leaning())
    found = layers_in(part for _, part in walk(around))
    assert [layer is shared_dropout for layer in found] == [True]
