"""Top-level `await` without threads, sockets or signals: a loop that knows only timers."""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any


class _Clock:
    """Replaces a selector: there is nothing to wait for but time."""

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("waits for something that cannot happen here")
        if timeout > 0:
            time.sleep(timeout)
        return []

    def close(self) -> None:
        """There is nothing to close."""


class Loop(asyncio.BaseEventLoop):
    """An event loop of tasks and timers alone; asyncio's own ones open a pair of sockets."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = _Clock()

    def _process_events(self, events: list[Any]) -> None:
        """No event ever comes from outside."""

    def _write_to_self(self) -> None:
        """No other thread is there that could wake the loop."""


def drive(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to its end and return its result, or raise what it raised."""
    loop = Loop()
    try:
        return loop.run_until_complete(coroutine)
    finally:
        loop.close()
