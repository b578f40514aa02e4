"""Writes the seccomp programs: `python -m autograder.sandbox.seccomp.generate`.

An allow-list. What torch, numpy and Python need to compute, read and wait is on it; what starts or
signals processes, connects, writes to the file system or changes rights is not, and fails with
EPERM. Never to be added: fork, exec, socket, kill, ptrace, memfd, chmod, rename, mount.
"""

from __future__ import annotations

import ctypes
import errno
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyseccomp

from ..guest.kernel import OWN_PID

HERE = Path(__file__).parent
VERSION_FILE = HERE / "libseccomp.version"

MEMORY = "brk mmap munmap mprotect mremap madvise mincore membarrier msync mlock munlock"
FILES = """
    open openat read pread64 readv preadv preadv2 write writev pwrite64 lseek close close_range
    stat fstat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat
    getdents getdents64 getcwd dup dup2 dup3 statfs fstatfs fadvise64 pipe pipe2 umask
"""
WAITING = """
    poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait
    epoll_pwait2 eventfd2 nanosleep clock_nanosleep futex futex_waitv sched_yield pause
    restart_syscall alarm getitimer setitimer
"""
TELLING = """
    getpid gettid getppid getuid geteuid getgid getegid getresuid getresgid getgroups getpgrp
    getpgid getsid uname sysinfo times time gettimeofday clock_gettime clock_getres getrusage
    getrlimit getpriority getcpu getrandom sched_getaffinity sched_getparam sched_getscheduler
    sched_get_priority_max sched_get_priority_min capget
"""
ENDING = "exit exit_group set_tid_address set_robust_list get_robust_list rseq arch_prctl"
SIGNALS = """
    rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend
    sigaltstack
"""
CONVERSATION = "recvfrom recvmsg sendmsg getsockopt getsockname getpeername shutdown"

CLONE_THREAD = 0x0001_0000
PRCTL = (15, 16, 0x53564D41)  # set and get a thread's name, name a memory area
IOCTL = (0x5401, 0x541B, 0x5421, 0x5450, 0x5451)  # TCGETS FIONREAD FIONBIO FIONCLEX FIOCLEX
FCNTL = (0, 1, 2, 3, 4, 1030)  # duplicate, flags


def program(architecture: str) -> bytes:
    """The program for one kind of processor, as the kernel takes it.

    Args:
        architecture: `x86_64` or `aarch64`.

    Returns:
        The instructions in the kernel's BPF format.
    """
    arch = {"x86_64": pyseccomp.Arch.X86_64, "aarch64": pyseccomp.Arch.AARCH64}[architecture]
    rules = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.EPERM))
    if not rules.exist_arch(arch):
        rules.add_arch(arch)
    for other in (pyseccomp.Arch.X86_64, pyseccomp.Arch.AARCH64):
        if other != arch and rules.exist_arch(other):
            rules.remove_arch(other)
    rules.set_attr(pyseccomp.Attr.ACT_BADARCH, pyseccomp.KILL_PROCESS)
    rules.set_attr(pyseccomp.Attr.CTL_OPTIMIZE, 2)  # a tree instead of a long list
    _add(rules, pyseccomp)
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _add(rules: Any, seccomp: Any) -> None:
    allow, arg = seccomp.ALLOW, seccomp.Arg
    plain = (MEMORY, FILES, WAITING, TELLING, ENDING, SIGNALS, CONVERSATION)
    for name in " ".join(plain).split():
        rules.add_rule(allow, name)
    # clone3 hides its flags from us; without it C libraries fall back to clone.
    rules.add_rule(seccomp.ERRNO(errno.ENOSYS), "clone3")
    rules.add_rule(allow, "clone", arg(0, seccomp.MASKED_EQ, CLONE_THREAD, CLONE_THREAD))
    for option in PRCTL:
        rules.add_rule(allow, "prctl", arg(0, seccomp.EQ, option))
    for command in IOCTL:
        rules.add_rule(allow, "ioctl", arg(1, seccomp.EQ, command))
    for command in FCNTL:
        rules.add_rule(allow, "fcntl", arg(1, seccomp.EQ, command))
    # Limits may be read, not set; messages go to where the socket leads, not to an address.
    rules.add_rule(allow, "prlimit64", arg(2, seccomp.EQ, 0))
    rules.add_rule(allow, "sendto", arg(4, seccomp.EQ, 0))
    # abort() ends the guest with its own signal, so that the reason can be told.
    abort = arg(2, seccomp.EQ, int(signal.SIGABRT))
    rules.add_rule(allow, "tgkill", arg(0, seccomp.EQ, OWN_PID), abort)


def version() -> str:
    """The libseccomp that is installed here."""

    class Version(ctypes.Structure):
        _fields_ = (("major", ctypes.c_uint), ("minor", ctypes.c_uint), ("micro", ctypes.c_uint))

    library = ctypes.CDLL(pyseccomp._libseccomp_path)
    library.seccomp_version.restype = ctypes.POINTER(Version)
    found = library.seccomp_version().contents
    return f"{found.major}.{found.minor}.{found.micro}"


def main() -> None:
    """Write the programs and the version that they were made with."""
    for architecture in ("x86_64", "aarch64"):
        made = program(architecture)
        if made.count(OWN_PID.to_bytes(4, "little")) != 1:
            sys.exit("the place of the process number is not there exactly once")
        (HERE / f"{architecture}.bpf").write_bytes(made)
        print(f"{architecture}: {len(made) // 8} instructions")
    VERSION_FILE.write_text(version() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
