"""Sizes in an exception's text, told by what they are: batch, heads, tokens, d_k.

The hidden checks' sizes all differ, so that a number in a message such as "The size of tensor a
(6) must match the size of tensor b (3)" says which dimension it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from autograder.diagnosis.chain import Given

#: Sizes in brackets, one or more: `(6)`, `[2, 3, 6, 5]`, `torch.Size([2, 6])`.
_BRACKETS = re.compile(r"([(\[])(\d+(?:, \d+)*)([)\]])")

#: Sizes of matrices as torch writes them: `12x7`.
_MATRIX = re.compile(r"\b(\d+)x(\d+)\b")


def names_of(given: Given) -> dict[int, str]:
    """What the sizes of a call are, by number; a number that stands for two things names both."""
    sizes: list[tuple[int, str]] = []
    width = 0
    if given.tokens is not None:
        *batch, tokens, width = given.tokens.shape
        sizes += [(size, "batch") for size in batch]
        sizes.append((tokens, "tokens"))
    if given.weights:
        d_in, d_out = given.weights["value"].shape
        sizes += [(d_in, "d_in")]
        if given.heads > 1:
            sizes += [(given.heads, "heads"), (d_out // given.heads, "d_k")]
        sizes += [(d_out, "d_out")]
    elif width:
        sizes.append((width, "d"))
    if given.context_length:
        sizes.append((given.context_length, "context_length"))
    if given.count:
        sizes.append((given.count, "tokens"))
    if given.scores is not None and given.scores.dim() == 2:
        sizes.append((given.scores.shape[-1], "tokens"))
    known: dict[int, list[str]] = {}
    for size, name in sizes:
        if size > 1 and name not in known.setdefault(size, []):
            known[size].append(name)
    names = {size: " or ".join(held) for size, held in known.items()}
    if given.tokens is not None and given.tokens.dim() == 3:
        batch_size, tokens = given.tokens.shape[:2]
        names.setdefault(batch_size * tokens, "batch * tokens")
    return names


def named(text: str, given: Given) -> str:
    """The text with its sizes exchanged for their names, by which a mistake is recognised."""
    return _rewritten(text, given, lambda numbers, names: names)


def told(text: str, given: Given) -> str:
    """The text with the names of its sizes beside them, for a student."""
    return _rewritten(text, given, lambda numbers, names: f"{numbers}: {names}")


def _rewritten(text: str, given: Given, write: Callable[[str, str], str]) -> str:
    names = names_of(given)

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
