"""Seeds of requests: of the check and the request's number in it alone, the same everywhere."""

from __future__ import annotations

import hashlib
from functools import lru_cache

_STRIDE, _MOST_SEED = 0x9E37_79B9_7F4A_7C15, (1 << 62) - 1


@lru_cache(maxsize=1024)  # the same checks for every submission
def seed_of(check: str, number: int = 0) -> int:
    """The seed of a check's request, the same on every machine."""
    digest = hashlib.blake2b(check.encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "little") + number * _STRIDE) & _MOST_SEED


@lru_cache(maxsize=1024)
def seeds_of(check: str, first: int, count: int) -> tuple[int, ...]:
    """The seeds of several requests of a check in a row."""
    seed = seed_of(check)
    return tuple([(seed + n * _STRIDE) & _MOST_SEED for n in range(first, first + count)])
