"""`make soak`: what takes too long for the tests. Exit status 1 where anything failed.

Parts: `frames` sends hostile frames to the judge, `guests` has real guests send them over a real
line and real guests receive them, `kills` kills `autograder grade` and goes on with it.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections.abc import Sequence

PARTS = ("frames", "guests", "kills")


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help="parts with commas between")
    parser.add_argument("--frames", type=int, default=100_000, help="hostile frames to the judge")
    parser.add_argument("--guests", type=int, default=2_000, help="guests that send or get them")
    parser.add_argument("--kills", type=int, default=20, help="runs that are killed")
    parser.add_argument("--seed", type=int, help="of an earlier run; drawn where none is given")
    parser.add_argument("--first", type=int, default=0, help="number of the first frame or guest")
    parser.add_argument("--isolation", help="of the guests; else the best that stands here")
    chosen = parser.parse_args(arguments)
    chosen.only = chosen.only.split(",")
    for part in chosen.only:
        if part not in PARTS:
            parser.error(f"no part is called {part!r}; there are {', '.join(PARTS)}")
    if chosen.seed is None:
        chosen.seed = secrets.randbelow(1 << 32)
    return chosen


def tell(line: str) -> None:
    """At once, also into a pipe."""
    print(line, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts; the last line sums up."""
    chosen = parsed(arguments)
    begun = time.monotonic()
    done: list[str] = []
    failures = 0
    tell(f"soak: seed {chosen.seed}")
    if "frames" in chosen.only:
        from tests.soak import frames

        failures += frames.soak(chosen.seed, chosen.first, chosen.frames, tell)
        done.append(f"{chosen.frames} frames")
    if "guests" in chosen.only:
        from tests.soak import guests

        failures += guests.soak(chosen.seed, chosen.first, chosen.guests, chosen.isolation, tell)
        done.append(f"{chosen.guests} guests")
    if "kills" in chosen.only:
        from tests.soak import kills

        failures += kills.soak(chosen.seed, chosen.kills, chosen.isolation, tell)
        done.append(f"{chosen.kills} kills")
    seconds = time.monotonic() - begun
    tell(f"soak: {', '.join(done)}; {failures} failures; seed {chosen.seed}; {seconds:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
