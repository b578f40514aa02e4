"""How near two names are to one another."""

from difflib import SequenceMatcher
from functools import lru_cache

LEAST = 0.6  # below that nothing is near, and the exact number is not worth the time


@lru_cache(maxsize=4096)
def folded(name: str) -> str:
    """A name without regard to case and underscores."""
    return name.replace("_", "").casefold()


@lru_cache(maxsize=4096)
def closeness(name: str, other: str) -> float:
    """From 0, little in common, to 1, the same but for case and underscores."""
    one, two = folded(name), folded(other)
    if one == two:
        return 1.0
    matcher = SequenceMatcher(None, one, two, autojunk=False)
    if matcher.real_quick_ratio() < LEAST or matcher.quick_ratio() < LEAST:
        return 0.0
    # The ratio depends on which comes first; the better of the two is meant.
    return max(
        matcher.ratio(),
        SequenceMatcher(None, two, one, autojunk=False).ratio(),
    )


def distance(one: str, other: str, limit: int = 3) -> int:
    """How many letters must be changed, added or taken away; `limit` for that many or more."""
    if abs(len(one) - len(other)) >= limit:
        return limit
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
        if min(row) >= limit:
            return limit
    return min(row[-1], limit)
