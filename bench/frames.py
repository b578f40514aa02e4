"""How often judge and guest take turns over one submission, and how many questions go along."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from autograder.assignment.assignment import load_assignment
from autograder.assignment.secret import load_secret
from autograder.checks.session import names_asked, other_names
from autograder.grading.exchange import Request
from autograder.grading.judge import Judge
from autograder.sandbox.host.guest_process import GuestProcess
from autograder.sandbox.host.room import Sandbox
from autograder.submissions.submission import read_submission
from bench.classroom import ROOT
from bench.table import Goal, Row, Tell

#: Frames for a right submission, loading it included.
MOST = 12
#: Submissions of the example class, right and wrong.
WORK = ("ada", "ben.py", "lena", "hiro", "rosa.py")


def frames(tell: Tell) -> list[Row]:
    """Frames of the solutions, and of a few members of the example class."""
    assignment = load_assignment(ROOT)
    names = names_asked(assignment)
    folder = ROOT / "examples" / "submissions"
    work: list[tuple[str, Path]] = [("the solutions", assignment.solutions)]
    work += [(name, folder / name) for name in WORK if (folder / name).exists()]
    rows = []
    with (
        Sandbox(assignment.limits, names, parameters=other_names(assignment)) as sandbox,
        counted() as parts,
    ):
        judge = Judge(assignment, sandbox, load_secret(assignment))
        for name, path in work:
            parts.clear()
            graded = judge.grade(Request(read_submission(path, assignment.limits)))
            score = graded.result.score
            goal = Goal("at most", MOST, "value") if path == assignment.solutions else None
            rows.append(Row("frames", f"{name}, {score:g} points", len(parts), "frames", goal=goal))
            tell(f"{name}: {len(parts)} frames, {sum(parts)} questions")
    return rows


@contextmanager
def counted() -> Iterator[list[int]]:
    """How many questions went in each frame."""
    parts: list[int] = []
    ask_each = GuestProcess.ask_each

    def counting(guest: GuestProcess, asked: tuple[object, ...], *others: Any) -> Any:
        parts.append(len(asked))
        return ask_each(guest, asked, *others)  # type: ignore[arg-type]

    GuestProcess.ask_each = counting  # type: ignore[assignment, method-assign]
    try:
        yield parts
    finally:
        GuestProcess.ask_each = ask_each  # type: ignore[method-assign]
