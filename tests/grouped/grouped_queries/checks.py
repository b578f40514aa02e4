"""What is known of the class; the checks are those of the class that it is like."""

from __future__ import annotations

import math

from autograder.attention import words
from autograder.attention.names import Module
from autograder.attention.sample import Sizes

from .misconceptions import CHAINS, NAME


class Grouped(Sizes, frozen=True):
    """Sizes of a module with three groups, or one, where three cannot share the heads."""

    @property
    def key_heads(self) -> int:
        """How many groups there are."""
        return math.gcd(self.heads, 3)

    def arguments(self, dropout: float) -> dict[str, object]:
        """What the constructor is given."""
        return {**super().arguments(dropout), "num_groups": self.key_heads}


def sized(d_in: int, d_out: int, tokens: int, batch: int, context: int, heads: int = 6) -> Grouped:
    """The same, shorter."""
    return Grouped(d_in, d_out, tokens, batch, context, heads)


NAMES = {
    NAME: Module(
        NAME,
        CHAINS[NAME],
        sizes={
            "usual": sized(7, 24, tokens=5, batch=2, context=11),
            "other": sized(10, 18, tokens=8, batch=4, context=12, heads=9),
            "whole": sized(4, 30, tokens=10, batch=3, context=10),
            "square": sized(18, 18, tokens=5, batch=4, context=8),
            "easy": sized(12, 12, tokens=5, batch=2, context=5),
        },
        further=(sized(5, 36, tokens=3, batch=4, context=7),),
        shown=Grouped(words.D_IN, 6 * words.KEY_SIZE, len(words.WORDS), 2, 10, 6),
    )
}
