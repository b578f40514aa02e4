"""The floor in a process of its own: `python -m bench.floor CLASS RESULT`.

The judge, the checks and the scoring are those that grade; only the calls go
straight into the student's code.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import msgspec

from autograder.assignment.assignment import Assignment, Limits, load_assignment
from autograder.assignment.secret import load_secret
from autograder.checks.session import names_asked, other_names
from autograder.diagnosis.catalogue import stage_catalogue
from autograder.grading.exchange import Answer, Fault, Graded, Request
from autograder.grading.grading import entries_of
from autograder.grading.judge import Judge
from autograder.sandbox.guest import loading, reset_state
from autograder.sandbox.host.guest_process import GuestProcess
from autograder.sandbox.host.room import NameSpec, OtherNames, Sandbox
from autograder.submissions.submission import Submission, read_submission
from bench.classroom import ROOT
from bench.direct import guest

STREAMS = ("stdout", "__stdout__", "stderr", "__stderr__", "stdin", "__stdin__")


class DirectSandbox(Sandbox):
    """What the judge takes for a sandbox."""

    def __init__(
        self,
        limits: Limits,
        names: tuple[NameSpec, ...],
        parameters: dict[str, OtherNames],
        output: reset_state.Output,
    ) -> None:
        self.limits = limits
        self.names = names
        self.parameters = parameters
        self._output = output
        loading.prepare()

    def wait_ready(self) -> None:
        """There is nothing to wait for."""

    @property
    def level(self) -> str:
        return "none"

    def on_one_core(self) -> AbstractContextManager[int | None]:
        return nullcontext()  # there is one process alone

    walled = False

    def alive(self) -> bool:
        return True

    def guest(self) -> GuestProcess:
        return guest(self._output)

    def close(self) -> None:
        """There is nothing to end."""


class Timed(msgspec.Struct, frozen=True):
    """One submission as it was graded, however that was."""

    name: str
    score: float | None
    wall_seconds: float
    cpu_seconds: float


def timed(graded: Graded) -> Timed:
    """What is compared of a graded submission."""
    result = graded.result
    return Timed(result.submission, result.score, graded.wall_seconds, graded.cpu_seconds)


def submissions(assignment: Assignment, folder: Path) -> tuple[Submission, ...]:
    """A class, read."""
    return tuple(
        read_submission(entry.path, assignment.limits, entry.name)
        for entry in entries_of(folder, folder.parent / "out")
    )


def grade_here(assignment: Assignment, work: tuple[Submission, ...]) -> tuple[Timed, ...]:
    """Grade without a wall. What the class prints goes nowhere."""
    for stage in assignment.stages:
        stage_catalogue(assignment, stage)  # while imports are still the kit's own
    streams = {name: getattr(sys, name) for name in STREAMS}
    output = reset_state.quiet(assignment.limits.output_chars)
    sys.stderr = streams["stderr"]
    try:
        names = names_asked(assignment)
        answers: list[Answer] = []
        judge = Judge(
            assignment,
            DirectSandbox(assignment.limits, names, other_names(assignment), output),
            load_secret(assignment),
        )
        judge.serve([Request(each) for each in work], answers.append)
    finally:
        for name, stream in streams.items():
            setattr(sys, name, stream)
    graded = []
    for answer in answers[1:]:
        if isinstance(answer, Fault):
            raise RuntimeError(answer.text)
        assert isinstance(answer, Graded)
        graded.append(timed(answer))
    return tuple(graded)


def main(folder: Path, result: Path) -> None:
    """Grade the class, its first member twice: the first time is to warm up."""
    assignment = load_assignment(ROOT)
    work = submissions(assignment, folder)
    result.write_bytes(msgspec.json.encode(grade_here(assignment, (work[0], *work))[1:]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
