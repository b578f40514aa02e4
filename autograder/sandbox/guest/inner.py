"""The inner wall: what a guest gives up before it reads a byte of the student's.

It is the same at every level, as far as the system supports it: limits, another user if no
namespace provides one, Landlock, capabilities, seccomp. The order matters.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
from dataclasses import dataclass

from ..protocol.orders import Fork, Prepare
from . import kernel, landlock


@dataclass(frozen=True)
class Prepared:
    """What every guest's wall is made of, built once in the zygote."""

    rules: int | None
    program: bytes | None

    @property
    def walls(self) -> tuple[str, ...]:
        """Names of the walls that are ready to be put up."""
        named = (("landlock", self.rules is not None), ("seccomp", self.program is not None))
        return tuple(name for name, there in named if there)


def prepare(order: Prepare) -> Prepared:
    """Build what can be built once."""
    abi = landlock.version() if order.readable is not None else 0
    rules = landlock.build(order.readable or (), order.listable, abi) if abi else None
    return Prepared(rules, order.program if kernel.LINUX else None)


def close_in(order: Fork, prepared: Prepared, parent: int, sock: socket.socket) -> None:
    """Put up the wall around this process; only the socket is left to it.

    Args:
        order: The limits of this guest.
        prepared: The wall's parts, built once.
        parent: The zygote's process id.
        sock: The connection to the judge, the one descriptor that is kept.
    """
    os.setsid()  # a group of its own, so that it can be killed with all that it started
    if kernel.LINUX:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    _limit(order)
    if kernel.LINUX:
        # Before Landlock: without capabilities it asks for this.
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        if order.user is not None:
            _become(order.user, order.may_enter_all)
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)  # becoming another cleared it
        if prepared.rules is not None:
            landlock.restrict(prepared.rules)
            os.close(prepared.rules)
        kept = kernel.CAP_DAC_READ_SEARCH if order.may_enter_all and order.user else None
        kernel.drop_capabilities(kept)
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        if os.getppid() != parent:  # the zygote ended before the signal was asked for
            os._exit(1)
        if prepared.program is not None:
            kernel.load_seccomp(prepared.program)
    _keep_only(sock)


def _keep_only(sock: socket.socket) -> None:
    """Close every descriptor but the socket; 0 to 2 lead nowhere.

    This comes last, so that earlier failures reach the zygote's log.
    """
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    kept = sock.fileno()
    os.closerange(3, kept)
    os.closerange(kept + 1, 1 << 16)


def _limit(order: Fork) -> None:
    limits: list[tuple[str, int | None]] = [
        ("RLIMIT_CPU", order.cpu_seconds),
        ("RLIMIT_AS", order.memory_bytes),
        ("RLIMIT_NPROC", order.processes),
        ("RLIMIT_NOFILE", order.open_files),
        ("RLIMIT_FSIZE", order.file_bytes),
        ("RLIMIT_CORE", 0),
        ("RLIMIT_MEMLOCK", 0),
        ("RLIMIT_MSGQUEUE", 0),
    ]
    for name, most in limits:
        number = getattr(resource, name, None)  # not every system has all of them
        if number is None or most is None:
            continue
        hard = resource.getrlimit(number)[1]
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)
        resource.setrlimit(number, (most, most))


def _become(user: int, may_enter_all: bool) -> None:
    if may_enter_all:
        kernel.prctl(kernel.PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
