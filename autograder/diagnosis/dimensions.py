"""Sizes in an exception's text, told by what they are: the batch, tokens, a width.

A call says what its sizes are (`Given.size_names`). Where they all differ, a number in a message
such as "The size of tensor a (6) must match the size of tensor b (3)" says which one it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autograder.diagnosis.chain import Given

#: Sizes in brackets, one or more: `(6)`, `[2, 3, 6, 5]`, `torch.Size([2, 6])`.
_BRACKETS = re.compile(r"([(\[])(\d+(?:, \d+)*)([)\]])")

#: Sizes of matrices as torch writes them: `12x7`.
_MATRIX = re.compile(r"\b(\d+)x(\d+)\b")


def told_shape(shape: Sequence[int]) -> str:
    """A shape as a student reads it: `(2, 6, 15)`."""
    return "(" + ", ".join(str(size) for size in shape) + ("," if len(shape) == 1 else "") + ")"


def named(text: str, given: Given) -> str:
    """The text with its sizes exchanged for their names, by which a mistake is recognised."""
    return _rewritten(text, given, lambda numbers, names: names)


def told(text: str, given: Given) -> str:
    """The text with the names of its sizes beside them, for a student."""
    return _rewritten(text, given, lambda numbers, names: f"{numbers}: {names}")


def _rewritten(text: str, given: Given, write: Callable[[str, str], str]) -> str:
    names = given.size_names()

    def listed(match: re.Match[str]) -> str:
        numbers = [int(number) for number in match[2].split(", ")]
        if not all(number in names or number == 1 for number in numbers) or set(numbers) == {1}:
            return match[0]
        words = ", ".join(names.get(number, "1") for number in numbers)
        return f"{match[1]}{write(match[2], words)}{match[3]}"

    def matrix(match: re.Match[str]) -> str:
        rows, columns = int(match[1]), int(match[2])
        if rows not in names or columns not in names:
            return match[0]
        return write(match[0], f"{names[rows]} x {names[columns]}")

    return _MATRIX.sub(matrix, _BRACKETS.sub(listed, text))
