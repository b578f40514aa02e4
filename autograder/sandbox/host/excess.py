"""Which limit an exception met, in words that say what is allowed.

What Python and torch say when something runs out names no limit of the course, and often not even
the thing: a student would look for the mistake on the machine. Time has exceptions of its own;
the rest ends as an ordinary exception in the student's code and gets a sentence here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Bounds(Protocol):
    """The limits that end in an exception, as the assignment has them."""

    @property
    def memory_mb(self) -> int:
        """Memory on top of what Python and torch take, in MB."""

    @property
    def threads(self) -> int:
        """Threads besides the first."""

    @property
    def open_files(self) -> int:
        """Files open at a time."""

    @property
    def file_mb(self) -> int:
        """Size of a file that is written, in MB."""


_REFUSED = "a submission may not open files, start processes or use the network"

# The first one whose words are in "Kind: text" tells.
_SENTENCES: tuple[tuple[tuple[str, ...], Callable[[Bounds], str]], ...] = (
    (
        ("MemoryError", "can't allocate memory", "Cannot allocate memory"),
        lambda bounds: f"a submission may use {bounds.memory_mb} MB of memory",
    ),
    (
        ("can't start new thread",),
        lambda bounds: f"a submission may run {bounds.threads} threads besides the first",
    ),
    (
        ("Too many open files",),
        lambda bounds: f"a submission may have {bounds.open_files} files open, the kit's four too",
    ),
    (
        ("File too large",),
        lambda bounds: f"a file may be no larger than {bounds.file_mb} MB",
    ),
    (
        ("PermissionError", "Operation not permitted", "Resource temporarily unavailable"),
        lambda bounds: _REFUSED,
    ),
)


def limit_met(kind: str, text: str, bounds: Bounds) -> str:
    """What is allowed, where the exception looks like one of a limit; else nothing.

    A student can raise such words without need. It changes what the message says and no score.
    """
    told = f"{kind}: {text}"
    for words, sentence in _SENTENCES:
        if any(word in told for word in words):
            return sentence(bounds)
    return ""
