"""Single keys from a terminal, without waiting and without Return, on every system."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Gives the key that was pressed, or "" where none was.
Poll = Callable[[], str]

if sys.platform == "win32":
    import msvcrt

    @contextmanager
    def keyboard() -> Iterator[Poll]:
        """Keys as they are pressed."""

        def poll() -> str:
            return msvcrt.getwch() if msvcrt.kbhit() else ""

        yield poll

else:
    import os
    import select
    import termios
    import tty

    @contextmanager
    def keyboard() -> Iterator[Poll]:
        """Keys as they are pressed; the terminal is put back as it was."""
        descriptor = sys.stdin.fileno()
        before = termios.tcgetattr(descriptor)

        def poll() -> str:
            ready, _, _ = select.select([descriptor], [], [], 0)
            if not ready:
                return ""
            # End of file is a terminal that has gone: as good as quitting.
            return os.read(descriptor, 1).decode(errors="replace") or "q"

        try:
            tty.setcbreak(descriptor)
            yield poll
        finally:
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
