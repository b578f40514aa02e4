"""The messages between the process that wants a submission graded and the worker that grades it.

Both ends are the kit's own, so frames are simple: a length and a message. Nothing here imports
torch, so the asking side need not load it.
"""

from __future__ import annotations

import socket
import struct

import msgspec

from autograder.results.result import Result
from autograder.submissions.submission import Submission

_LENGTH = struct.Struct("<Q")


class Request(msgspec.Struct, frozen=True, gc=False, tag="grade"):
    """A submission to grade; `stages` None means all stages."""

    submission: Submission
    stages: tuple[str, ...] | None = None


class Ready(msgspec.Struct, frozen=True, gc=False, tag="ready"):
    """The worker is warm; `isolation` is the level in use."""

    isolation: str


class Graded(msgspec.Struct, frozen=True, gc=False, tag="graded"):
    """A graded submission; what may differ from run to run is kept apart from the result.

    Attributes:
        result: What goes into `result.json`.
        cpu_seconds: CPU time of judge and guests together.
        wall_seconds: Time by the clock.
        isolation: The level in use.
        details: What only a teacher may read, as JSON.
    """

    result: Result
    cpu_seconds: float
    wall_seconds: float
    isolation: str
    details: bytes = b""


class Fault(msgspec.Struct, frozen=True, gc=False, tag="fault"):
    """A failure that is not the submission's: the kit's, or something missing around it."""

    exit_code: int
    text: str


Answer = Ready | Graded | Fault


def send(connection: socket.socket, message: Request | Answer) -> None:
    """Send one message."""
    data = msgspec.msgpack.encode(message)
    connection.sendall(_LENGTH.pack(len(data)) + data)


def receive_request(connection: socket.socket) -> Request | None:
    """The next request; None if the asking side is gone."""
    data = _receive(connection)
    return None if data is None else msgspec.msgpack.decode(data, type=Request)


def receive_answer(connection: socket.socket) -> Answer | None:
    """The next answer; None if the worker is gone."""
    data = _receive(connection)
    return None if data is None else msgspec.msgpack.decode(data, type=Answer)


def _receive(connection: socket.socket) -> bytes | None:
    head = _exactly(connection, _LENGTH.size)
    if head is None:
        return None
    return _exactly(connection, _LENGTH.unpack(head)[0])


def _exactly(connection: socket.socket, count: int) -> bytes | None:
    data = bytearray()
    while len(data) < count:
        try:
            part = connection.recv(min(count - len(data), 1 << 20))
        except ConnectionError:
            return None
        if not part:
            return None
        data += part
    return bytes(data)
