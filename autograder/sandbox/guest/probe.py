"""A few attacks that a guest tries on its own wall before the wall is trusted."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import socket
from collections.abc import Callable
from pathlib import Path


def breaches(secret: str, folder: str) -> list[str]:
    """Names of the things that could be done and should not be possible."""
    attempts: list[tuple[str, Callable[[], object]]] = [
        ("read a file outside", lambda: Path(secret).read_bytes()),
        ("write a file outside", lambda: _write(f"{folder}/left-over")),
        ("write to /tmp", lambda: _write("/tmp/attention-left-over")),
        ("write to /dev/shm", lambda: _write("/dev/shm/attention-left-over")),
        ("list the processes", _processes),
        ("open a socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()),
        ("open a local socket", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).close()),
        ("start a process", _fork),
        ("run a program", lambda: os.execv("/nowhere", ["nowhere"])),
        ("signal the parent", lambda: os.kill(os.getppid(), 0)),
        ("signal everyone", lambda: os.kill(-1, 0)),
        ("stop itself", lambda: os.kill(os.getpid(), signal.SIGCONT)),
        ("trace the parent", _trace),
        ("raise its limits", _raise_limits),
        ("make files in memory", lambda: os.close(os.memfd_create("left-over"))),
        ("become another user", lambda: os.setuid(os.getuid() + 1)),
    ]
    return [name for name, attempt in attempts if _succeeds(attempt)]


def _succeeds(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except FileNotFoundError as error:
        return bool(error.filename == "/nowhere")  # a program was looked for, so one could be run
    except (OSError, ValueError):
        return False
    return True


def _write(path: str) -> None:
    Path(path).write_bytes(b"x")
    Path(path).unlink()


def _processes() -> None:
    Path("/proc/1/cmdline").read_bytes()


def _fork() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def _trace() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    attach = 16
    if libc.ptrace(attach, os.getppid(), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")
    libc.ptrace(17, os.getppid(), 0, 0)


def _raise_limits() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY:
        return  # there is none to raise
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard + (1 << 30)))
