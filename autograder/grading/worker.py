"""A worker as its owner sees it: a process that grades one submission after another.

The process is `python -m autograder.grading.serving`; it starts to import torch at once, while
the owner goes on. The command line, platforms' plugins and clusters all grade through this class.
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
    """Owns one grading process. Only one thread may use it at a time.

    Args:
        assignment: The assignment's folder.
        isolation: The level to ask for; None for the best that this machine offers.
    """

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
        """Wait until the worker is warm.

        Raises:
            MissingRequirement: The level asked for is unavailable.
            UsageError: The assignment cannot be loaded.
            InternalError: The process ended.
        """
        if self._isolation is None:
            try:
                answer = receive_answer(self._connection)
            except OSError:  # closed before, when the process had gone
                raise self._gone() from None
            if isinstance(answer, Fault):
                self.close()
                raise _ERRORS.get(answer.exit_code, InternalError)(answer.text)
            if not isinstance(answer, Ready):
                raise self._gone()
            self._isolation = answer.isolation

    @property
    def isolation(self) -> str:
        """The level of isolation in use; waits until the worker is warm."""
        self.wait_ready()
        assert self._isolation is not None
        return self._isolation

    @property
    def pid(self) -> int:
        """The id of the process that grades."""
        return self._process.pid

    def grade(self, submission: Submission, stages: tuple[str, ...] | None = None) -> Graded:
        """Grade a submission.

        Args:
            submission: What was handed in.
            stages: The ids of the stages to grade; None for all.

        Raises:
            InternalError: The kit failed on it, or the worker died.
            MissingRequirement: Something is missing that every submission needs.
        """
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
        """Whether the process is still running."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the worker; an unfinished submission is lost."""
        self._connection.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def kill(self) -> None:
        """End the worker at once, after a deadline or an interrupt."""
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
