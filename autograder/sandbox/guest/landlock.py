"""Landlock: what a guest may read; the rest of the file system is closed to it.

Every right that the kernel knows is handled, and so refused; only reading is granted again, below
the folders of Python and its packages. If the kernel supports it, TCP ports and the sockets and
signals of processes outside are closed too.

Source: https://docs.kernel.org/userspace-api/landlock.html
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

from . import kernel

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_READ_FILE, _READ_FOLDER, _WRITE_FILE = 1 << 2, 1 << 3, 1 << 1
# Rights that each version of the interface added: files 1-5, then TCP and scopes.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_TCP_RIGHTS = 0b11
_SCOPES = 0b11


def version() -> int:
    """The version of Landlock's interface in this kernel; 0 if there is none."""
    if not kernel.LINUX:
        return 0
    try:
        return kernel.syscall(_CREATE, 0, 0, _VERSION_FLAG)
    except OSError:
        return 0


def build(readable: Iterable[str], listable: Iterable[str], abi: int) -> int:
    """Build a set of rules that allows nothing but reading.

    Args:
        readable: Paths below which files may be read and folders listed.
        listable: Paths below which folders may be listed.
        abi: The version of the interface.

    Returns:
        A file descriptor of the rules.

    Raises:
        OSError: The kernel refuses.
    """
    files = (1 << _FILE_RIGHTS[min(abi, 5)]) - 1
    attributes = struct.pack("<Q", files)
    if abi >= 4:
        attributes += struct.pack("<Q", _TCP_RIGHTS)
    if abi >= 6:
        attributes += struct.pack("<Q", _SCOPES)
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    rules = kernel.syscall(_CREATE, buffer, len(attributes), 0)
    for path in readable:
        _allow(rules, path, _READ_FILE | _READ_FOLDER)
    for path in listable:
        _allow(rules, path, _READ_FOLDER)
    return rules


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        here = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        mode = os.fstat(here).st_mode
        if not stat.S_ISDIR(mode):
            rights &= ~_READ_FOLDER
        if stat.S_ISCHR(mode):
            rights |= _WRITE_FILE  # /dev/null, which programs open for writing
        rule = ctypes.create_string_buffer(struct.pack("<Qi", rights, here), 12)
        kernel.syscall(_ADD_RULE, rules, _PATH_BENEATH, rule, 0)
    finally:
        os.close(here)


def restrict(rules: int) -> None:
    """Apply the rules for good. NO_NEW_PRIVS must be set before."""
    kernel.syscall(_RESTRICT, rules, 0)
