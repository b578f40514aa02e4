"""Frames: a message and the tensors behind it, over a stream socket.

A frame is a prefix (two lengths), the message, the raw bytes. Lengths are checked before anything
is allocated. The reader expects exactly one frame: bytes after it are refused, since neither side
speaks out of turn.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Sequence

Buffer = bytes | bytearray | memoryview

_PREFIX = struct.Struct("<IQ")
_AT_ONCE = 1 << 16
_MOST_PARTS = 512  # of one sendmsg; the system allows 1024


class Broken(Exception):
    """The other side sent something that no honest program would send."""


class Ended(Exception):
    """The other side closed its end."""


def _for_ever(writing: bool) -> None:
    """Blocking sockets wait by themselves and never call this."""
    raise BlockingIOError


class Channel:
    """One end of the connection.

    Args:
        sock: The socket.
        max_message: The largest message accepted, in bytes.
        max_payload: The most raw bytes accepted behind it.
        wait: Called with whether to write whenever the socket is not ready; it returns when the
            socket may be, or raises, which is how deadlines are enforced. A guest's sockets block
            and need none.
    """

    def __init__(
        self,
        sock: socket.socket,
        max_message: int,
        max_payload: int,
        wait: Callable[[bool], None] | None = None,
    ) -> None:
        self._socket = sock
        self._buffer = bytearray(_AT_ONCE)
        self._view = memoryview(self._buffer)
        self._max_message = max_message
        self._max_payload = max_payload
        self._wait = wait or _for_ever
        # A judge knows that there is no answer yet, so it need not try the socket first.
        self._waits_first = wait is not None

    def send(self, message: bytes, payload: Sequence[Buffer] = ()) -> None:
        """Send one frame, a small one in one system call.

        Raises:
            Ended: The other side is gone.
        """
        size = 0
        for part in payload:
            size += len(part)
        parts: list[Buffer] = [_PREFIX.pack(len(message), size), message, *payload]
        total = _PREFIX.size + len(message) + size
        if total <= _AT_ONCE:
            self._send_all(memoryview(b"".join(parts)))
            return
        self._send_parts([memoryview(part) for part in parts if len(part)])

    def _send_all(self, view: memoryview) -> None:
        while view:
            try:
                sent = self._socket.send(view)
            except BlockingIOError:
                self._wait(True)
                continue
            except (BrokenPipeError, ConnectionResetError):
                raise Ended from None
            if sent == len(view):
                return
            view = view[sent:]

    def _send_parts(self, views: list[memoryview]) -> None:
        first = 0
        while first < len(views):
            try:
                sent = self._socket.sendmsg(views[first : first + _MOST_PARTS])
            except BlockingIOError:
                self._wait(True)
                continue
            except (BrokenPipeError, ConnectionResetError):
                raise Ended from None
            while sent:
                if sent >= len(views[first]):
                    sent -= len(views[first])
                    first += 1
                else:
                    views[first] = views[first][sent:]
                    sent = 0

    def _receive_into(self, view: memoryview) -> int:
        while True:
            try:
                count = self._socket.recv_into(view)
            except BlockingIOError:
                self._wait(False)
                continue
            except ConnectionResetError:
                raise Ended from None
            if count == 0:
                raise Ended
            return count

    def receive(self) -> tuple[memoryview, memoryview]:
        """Receive one frame.

        Returns:
            The message and the raw bytes, as views that are valid until the next frame is read.

        Raises:
            Broken: A length is out of bounds, or bytes follow the frame.
            Ended: The other side is gone.
        """
        have = 0
        if self._waits_first:
            self._wait(False)
        while have < _PREFIX.size:
            have += self._receive_into(self._view[have:])
        message_size, payload_size = _PREFIX.unpack_from(self._buffer)
        if message_size > self._max_message:
            raise Broken(f"a message of {message_size} bytes")
        if payload_size > self._max_payload:
            raise Broken(f"{payload_size} bytes of tensors")
        total = _PREFIX.size + message_size + payload_size
        if have > total:
            raise Broken("bytes after the frame")
        view = self._view
        if total > _AT_ONCE:
            view = memoryview(bytearray(total))
            view[:have] = self._view[:have]
        while have < total:
            have += self._receive_into(view[have:total])
        start = _PREFIX.size + message_size
        return view[_PREFIX.size : start], view[start:total]
