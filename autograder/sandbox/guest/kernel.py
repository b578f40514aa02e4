"""The few system calls of the wall that Python has no names for.

Everything here is bound when the module is imported, in the zygote, since inside the wall no
library can be looked for any more.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import sys
from typing import Any

LINUX = sys.platform == "linux"
_libc: Any = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_KEEPCAPS = 8
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
SECCOMP_MODE_FILTER = 2
CAP_DAC_READ_SEARCH = 2
_LAST_CAPABILITY = 63
_CAPABILITY_VERSION_3 = 0x20080522
OWN_PID = 0x5EED_0F1D  # stands for the process number in a seccomp program
_PROGRAM_STEP = 8  # bytes of one instruction of a seccomp program


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def prctl(option: int, first: int = 0, second: int = 0) -> None:
    """Change one of the process's own settings, by the system call of this name.

    Raises:
        OSError: The kernel refuses.
    """
    zero = ctypes.c_ulong(0)
    arguments = (ctypes.c_ulong(first), ctypes.c_ulong(second), zero, zero)
    _check(_libc.prctl(ctypes.c_int(option), *arguments), f"prctl {option}")


def syscall(number: int, *arguments: int | ctypes.Array[ctypes.c_char]) -> int:
    """Make a system call by its number.

    Raises:
        OSError: The kernel refuses.
    """
    given = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return _check(_libc.syscall(ctypes.c_long(number), *given), f"system call {number}")


def drop_capabilities(kept: int | None = None) -> None:
    """Give up every capability in every set, except `kept`."""
    for capability in range(_LAST_CAPABILITY + 1):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:  # past the last one that the kernel knows, or none to give up
            break
    with contextlib.suppress(OSError):  # a kernel without ambient capabilities
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    mask = 0 if kept is None else 1 << kept
    header = ctypes.create_string_buffer(struct.pack("<Ii", _CAPABILITY_VERSION_3, 0), 8)
    data = ctypes.create_string_buffer(struct.pack("<6I", mask, mask, 0, 0, 0, 0), 24)
    _check(_libc.capset(header, data), "capset")


def load_seccomp(program: bytes) -> None:
    """Apply a seccomp program for good. NO_NEW_PRIVS must be set before."""
    program = program.replace(OWN_PID.to_bytes(4, "little"), os.getpid().to_bytes(4, "little"))
    steps = ctypes.create_string_buffer(program, len(program))
    count = len(program) // _PROGRAM_STEP
    # struct sock_fprog: a short, padding, a pointer
    described = struct.pack("@HxxxxxxP", count, ctypes.addressof(steps))
    head = ctypes.create_string_buffer(described, len(described))
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(head))
