"""Has the student's work looked at in other processes, and ends those that hang.

A spare process, with torch in it, is kept ready. Works alike on Linux, macOS and Windows: pipes,
a thread for each that reads, and `kill`.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

from .course import HERE, ROOT
from .standing import Event, Standing

SECONDS = 10.0  # how long one check, or one import, may work
PATIENCE = 4  # after so many times that, a process is ended that did not end itself
START = 300.0  # how long torch may take to be imported
KILLED = 5.0  # how long a process that was ended may take to be gone; nothing depends on it


def seconds_allowed() -> float:
    """The deadline; `SELFCHECK_SECONDS` gives another one to a slow machine."""
    try:
        return max(0.1, float(os.environ.get("SELFCHECK_SECONDS", SECONDS)))
    except ValueError:
        return SECONDS


class Worker:
    """One process, which can be given one order; a spare one gets everything ready before it."""

    def __init__(self, spare: bool = False) -> None:
        environment = os.environ | {"PYTHONIOENCODING": "utf-8", "PYTHONUNBUFFERED": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"{HERE.name}.worker", *(["spare"] if spare else [])],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        self.events: queue.Queue[Event | None] = queue.Queue()
        self.ready = False
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                event = json.loads(line)
            except ValueError:  # not one of ours
                continue
            self.ready = True  # it says so before all else
            self.events.put(event)
        self.events.put(None)

    @property
    def alive(self) -> bool:
        """Whether it has not ended yet, by itself or by somebody's hand."""
        return self._process.poll() is None

    def order(self, stages: Sequence[str], seconds: float, weights: bool) -> None:
        """Say what to look at; the process begins as soon as it is ready."""
        assert self._process.stdin is not None
        order = {"stages": list(stages), "seconds": seconds, "weights": weights}
        try:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
        except OSError:  # it has ended already, which reading tells
            pass

    def complaints(self) -> str:
        """The last line that the process wrote on standard error before it ended."""
        assert self._process.stderr is not None
        lines = self._process.stderr.read().strip().splitlines()
        self.wait()
        return lines[-1] if lines else f"exit code {self._process.poll()}"

    def kill(self) -> None:
        """End the process, without waiting until it is gone: that takes as long as ten checks."""
        self._process.kill()

    def wait(self) -> None:
        """Wait until a process that was ended is gone."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(KILLED)


class CannotWork(Exception):
    """This Python cannot run the checks at all; the text says what it said."""


class Run:
    """One look at the student's work; `step` it until it is over.

    With `weights`, attention weights are read as well, which only heatmaps need.
    """

    def __init__(
        self, stages: Sequence[str], worker: Worker | None = None, weights: bool = False
    ) -> None:
        self.standing = Standing.of(tuple(stages))
        self.over = False
        self._seconds = seconds_allowed()
        self._weights = weights
        self._left = list(stages)
        self.doing = "torch and pytest are imported"
        self._worker = worker or Worker()
        self._begin()

    def _begin(self) -> None:
        self._now: Event = {}
        self._deadline = time.monotonic() + (self._patience if self._worker.ready else START)
        self._worker.order(self._left, self._seconds, self._weights)

    @property
    def _patience(self) -> float:
        return self._seconds * PATIENCE

    def step(self, seconds: float) -> bool:
        """Take in what comes within so many seconds; True when something did.

        Raises CannotWork where the process does not even begin.
        """
        if self.over:
            return False
        try:
            event = self._worker.events.get(timeout=seconds)
        except queue.Empty:
            if time.monotonic() > self._deadline:
                self._lost({**self._now, "kind": "hung"})
            return False
        with contextlib.suppress(queue.Empty):
            while not self.over:
                self._hear(event)
                event = self._worker.events.get_nowait()
        return True

    def _hear(self, event: Event | None) -> None:
        if event is None:  # the process is gone without a word
            self._lost({**self._now, "kind": "ended"})
            return
        self._deadline = time.monotonic() + self._patience
        match event["kind"]:
            case "ready":
                pass
            case "begin":
                self._now = event
                self.doing = f"{event['stage']}: {event['check']}"
            case "hung":
                self._lost(event)
            case "broken":
                self.over = True
                self._worker.kill()
                raise CannotWork(event["message"])
            case "end":
                self._finish()
            case _:
                self.standing.hear(event)
                if event["kind"] in ("finished", "problem"):
                    self._done_with(event["stage"])

    def _lost(self, event: Event) -> None:
        """A check took its process with it: note that, and go on with the stages after it."""
        self._worker.kill()
        stage = self.standing.stages.get(event.get("stage", ""))
        if stage is None:
            self.over = True
            ended = event["kind"] == "ended"
            raise CannotWork(self._worker.complaints() if ended else self._late())
        place = event.get("place") or stage.stage.file
        message = f"{place} {self._reason(event)}"
        self.standing.hear({"kind": "problem", "stage": stage.stage.id, "message": message})
        self._done_with(stage.stage.id)
        if not self.over:
            self._worker.wait()
            self._worker = Worker()
            self._begin()

    def _done_with(self, stage: str) -> None:
        self._left = [each for each in self._left if each != stage]
        if not self._left:
            self._finish()

    def _late(self) -> str:
        if self._worker.ready:
            return f"nothing was heard of them for {self._patience:g} seconds"
        return f"torch and pytest were not imported within {START:g} seconds"

    def _reason(self, event: Event) -> str:
        during = event.get("check", "")
        if event["kind"] == "hung":
            reason = (
                f"did not come back within {self._seconds:g} seconds\n"
                "  what to do: look for a loop that never ends"
            )
        else:
            reason = "ended Python\n  what to do: take out `exit`, `quit` and the like"
        return f"{reason}\n  seen in: {during}" if during else reason

    def _finish(self) -> None:
        self.over = True
        self._worker.kill()

    def stop(self) -> None:
        """End it, whatever it is doing."""
        self._finish()
        self._worker.wait()


def look(stage: str) -> Standing:
    """Look at one stage and its attention weights, and say where the student stands."""
    run = Run([stage], weights=True)
    try:
        while not run.over:
            run.step(0.2)
    finally:
        run.stop()
    return run.standing
