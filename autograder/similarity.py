"""Submissions that are more alike than the assignment makes likely. A place to look, no verdict."""

from __future__ import annotations

import msgspec


class Pair(msgspec.Struct, frozen=True):
    """Two submissions with code in common that neither got from the assignment.

    of_first, of_second: the share of each one's own code that the other has too. tokens: how much
    code that is, in the comparison's own tokens.
    """

    first: str
    second: str
    of_first: float
    of_second: float
    tokens: int
