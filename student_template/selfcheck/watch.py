"""Looks at the work again whenever a file is saved.

A spare process, with torch in it and the checks collected, waits for the next save. What was saved
is checked first and told at once; the other stages, which may use it, follow.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.text import Text

from .course import Stage, course
from .hints import Hints, one_more
from .keys import Poll, keyboard
from .runner import Run, Worker
from .saves import POLL, checks_of, saved, settled, snapshot
from .screen import LOW, Screen, Step, steps_left
from .standing import Standing
from .state import Remembered

KEYS = "h hint · n next · l list · q quit"


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
        self._run: Run | None = None
        self._spare: Worker | None = None
        self._saved: Sequence[Stage] = ()  # what the run looks at first
        self._told = False  # whether what it found there is on the screen
        self._hints: Hints | None = None
        self._skip = 0
        self._list = False

    def until_quit(self, poll: Poll) -> bool:
        """Check, show, and wait for saves and keys."""
        seen = snapshot()
        self._start(())
        try:
            while True:
                if self._pressed(poll()):
                    return self.standing is not None and self.standing.done
                if snapshot() != seen:
                    before, seen = seen, settled(seen)
                    if checks_of(before) != checks_of(seen):
                        self._discard_spare()
                    self._start(saved(before, seen))
                if self._run is None:
                    time.sleep(POLL)
                    continue
                self._run.step(POLL)
                self._tell(self._run)
        finally:
            if self._run is not None:
                self._run.stop()
            self._discard_spare()

    def _start(self, first: Sequence[Stage]) -> None:
        """Check all stages, these first."""
        if self._run is not None:
            self._run.stop()
        spare = self._spare if self._spare is not None and self._spare.alive else None
        self._spare = None
        at_once = spare is not None and spare.ready
        wait = "" if at_once else " torch is imported first, that takes some seconds"
        self.screen.show(Text(f"checking ...{wait}", "dim"))
        stages = [*first, *(stage for stage in course().stages if stage not in first)]
        self._run = Run([stage.id for stage in stages], spare)
        self._saved, self._told = first, False

    def _tell(self, run: Run) -> None:
        """Show what was saved as soon as that is checked, and everything in the end."""
        if run.over:
            self._run = None
            self._show(run.standing)
            remember(run.standing)
            run.stop()
            self._spare = Worker(spare=True)
        elif self.standing is not None and self._saved and not self._told:
            first = [run.standing.stages[stage.id] for stage in self._saved]
            if all(stage.finished for stage in first):
                self._show(run.standing.over(self.standing))

    def _show(self, standing: Standing) -> None:
        self.standing = standing
        if not self._told:  # the first that is heard of this save
            self._skip, self._hints = 0, None
        self._told = True
        self._draw()

    def _discard_spare(self) -> None:
        if self._spare is not None:
            self._spare.kill()
            self._spare.wait()
            self._spare = None

    def _pressed(self, key: str) -> bool:
        """Do what a key asks for; True for the last one."""
        if key == "q":
            return True
        if self.standing is None:
            return False
        if key == "h":
            step = self._step()
            if step is not None:
                stage, name = step
                self._hints = one_more(stage.stage.id if name is None else name.name)
        elif key == "n":
            self._skip, self._hints = self._skip + 1, None
        elif key == "l":
            self._list = not self._list
        else:
            return False
        self._draw()
        return False

    def _step(self) -> Step | None:
        """What to do next: in what was saved last, or else the first thing of all."""
        assert self.standing is not None
        steps = steps_left(self.standing)
        if not steps:
            return None
        first = next((n for n, (stage, _) in enumerate(steps) if stage.stage in self._saved), 0)
        return steps[(first + self._skip) % len(steps)]

    def _draw(self) -> None:
        if self.standing is None:
            return
        step = self._step()
        note = "saved files are checked at once"
        if self._run is not None:
            note = "the other stages are being checked" if self._told else "checking ..."
        praise_later = self._run is not None and step is None  # others may use what was saved
        crowded = self._list and self.screen.console.height < LOW
        with self.screen.console:  # one piece: nothing flickers
            self.screen.console.clear()
            self.screen.show(
                self.screen.status(self.standing, step, names=self._list),
                *([] if praise_later or crowded else [self.screen.next_step(step)]),
                *([Text(), self.screen.hints(self._hints)] if self._hints else []),
                Text(f"\n{KEYS}   ({note})", "dim"),
            )
