"""Notices that a file was saved, whatever the editor, on every system: by looking again and again.

One look costs twenty microseconds or so; nothing has to be installed for it.
"""

from __future__ import annotations

import os
import time

from .course import ROOT, TESTS, Stage, course

POLL = 0.01  # seconds between two looks
SETTLES = 20  # so many looks, half as long apart, until a file that is being written is whole

#: By path within the folder: when a file was written last, in nanoseconds, and its size.
Snapshot = dict[str, tuple[int, int]]


def snapshot() -> Snapshot:
    """How the student's files and the checks stand now."""
    seen: Snapshot = {}
    for folder in (ROOT / course().package, TESTS):
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.endswith(".py"):
                        state = os.stat(entry.path)  # noqa: PTH116, a path would cost as much again
                        seen[f"{folder.name}/{entry.name}"] = (state.st_mtime_ns, state.st_size)
        except OSError:  # gone between two looks: an editor replaces it
            continue
    return seen


def settled(before: Snapshot) -> Snapshot:
    """How the files stand once nobody is writing them, or after a tenth of a second.

    Many an editor empties a file or takes it away, and writes it then. What is checked in between
    would have to be checked again, and the process that waits for a save works only once.
    """
    now = snapshot()
    for _ in range(SETTLES):
        time.sleep(POLL / 2)
        earlier, now = now, snapshot()
        written = all(size == 0 or now.get(name, (0, 0))[1] for name, (_, size) in before.items())
        if written and now == earlier:
            break
    return now


def saved(before: Snapshot, now: Snapshot) -> list[Stage]:
    """The stages whose files are not as they were."""
    return [stage for stage in course().stages if before.get(stage.file) != now.get(stage.file)]


def checks_of(seen: Snapshot) -> Snapshot:
    """The checks alone."""
    return {name: state for name, state in seen.items() if name.startswith(f"{TESTS.name}/")}
