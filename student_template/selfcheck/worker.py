"""The process in which the student's code runs.

It brings torch and pytest in, says that it is ready, and waits for one line on standard input
that tells which stages to look at. What it finds goes out as lines of JSON. It works once.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import IO, Any

from .course import ROOT, course
from .standing import Event

WAITING = 3  # how many times longer code may wait (for a lock, in `sleep`) than it may work
SPARE = "spare"  # the argument of a process that has time before its order
HUNG = 3  # the exit code of a process that ended itself at the deadline


class Channel:
    """Standard output as it was, kept for events; whatever is printed later goes nowhere."""

    def __init__(self) -> None:
        sys.stdout.flush()
        self._file: IO[str] = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        self._orders = os.fdopen(os.dup(0), "r", encoding="utf-8")
        os.dup2(nowhere, 0)
        self._lock = threading.Lock()
        self.last: Event = {}
        self.begin_anew()

    def begin_anew(self) -> None:
        """Something was heard of the student's code: the deadline begins anew."""
        self._work, self._wall = time.process_time(), time.monotonic()

    def overdue(self, seconds: float) -> bool:
        """Whether so many seconds of work, or several times that of waiting, were silent.

        Work counts, so that a busy machine ends nothing that would have come back.
        """
        worked = time.process_time() - self._work
        waited = time.monotonic() - self._wall
        return worked > seconds or waited > WAITING * seconds

    def tell(self, event: Event) -> None:
        """Send an event; the deadline begins anew."""
        with self._lock:
            self.last = event
            self.begin_anew()
            self._file.write(json.dumps(event) + "\n")
            self._file.flush()

    def order(self) -> dict[str, Any]:
        """Wait for the one order; end quietly when nobody is there any more to give it."""
        line = self._orders.readline()
        if not line:
            os._exit(0)
        order: dict[str, Any] = json.loads(line)
        return order


def main() -> None:
    """Get ready, wait, look at the student's work, end."""
    import torch

    from .modules import Awaited
    from .study import Order, study
    from .warm import warm

    channel = Channel()  # only now: what cannot be imported is to be heard of
    torch.set_num_threads(1)  # small tensors; more threads only have to be woken
    spare = SPARE in sys.argv[1:]

    def wait() -> Order:
        if spare:
            warm()
        channel.tell({"kind": "ready"})
        order = channel.order()
        channel.begin_anew()
        _watch_over(channel, order["seconds"])
        return Order(order["stages"], order["weights"])

    study(wait, channel.tell, Awaited().load)
    channel.tell({"kind": "end"})
    os._exit(0)  # nothing of the student's may keep the process alive


def _watch_over(channel: Channel, seconds: float) -> None:
    """End the process when nothing is heard for that long, and say where it was."""
    main_thread = threading.get_ident()

    def watch() -> None:
        while not channel.overdue(seconds):
            time.sleep(0.05)
        channel.tell({**channel.last, "kind": "hung", "place": _where(main_thread)})
        os._exit(HUNG)

    threading.Thread(target=watch, daemon=True).start()


def _where(thread: int) -> str:
    """The student's line that a thread is at, such as `attention/causal.py:12`."""
    frame = sys._current_frames().get(thread)
    folder = os.path.join(ROOT, course().package) + os.sep  # noqa: PTH118, plain text is enough
    while frame is not None:
        if frame.f_code.co_filename.startswith(folder):
            inner = frame.f_code.co_filename[len(str(ROOT)) + 1 :].replace(os.sep, "/")
            return f"{inner}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


if __name__ == "__main__":
    main()
