"""Frames: a message and the tensors behind it, over a stream socket.

A frame is a prefix (two lengths), the message, the raw bytes. Lengths are bounded before anything
is allocated. Whoever reads expects exactly one frame: bytes after it are refused, since nobody
speaks out of turn here.
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
    """The other side sent something that no honest program sends."""


class Ended(Exception):
    """The other side closed its end."""


def _for_ever(writing: bool) -> None:
    """Blocking sockets wait by themselves and never call this."""
    raise BlockingIOError


class Channel:
    """One end of the conversation.

    `wait(writing)` is called whenever the socket is not ready; it returns when it may be, or
    raises: that is how deadlines come in. A guest has blocking sockets and needs none.
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
        # A judge knows that no answer is there yet; a look at the socket would be in vain.
        self._waits_first = wait is not None

    def send(self, message: bytes, payload: Sequence[Buffer] = ()) -> None:
        """Send one frame; small ones in one system call."""
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
        """Message and raw bytes of one frame. The views are good until the next frame is read."""
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
