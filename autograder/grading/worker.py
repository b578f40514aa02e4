"""A worker as its owner holds it: a process that grades one submission after another.

The process is `python -m autograder.grading.serving`; it starts to import torch at once, while
the owner goes on. Whoever grades talks to this class: the command line, a platform's plugin, a
cluster.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from types import TracebackType

from autograder.errors import AutograderError, InternalError, MissingRequirement, UsageError
from autograder.grading.exchange import Fault, Graded, Ready, Request, receive_answer, send
from autograder.submissions.submission import Submission

_ERRORS: dict[int, type[AutograderError]] = {1: InternalError, 2: UsageError, 3: MissingRequirement}


class Worker:
    """Owns one grading process. Not to be shared between threads at the same moment."""

    def __init__(self, assignment: Path, isolation: str | None = None) -> None:
        ours, theirs = socket.socketpair()
        self._connection = ours
        self._isolation: str | None = None
        command = [
            sys.executable,
            "-P",
            "-m",
            "autograder.grading.serving",
            str(theirs.fileno()),
            str(assignment),
        ]
        if isolation is not None:
            command.append(isolation)
        self._process = subprocess.Popen(
            command,
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the owner, who ends the worker in good order
            env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        theirs.close()

    def wait_ready(self) -> None:
        """Until the worker is warm. Raises what kept it from getting there."""
        if self._isolation is None:
            try:
                answer = receive_answer(self._connection)
            except OSError:  # closed before, when the process was found to be gone
                raise self._gone() from None
            if isinstance(answer, Fault):
                self.close()
                raise _ERRORS.get(answer.exit_code, InternalError)(answer.text)
            if not isinstance(answer, Ready):
                raise self._gone()
            self._isolation = answer.isolation

    @property
    def isolation(self) -> str:
        """The level of isolation in force."""
        self.wait_ready()
        assert self._isolation is not None
        return self._isolation

    @property
    def pid(self) -> int:
        """The process that grades."""
        return self._process.pid

    def grade(self, submission: Submission, stages: tuple[str, ...] | None = None) -> Graded:
        """Grade a submission; `InternalError` when the kit failed on it or the worker died."""
        self.wait_ready()
        try:
            send(self._connection, Request(submission, stages))
        except OSError as error:
            raise self._gone() from error
        answer = receive_answer(self._connection)
        if isinstance(answer, Fault):
            raise _ERRORS.get(answer.exit_code, InternalError)(answer.text)
        if not isinstance(answer, Graded):
            raise self._gone()
        return answer

    def _gone(self) -> InternalError:
        code = self._process.wait()
        self.close()
        return InternalError(f"a grading process ended by itself (exit status {code})")

    @property
    def alive(self) -> bool:
        """Whether the process is still there."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the worker; what it was doing is lost."""
        self._connection.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def kill(self) -> None:
        """End the worker at once, for a deadline that passed or an interrupt."""
        self._process.kill()
        self.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._process.kill()
        self.close()
