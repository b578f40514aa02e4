"""Looks at the work again whenever a file is saved.

A spare process with torch in it waits for the next save, so that only the checks are left to do.
"""

from __future__ import annotations

import time

from rich.text import Text

from .course import ROOT, course
from .hints import Hints, one_more
from .keys import Poll, keyboard
from .runner import Run, Worker
from .screen import Screen, steps_left
from .standing import Standing
from .state import Remembered

POLL = 0.02  # seconds between two looks at files and keys
KEYS = "h hint · n next · l list · q quit"

Snapshot = dict[str, tuple[int, int]]


def snapshot() -> Snapshot:
    """When each of the student's files was written last, and its size."""
    seen: Snapshot = {}
    for file in (ROOT / course().package).glob("*.py"):
        try:
            state = file.stat()
        except OSError:  # gone between two looks: an editor replaces it
            continue
        seen[file.name] = (state.st_mtime_ns, state.st_size)
    return seen


def watch(screen: Screen) -> bool:
    """Watch until `q` is pressed; True where all stages were done then."""
    with keyboard() as poll:
        return Watching(screen).until_quit(poll)


def remember(standing: Standing) -> None:
    """Keep which name comes next in each stage, for hints."""
    remembered = Remembered.read()
    for stage in standing.stages.values():
        if stage.next is not None:
            remembered.next[stage.stage.id] = stage.next.name
        else:
            remembered.next.pop(stage.stage.id, None)
    remembered.write()


class Watching:
    """One session: what was seen last, and what the keys have chosen to show."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self.standing: Standing | None = None
        self._hints: Hints | None = None
        self._skip = 0
        self._list = False
        self._spare: Worker | None = None

    def until_quit(self, poll: Poll) -> bool:
        """Check, show, and wait for saves and keys."""
        seen = snapshot()
        run: Run | None = self._start(None)
        try:
            while True:
                if self._pressed(poll()):
                    return self.standing is not None and self.standing.done
                now = snapshot()
                if now != seen:
                    seen = now
                    run = self._start(run)
                if run is None:
                    time.sleep(POLL)
                    continue
                run.step(POLL)
                if run.over:
                    self.standing = run.standing
                    self._skip, self._hints = 0, None
                    remember(run.standing)
                    self._draw()
                    run = None
                    self._spare = Worker()
        finally:
            if run is not None:
                run.stop()
            if self._spare is not None:
                self._spare.kill()

    def _start(self, run: Run | None) -> Run:
        if run is not None:
            run.stop()
        spare, self._spare = self._spare, None
        self.screen.show(Text("checking ...", "dim"))
        return Run([stage.id for stage in course().stages], spare)

    def _pressed(self, key: str) -> bool:
        """Do what a key asks for; True for the last one."""
        if key == "q":
            return True
        if self.standing is None:
            return False
        if key == "h":
            steps = steps_left(self.standing)
            if steps:
                stage, name = steps[self._skip % len(steps)]
                self._hints = one_more(stage.stage.id if name is None else name.name)
        elif key == "n":
            self._skip, self._hints = self._skip + 1, None
        elif key == "l":
            self._list = not self._list
        else:
            return False
        self._draw()
        return False

    def _draw(self) -> None:
        if self.standing is None:
            return
        self.screen.console.clear()
        self.screen.show(
            self.screen.status(self.standing, names=self._list),
            self.screen.next_step(self.standing, self._skip),
            *([Text(), self.screen.hints(self._hints)] if self._hints else []),
            Text(f"\n{KEYS}   (saved files are checked at once)", "dim"),
        )
