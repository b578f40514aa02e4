"""Frames that no honest program sends, made from right ones and out of nothing.

Each is made by a generator of its own, from the run's seed and its number: `--seed` and `--first`
make any one of them again.
"""

from __future__ import annotations

import copy
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

PREFIX = struct.Struct("<IQ")
RIGHT, STALLED = "right", "stalled"

_ODD: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 7, 300, 1 << 24, 1 << 31, 1 << 62, (1 << 63) - 1),
    *((1 << 64) - 1, -(1 << 63), 0.5, 1e308, float("nan"), float("inf")),
    *("", "softmax", "float32", "bool", "complex128", "x" * 299, "y" * 3999, "z" * 5000),
    *("\x1b[2J\x1b]0;title\x07", "=cmd()", "\u202etxt", "<script>", "../../..", "a\x00b\r\nc"),
    *(b"", b"bytes" * 20, [], {}, [[]], [0], [0, 0], [1, []], [2, 3, "X"], [4, "text"], {"a": 1}),
    *([0] * 5000, {str(number): number for number in range(5000)}, [1, [[1, [[1, []]]]]]),
)
_SIZES = (0, 1, 11, 13, 255, 1 << 16, 1 << 20, (1 << 20) + 1, 1 << 26, (1 << 26) + 1, (1 << 32) - 1)


@dataclass(frozen=True)
class Frame:
    """Bytes to send, how they were made, and whether the sender hangs up behind them."""

    kind: str
    data: bytes
    hangs_up: bool = False


def frame_of(message: bytes, payload: bytes = b"") -> bytes:
    """One well-formed frame."""
    return PREFIX.pack(len(message), len(payload)) + message + payload


class Maker:
    """Makes one frame out of a right message and its payload."""

    def __init__(self, seed: int, number: int) -> None:
        self.random = random.Random(f"{seed}:{number}")

    def frame(self, message: bytes, payload: bytes) -> Frame:
        """A hostile frame; now and then a right one, which must get through."""
        kinds: dict[str, Callable[[bytes, bytes], bytes]] = {
            "noise": lambda message, payload: self._noise(400),
            "noise in a frame": lambda message, payload: frame_of(self._noise(400), payload),
            "changed bytes": self._changed,
            "stretched": self._stretched,
            "spliced": self._spliced,
            "lengths that lie": self._lying_lengths,
            "twice": lambda message, payload: frame_of(message, payload) * 2,
            "a payload that does not fit": self._misfit,
            "another structure": self._restructured,
            "bottomless": self._bottomless,
            "endless": self._endless,
            RIGHT: frame_of,
        }
        draw = self.random.random()
        if draw < 0.002:
            return Frame(STALLED, self._cut(frame_of(message, payload)))
        if draw < 0.15:
            return Frame("half", self._cut(frame_of(message, payload)), hangs_up=True)
        # Other structures pass the first checks, so most may be learnt from them.
        kind = "another structure" if draw < 0.5 else self.random.choice(list(kinds))
        return Frame(kind, kinds[kind](message, payload), self.random.random() < 0.1)

    def _noise(self, most: int) -> bytes:
        return self.random.randbytes(self.random.randrange(most))

    def _cut(self, data: bytes) -> bytes:
        return data[: self.random.randrange(len(data))]

    def _changed(self, message: bytes, payload: bytes) -> bytes:
        data = bytearray(frame_of(message, payload))
        first = self.random.choice((0, PREFIX.size))  # with the lengths or without
        for _ in range(self.random.randint(1, 8)):
            data[self.random.randrange(first, len(data))] = self.random.randrange(256)
        return bytes(data)

    def _stretched(self, message: bytes, payload: bytes) -> bytes:
        place = self.random.randrange(len(message))
        piece = message[place : place + self.random.randint(1, 40)] * self.random.randint(1, 9)
        return frame_of(message[:place] + piece + message[place:], payload)

    def _spliced(self, message: bytes, payload: bytes) -> bytes:
        first, second = (self.random.randrange(len(message)) for _ in range(2))
        return frame_of(message[:first] + message[second:], payload)

    def _lying_lengths(self, message: bytes, payload: bytes) -> bytes:
        sizes = [len(message), len(payload)]
        place = self.random.randrange(2)
        near = sizes[place] + self.random.randint(-3, 3)
        most = ((1 << 32) - 1, (1 << 64) - 1)[place]
        choice = self.random.choice((near, *_SIZES, most, most >> 1))
        sizes[place] = min(max(choice, 0), most)
        return PREFIX.pack(*sizes) + message + payload

    def _misfit(self, message: bytes, payload: bytes) -> bytes:
        if self.random.random() < 0.5:
            return frame_of(message, payload[: self.random.randrange(len(payload) + 1)])
        return frame_of(message, payload + self._noise(40))

    def _bottomless(self, message: bytes, payload: bytes) -> bytes:
        place = self.random.randrange(len(message))
        opening = self.random.choice((b"\x91", b"\x92\x01\x91", b"\x81\xa1a", b"\xdc\x00\x01"))
        depth = self.random.choice((20, 200, 5_000, 20_000))
        return frame_of(message[:place] + opening * depth + message[place:], payload)

    def _endless(self, message: bytes, payload: bytes) -> bytes:
        place = self.random.randrange(len(message))
        claim = self.random.choice((b"\xdd", b"\xdf", b"\xdb", b"\xc6", b"\xc9")) + b"\xff" * 4
        return frame_of(message[:place] + claim + message[place:], payload)

    def _restructured(self, message: bytes, payload: bytes) -> bytes:
        tree = [msgspec.msgpack.decode(message)]
        for _ in range(self.random.choice((1, 1, 1, 2, 4))):
            self._replace_one(tree)
        return frame_of(msgspec.msgpack.encode(tree[0]), payload)

    def _replace_one(self, tree: list[Any]) -> None:
        """Put something odd in a place of the message, more often a deep one."""
        holder: Any = tree
        while True:
            keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            if not keys:
                return
            key = self.random.choice(keys)
            below = holder[key]
            if isinstance(below, list | dict) and below and self.random.random() < 0.85:
                holder = below
                continue
            way = self.random.random()
            if way < 0.1 and holder is not tree:
                del holder[key]
            elif way < 0.2 and isinstance(holder, list):
                holder.insert(key, self._odd())
            elif way < 0.3 and isinstance(holder, list):
                small = not isinstance(below, list | dict | str | bytes) or len(below) < 20
                holder.extend([below] * self.random.choice((1, 3, 4097 if small else 5)))
            else:
                holder[key] = self._odd()
            return

    def _odd(self) -> Any:
        return copy.deepcopy(self.random.choice(_ODD))  # it may be changed in its turn
