"""The judge's orders to the zygote, and the zygote's answers.

They go between two programs of the kit, over a socket that no guest keeps. A message is small
enough for one read; file descriptors travel beside it.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence

import msgspec

_MOST_BYTES = 1 << 18
_MOST_DESCRIPTORS = 4


class Order(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Base of orders and answers."""


class Prepare(Order, frozen=True, tag=0):
    """The wall of every guest, sent once."""

    readable: tuple[str, ...] | None  # what Landlock leaves readable; None: Landlock is not used
    listable: tuple[str, ...]  # folders whose names may be listed besides
    program: bytes | None  # the seccomp program; None: seccomp is not used


class Fork(Order, frozen=True, tag=1):
    """Start a guest. Its socket and the file for its progress come along as descriptors."""

    memory_bytes: int | None  # of address space, all told; None: not limited
    cpu_seconds: int
    processes: int | None  # threads count; None: not limited
    threads: int  # besides the first, as far as Python begins them
    open_files: int
    file_bytes: int
    output_chars: int
    user: int | None  # another user to become, where no namespace does it
    forgotten: tuple[int, ...]  # guests that were killed and that nobody will ask about
    may_enter_all: bool  # keep the right to pass closed folders: Python itself may lie behind one


class Wait(Order, frozen=True, tag=2):
    """How a guest ended. It has been killed or has ended by itself."""

    pid: int


class Ready(Order, frozen=True, tag=3):
    """Everything is imported. A descriptor of the zygote comes along if the system has them."""

    pid: int
    walls: tuple[str, ...] = ()


class Forked(Order, frozen=True, tag=4):
    """A guest has started; a descriptor of it comes along if the system has them."""

    pid: int


class Ended(Order, frozen=True, tag=5):
    """The wait status of a guest, as `os.waitstatus_to_exitcode` gives it, and its CPU time."""

    exit_code: int
    cpu_seconds: float


class Refused(Order, frozen=True, tag=6):
    """The order could not be carried out."""

    why: str


AnyOrder = Prepare | Fork | Wait | Ready | Forked | Ended | Refused
_decode = msgspec.msgpack.Decoder(AnyOrder).decode
_encode = msgspec.msgpack.Encoder().encode


def tell(sock: socket.socket, order: AnyOrder, descriptors: Sequence[int] = ()) -> None:
    """Send one order or answer.

    Args:
        sock: The connection.
        order: The message.
        descriptors: File descriptors that travel beside it.
    """
    data = _encode(order)
    if descriptors:
        socket.send_fds(sock, [data], list(descriptors))
    else:
        sock.sendall(data)


def hear(sock: socket.socket) -> tuple[AnyOrder, list[int]] | None:
    """The next order or answer with its descriptors; None if the other side is gone."""
    data, descriptors, _, _ = socket.recv_fds(sock, _MOST_BYTES, _MOST_DESCRIPTORS)
    if not data:
        return None
    return _decode(data), list(descriptors)
