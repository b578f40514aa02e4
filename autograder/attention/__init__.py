"""Everything that knows attention, the subject of the assignment `attention`.

The kit asks for what is here by the names in `autograder.assignment.subject.HOOKS`; checks and
misconceptions are named by the stages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from autograder.attention.sample import Sample


def sample_of(secret: bytes) -> Sample:
    """Tokens and weights that nobody without the secret can compute."""
    from autograder.attention.sample import Sample

    return Sample(secret)


def figure_files() -> Mapping[str, str]:
    """The pictures of the handouts, as texts of SVG files by name."""
    from autograder.attention.figures import figure_files as drawn

    return drawn()


def example() -> tuple[object, object, Mapping[str, Mapping[str, Tensor]]]:
    """The worked example: words, their embeddings, and weights by class and role."""
    from autograder.attention import worked_example

    return worked_example.TOKENS, worked_example.INPUTS, worked_example.all_weights()


def exchanged() -> Mapping[str, tuple[str, ...]]:
    """Layers and weights, and which of them one may be mistaken for."""
    three = ("W_query", "W_key", "W_value")
    return {
        "out_proj": three,
        **{role: tuple(each for each in three if each != role) for role in three},
    }
