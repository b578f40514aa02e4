"""A worker that a platform's process keeps: started when first needed, ended when idle.

A platform asks for one submission at a time, and often for the same one again: once for each
notebook. So results are kept by the digest of what was handed in. A submission that will be asked
for soon can be started ahead, while the platform does its own part.
"""

from __future__ import annotations

import atexit
import threading
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

from autograder.assignment.assignment import Assignment
from autograder.errors import InternalError, MissingRequirement
from autograder.grading.exchange import Graded
from autograder.grading.executor import LocalExecutor
from autograder.grading.grading import WEAK_ISOLATION
from autograder.grading.worker import Worker
from autograder.results.result import SCHEMA, Result
from autograder.submissions.submission import Submission, Unreadable, read_submission

REST_SECONDS = 120.0  # a server that grades now and then need not keep 500 MB in between
KEPT_AT_MOST = 64


class WarmJudge:
    """Grades folders and files; may be used from several threads.

    Args:
        assignment: The assignment.
        isolation: The level asked for by name; None for the best.
        rest_seconds: Idle time after which the worker is ended.
    """

    def __init__(
        self,
        assignment: Assignment,
        isolation: str | None = None,
        rest_seconds: float = REST_SECONDS,
    ) -> None:
        self.assignment = assignment
        self._isolation = isolation
        self._rest_seconds = rest_seconds
        self._executor: LocalExecutor | None = None
        self._kept: dict[str, Future[Graded]] = {}
        self._waiting = 0
        self._lock = threading.RLock()
        self._rest: threading.Timer | None = None
        atexit.register(self.close)

    def begin(self, place: Path, name: str) -> None:
        """Start grading what `grade` will be asked for, and return at once.

        `grade` reads the place again and reports failures: work that has changed in between is
        graded as it is then.

        Args:
            place: The folder or file.
            name: The student's name.
        """
        with suppress(Unreadable):
            submission = read_submission(place, self.assignment.limits, name)
            with self._lock:
                self._asked(submission)
                self._lay_down()

    def grade(self, place: Path, name: str) -> Result:
        """Grade what was handed in.

        Args:
            place: The folder or file.
            name: The student's name.

        Returns:
            The result; one with status `error` if the work cannot be read.

        Raises:
            InternalError: The kit failed on it, which must not cost the student anything.
            MissingRequirement: Nothing can be graded on this machine.
        """
        try:
            submission = read_submission(place, self.assignment.limits, name)
        except Unreadable as error:
            return unreadable(self.assignment, name, str(error))
        with self._lock:
            future = self._asked(submission)
            self._waiting += 1
        try:
            return future.result().result
        except InternalError:
            self._forget(future)  # the next request tries again
            raise
        except Exception:  # concerns everybody, not this submission
            self.close()
            raise
        finally:
            with self._lock:
                self._waiting -= 1
                self._lay_down()

    def close(self) -> None:
        """End the worker, if there is one; the next submission starts another."""
        with self._lock:
            self._wake()
            if self._executor is not None:
                self._executor.close()
                self._executor = None
                self._kept = {
                    key: future for key, future in self._kept.items() if _has_result(future)
                }

    @property
    def is_awake(self) -> bool:
        """Whether a worker is running."""
        return self._executor is not None

    def _asked(self, submission: Submission) -> Future[Graded]:
        """The future of a submission, which is submitted if it has not been."""
        key = f"{submission.name}:{submission.digest}"
        found = self._kept.get(key)
        if found is None:
            self._wake()
            if self._executor is None:
                self._executor = LocalExecutor(self._worker, 1)
            found = self._executor.submit(submission, None)
            while len(self._kept) >= KEPT_AT_MOST:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = found
        return found

    def _worker(self) -> Worker:
        """A worker behind a wall that holds; nothing is graded before its level is known."""
        worker = Worker(self.assignment.folder, self._isolation)
        try:
            if worker.isolation == WEAK_ISOLATION and self._isolation is None:
                raise MissingRequirement(
                    "this machine offers no isolation but a separate process, which student"
                    " code can get out of; see autograder doctor, or ask for it by name"
                )
        except BaseException:
            worker.kill()
            raise
        return worker

    def _forget(self, future: Future[Graded]) -> None:
        with self._lock:
            self._kept = {key: each for key, each in self._kept.items() if each is not future}

    def _wake(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None

    def _lay_down(self) -> None:
        """Start the idle time, unless somebody waits for the worker."""
        self._wake()
        if self._executor is not None and not self._waiting:
            self._rest = threading.Timer(self._rest_seconds, self._retire)
            self._rest.daemon = True
            self._rest.start()

    def _retire(self) -> None:
        with self._lock:
            if not self._waiting:
                self.close()


def _has_result(future: Future[Graded]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def unreadable(assignment: Assignment, name: str, reason: str) -> Result:
    """The result of something that cannot be read: no points, and why."""
    return Result(
        schema=SCHEMA,
        submission=name,
        digest="",
        assignment=assignment.id,
        score=0.0,
        max_score=float(assignment.points),
        stages=(),
        notes=(),
        status="error",
        message=reason,
    )
