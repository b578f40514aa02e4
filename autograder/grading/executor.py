"""Executors take submissions and return futures; `LocalExecutor` grades on this machine.

It has one thread for each worker process. A worker that dies is replaced, and its submission is
tried once more: the kit's own bad luck is never charged to a student.
"""

import contextlib
import itertools
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Protocol

from autograder.errors import AutograderError, InternalError
from autograder.grading.exchange import Graded
from autograder.submissions.submission import Submission

TRIES = 2


class Grader(Protocol):
    """What an executor needs of a worker."""

    @property
    def isolation(self) -> str:
        """The level of isolation in use."""

    def grade(self, submission: Submission, stages: tuple[str, ...] | None) -> Graded:
        """Grade one submission.

        Args:
            submission: What was handed in.
            stages: The ids of the stages to grade; None for all.

        Raises:
            InternalError: The worker died.
        """


Factory = Callable[[], AbstractContextManager[Grader]]


class Executor(Protocol):
    """Grades submissions somewhere."""

    width: int  # how many at a time

    @property
    def isolation(self) -> str:
        """The level of isolation in use.

        Waits until a worker is warm, and raises what kept it from starting.
        """

    def submit(self, submission: Submission, stages: tuple[str, ...] | None) -> Future[Graded]:
        """Have a submission graded.

        Args:
            submission: What was handed in.
            stages: The ids of the stages to grade; None for all.

        Returns:
            The result to come. An `InternalError` in it concerns this submission alone, any other
            `AutograderError` all of them.
        """

    def close(self) -> None:
        """Stop at once, without waiting for what is being graded."""


class LocalExecutor:
    """Workers on this machine, all started at once.

    Args:
        factory: Makes a worker.
        width: How many workers.
    """

    def __init__(self, factory: Factory, width: int) -> None:
        self.width = width
        self._factory = factory
        self._threads = ThreadPoolExecutor(
            width, thread_name_prefix="worker", initializer=self._pin
        )
        self._numbers = itertools.count()
        self._here = threading.local()  # the worker of the thread that asks
        self._lock = threading.Lock()
        self._open: set[contextlib.ExitStack] = set()
        self._closed = False
        # One for each thread: each waits for its own worker, so no thread takes two of these.
        self._isolation, *_ = [
            self._threads.submit(lambda: self._worker().isolation) for _ in range(width)
        ]

    def _pin(self) -> None:
        """Keep this thread, and the worker that it starts, on one core.

        A judge and its guests take turns, so they lose nothing by it, and find their caches warm.
        """
        if self.width > 1 and hasattr(os, "sched_setaffinity"):
            usable = sorted(os.sched_getaffinity(0))
            os.sched_setaffinity(0, {usable[next(self._numbers) % len(usable)]})

    @property
    def isolation(self) -> str:
        """See `Executor`."""
        return self._isolation.result()

    def submit(self, submission: Submission, stages: tuple[str, ...] | None) -> Future[Graded]:
        """See `Executor`."""
        return self._threads.submit(self._grade, submission, stages)

    def close(self) -> None:
        """See `Executor`. Ending the workers' processes ends the threads that wait for them."""
        with self._lock:
            self._closed = True
            stacks = tuple(self._open)
        self._threads.shutdown(wait=False, cancel_futures=True)
        for stack in stacks:
            self._end(stack)
        self._threads.shutdown(wait=True)

    def _grade(self, submission: Submission, stages: tuple[str, ...] | None) -> Graded:
        for attempt in range(1, TRIES + 1):
            try:
                return self._worker().grade(submission, stages)
            except Exception as error:
                # Whatever it was, do not trust this worker with another submission.
                self._end(getattr(self._here, "stack", None))
                if self._closed or attempt == TRIES or _is_lasting(error):
                    raise
        raise AssertionError("unreachable")

    def _worker(self) -> Grader:
        """This thread's worker; a new one if the old one has ended."""
        stack: contextlib.ExitStack | None = getattr(self._here, "stack", None)
        if stack is not None and stack in self._open:
            worker: Grader = self._here.worker
            return worker
        stack = contextlib.ExitStack()
        self._here.worker = stack.enter_context(self._factory())
        self._here.stack = stack
        with self._lock:
            self._open.add(stack)
            closed = self._closed
        if closed:
            self._end(stack)
            raise InternalError("stopped")
        new: Grader = self._here.worker
        return new

    def _end(self, stack: contextlib.ExitStack | None) -> None:
        with self._lock:
            if stack is None or stack not in self._open:
                return
            self._open.remove(stack)
        with contextlib.suppress(Exception):  # it may have died already
            # With an error, the worker's exit kills its process and does not wait for it.
            stopped = InternalError("stopped")
            stack.__exit__(type(stopped), stopped, None)


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _is_lasting(error: Exception) -> bool:
    """Whether another try would fail too, for instance because a requirement is missing."""
    return isinstance(error, AutograderError) and not isinstance(error, InternalError)
