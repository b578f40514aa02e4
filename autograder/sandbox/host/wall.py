"""Which walls stand here: the ladder of levels, found by trying.

`bubblewrap`: its own file system, no network, and the inner wall. `landlock`: the inner wall
alone, for containers in which bubblewrap cannot work. `process`: a separate process with limits,
for systems that have neither; it keeps honest mistakes apart and stops no attack.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
from itertools import count
from pathlib import Path
from typing import Protocol

import msgspec

from autograder.errors import MissingRequirement

from ..protocol import messages, orders
from ..protocol.frames import Broken
from . import guest_files
from .guest_process import Gone, GuestProcess, Overrun, mapped_bytes, sacrifice
from .ladder import lack, wished
from .launch import LEVELS, Zygote, ZygoteGone

_PROBE_SECONDS = 5.0
_SPARE_CPU_SECONDS = 2
_SPARE_PROCESSES = 8  # the zygote, bubblewrap's own, guests that are still being taken down
_FIRST_USER, _USERS = 20_000, 40_000
_user_numbers = count(os.getpid() * 61)


class GuestLimits(Protocol):
    """The limits that a wall enforces, as the assignment has them."""

    @property
    def load_seconds(self) -> float:
        """CPU seconds of loading."""

    @property
    def submission_seconds(self) -> float:
        """CPU seconds of all calls of a submission."""

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

    @property
    def output_chars(self) -> int:
        """Characters of what is printed."""


def breach(zygote: Zygote, limits: GuestLimits) -> str | None:
    """Try a level from inside a guest; the first thing that should not have been possible."""
    if not zygote.level.inner:
        return None
    if "seccomp" not in zygote.walls:
        return "seccomp could not be used"
    with tempfile.TemporaryDirectory(prefix="probe-") as folder:
        Path(folder).chmod(0o777)
        secret = Path(folder) / "secret"
        secret.write_text("not for guests")
        secret.chmod(0o644)
        try:
            guest = GuestProcess(zygote, fork_order(zygote, limits))
            try:
                ask = messages.Probe(str(secret), folder)
                outcomes, _ = guest.ask((ask,), (0,), (), [], _PROBE_SECONDS, 10)
            finally:
                guest.kill()
        except (ZygoteGone, Gone, Overrun, Broken) as error:
            return f"a guest does not live behind it: {error}"
    outcome = outcomes[0]
    if isinstance(outcome, messages.Breaches):
        return f"a guest could {outcome.names[0]}" if outcome.names else None
    return f"the probe failed: {outcome}"


def offered(limits: GuestLimits) -> list[tuple[str, bool, str]]:
    """Every level, whether it holds here, and if not, why; tried one after the other."""
    results: list[tuple[str, bool, str]] = []
    for level in LEVELS:
        reason = lack(level)
        if reason is None:
            try:
                zygote = Zygote(level)
                try:
                    zygote.wait_ready()
                    reason = breach(zygote, limits)
                finally:
                    zygote.close()
            except (ZygoteGone, MissingRequirement) as error:
                reason = str(error)
        results.append((level.name, reason is None, reason or ""))
    return results


def fork_order(zygote: Zygote, limits: GuestLimits) -> orders.Fork:
    """What a guest gets to live on."""
    mapped = None if zygote.itself is None else mapped_bytes(zygote.itself)
    alone = zygote.level.bubblewrap
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    user = None
    if root and not alone and sys.platform == "linux":
        user = _FIRST_USER + next(_user_numbers) % _USERS
    # Threads count as processes: the first, those that are allowed, and what shares its user. With
    # neither user nor name space of its own a guest would be counted together with all else of
    # its user. (Root within bubblewrap is not counted at all.) There memory bounds threads that
    # are begun past Python.
    processes = None
    if user is not None:
        processes = 1 + limits.threads
    elif alone:
        processes = 1 + limits.threads + _SPARE_PROCESSES
    seconds = math.ceil(limits.load_seconds + limits.submission_seconds) + _SPARE_CPU_SECONDS
    return orders.Fork(
        memory_bytes=None if mapped is None else mapped + (limits.memory_mb << 20),
        cpu_seconds=seconds,
        processes=processes,
        threads=limits.threads,
        open_files=limits.open_files,
        file_bytes=limits.file_mb << 20,
        output_chars=limits.output_chars + 1,  # so that a cut can be seen
        user=user,
        forgotten=(),
        may_enter_all=user is not None and not _open_to_others(),
    )


def renewed(order: orders.Fork) -> orders.Fork:
    """The same for the next guest, with a user of its own."""
    if order.user is None:
        return order
    return msgspec.structs.replace(order, user=_FIRST_USER + next(_user_numbers) % _USERS)


def _open_to_others() -> bool:
    """Whether Python and its packages can be read by a user without rights."""
    pieces = [guest_files.interpreter().library, *(p.source for p in guest_files.packages())]
    for path in pieces:
        real = path.resolve()
        if any(not folder.stat().st_mode & 0o001 for folder in real.parents):
            return False
    return True


def choose(zygote: Zygote, isolation: str | None, limits: GuestLimits) -> Zygote:
    """Wait for a started zygote and try its wall; go down the ladder where it does not hold."""
    levels = wished(isolation)
    reasons: list[str] = []
    for level in levels[levels.index(zygote.level) :]:
        if level is not zygote.level:
            reason = lack(level)
            if reason is not None:
                reasons.append(reason)
                continue
            zygote = Zygote(level)
        try:
            zygote.wait_ready()
            reason = breach(zygote, limits)
        except ZygoteGone as error:
            reason = str(error)
        if reason is None:
            if zygote.itself is not None:
                sacrifice(zygote.itself)
            return zygote
        zygote.close()
        reasons.append(f"{level.name} does not hold here: {reason}")
    raise MissingRequirement("; ".join(reasons))
