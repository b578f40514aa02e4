"""A worker that a platform's process keeps: started when first needed, ended after a rest.

A platform asks for one submission at a time, and often for the same one again: once for each
notebook. So results are kept by the digest of what was handed in.
"""

from __future__ import annotations

import atexit
import threading
from pathlib import Path

from autograder.assignment import Assignment
from autograder.errors import SurroundingsLack
from autograder.executor import LocalExecutor
from autograder.grading import WEAK_ISOLATION
from autograder.result import SCHEMA, Result
from autograder.submission import Submission, Unreadable, read_submission
from autograder.worker import Worker

REST_SECONDS = 120.0  # a server that grades now and then need not keep 500 MB in between
KEPT_AT_MOST = 64


class WarmJudge:
    """Grades what lies in folders and files; may be used from several threads."""

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
        self._kept: dict[str, Result] = {}
        self._lock = threading.Lock()
        self._rest: threading.Timer | None = None
        atexit.register(self.close)

    def grade(self, place: Path, name: str) -> Result:
        """The result of what was handed in; one with status `error` where it cannot be read.

        Raises `KitFault` where the kit failed on it and `SurroundingsLack` where nothing can be
        graded here: neither is a student's to pay for.
        """
        try:
            submission = read_submission(place, self.assignment.limits, name)
        except Unreadable as error:
            return unreadable(self.assignment, name, str(error))
        with self._lock:
            self._wake()
            try:
                return self._result(submission)
            finally:
                self._lay_down()

    def close(self) -> None:
        """End the worker, if there is one; the next submission starts another."""
        with self._lock:
            self._wake()
            if self._executor is not None:
                self._executor.close()
                self._executor = None

    @property
    def is_awake(self) -> bool:
        """Whether a worker is there."""
        return self._executor is not None

    def _result(self, submission: Submission) -> Result:
        key = f"{submission.name}:{submission.digest}"
        found = self._kept.get(key)
        if found is None:
            found = self._started().submit(submission, None).result().result
            while len(self._kept) >= KEPT_AT_MOST:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = found
        return found

    def _started(self) -> LocalExecutor:
        if self._executor is None:
            folder, isolation = self.assignment.folder, self._isolation
            executor = LocalExecutor(lambda: Worker(folder, isolation), 1)
            try:
                if executor.isolation == WEAK_ISOLATION and isolation is None:
                    raise SurroundingsLack(
                        "this machine offers no isolation but a separate process, which student"
                        " code can get out of; see autograder doctor, or ask for it by name"
                    )
            except BaseException:
                executor.close()
                raise
            self._executor = executor
        return self._executor

    def _wake(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None

    def _lay_down(self) -> None:
        if self._executor is not None:
            self._rest = threading.Timer(self._rest_seconds, self.close)
            self._rest.daemon = True
            self._rest.start()


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
