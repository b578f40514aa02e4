"""Judge and guest on one core while a submission is graded.

They take turns, so a second core gains nothing; what one has just read the other finds in the
core's own caches, where the system would rather wake it elsewhere. The core is the one that the
judge happens to be on, and both are free again after each submission, so that a core which
others need is not kept.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from typing import Any

_libc: Any = ctypes.CDLL(None) if os.name == "posix" else None
_here: Any = getattr(_libc, "sched_getcpu", None)


@contextlib.contextmanager
def shared_with(*processes: int) -> Iterator[int | None]:
    """Keep this thread, and processes with all that they fork, to this thread's core.

    Gives the core; None where there is nothing to choose, or the system does not tell.
    """
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    core = _here() if _here is not None and len(usable) > 1 else None
    if core not in usable:
        yield None
        return
    kept = [process for process in (0, *processes) if _keep(process, {core})]
    try:
        yield core
    finally:
        for process in kept:
            _keep(process, usable)


def _keep(process: int, cores: set[int]) -> bool:
    """Whether a process could be kept to these cores: it may have ended, or be another's."""
    with contextlib.suppress(OSError):
        os.sched_setaffinity(process, cores)
        return True
    return False
