"""How a check says that something is not as it should be."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from torch import Tensor

from autograder.diagnosis.dimensions import told_shape as told_shape

if TYPE_CHECKING:
    from autograder.diagnosis.chain import Chain
    from autograder.diagnosis.explain import Explanation

#: Whether a program whose only mistakes are the explained ones would fail in the same way.
Excuse = Callable[["Chain", "Explanation"], bool]


class CheckFailed(AssertionError):
    """A check found something wrong.

    found, expected: short, in the student's words, without hidden numbers.
    misconception: the id of the catalogue's entry that this evidence shows, if it does.
    numbers: what only a teacher, or a course that allows it, gets to see.
    excuse: asked where the outputs were explained, so that a mistake is charged once.
    unsteady: the same call gave two results, so nothing can be compared with anything.
    shape: the shape that came back, where that is what is wrong.
    """

    def __init__(
        self,
        found: str,
        expected: str,
        *,
        misconception: str | None = None,
        numbers: str = "",
        excuse: Excuse | None = None,
        unsteady: bool = False,
        shape: tuple[int, ...] | None = None,
    ) -> None:
        self.found = found
        self.expected = expected
        self.misconception = misconception
        self.numbers = numbers
        self.excuse = excuse
        self.unsteady = unsteady
        self.shape = shape
        super().__init__(
            f"expected {expected}; found {found}" + (f" ({numbers})" if numbers else "")
        )


class NotSeen(CheckFailed):
    """Something that this check needs is not there, and is judged where it belongs."""


def require(
    holds: bool,
    found: str,
    expected: str,
    *,
    misconception: str | None = None,
    unsteady: bool = False,
) -> None:
    """Fail the check unless `holds`."""
    if not holds:
        raise CheckFailed(found, expected, misconception=misconception, unsteady=unsteady)


def rows(matrix: Tensor) -> str:
    """A few numbers of a tensor, rounded, for a teacher."""
    flat = matrix.detach().flatten()[:6].double()
    shown = ", ".join(f"{number:.4g}" for number in flat.tolist())
    return f"[{shown}{', ...' if matrix.numel() > 6 else ''}]"
