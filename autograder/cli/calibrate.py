"""`autograder calibrate`: the proof that everything that decides on points agrees."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from autograder.cli.command import AssignmentOption, IsolationOption, command
from autograder.errors import InternalError

if TYPE_CHECKING:
    from autograder.assignment.assignment import Assignment
    from autograder.calibration.cases import Part


@command
def calibrate(
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PART",
            help="Only this part: solutions, stubs, null, right, misconceptions, codings, pairs, "
            "mutants or margins. Repeatable.",
        ),
    ] = None,
    sample: Annotated[
        bool,
        typer.Option("--sample", help="Only a sample of the long parts: about three minutes."),
    ] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Workers in parallel. Default: one a core.")
    ] = None,
    isolation: IsolationOption = None,
    assignment: AssignmentOption = None,
) -> None:
    """Prove that solutions, stubs, checks, variants and misconceptions agree.

    For example: autograder calibrate --only pairs --only mutants --sample
    """
    from autograder.assignment.assignment import load_assignment
    from autograder.calibration.proof import PARTS, Plan
    from autograder.calibration.table import print_proof
    from autograder.feedback.terminal import console
    from autograder.grading.executor import cores

    plan = Plan(load_assignment(assignment), sample)
    parts = [plan.part(title) for title in dict.fromkeys(only or PARTS)]
    _prove(plan.assignment, parts, jobs or cores(), isolation)
    print_proof(console(), parts)
    if not all(part.sound for part in parts):
        raise InternalError("calibration failed; the table shows where")


def _prove(
    assignment: "Assignment", parts: "Sequence[Part]", jobs: int, isolation: str | None
) -> None:
    """Grade every case, then compare the mutants that kept every point with the solutions."""
    from rich.progress import Progress

    from autograder.calibration.mutants import survivors
    from autograder.calibration.proof import compare_survivors, graded
    from autograder.feedback.terminal import console
    from autograder.grading.executor import LocalExecutor
    from autograder.grading.worker import Worker

    shown = console(stderr=True)
    total = sum(len(part.cases) for part in parts)
    if not total:
        return
    with Progress(console=shown, transient=True, disable=not shown.is_terminal) as progress:
        bar = progress.add_task("calibrating", total=total)
        left = {part.title: len(part.cases) for part in parts}

        def done(part: "Part") -> None:
            progress.advance(bar)
            left[part.title] -= 1
            if not left[part.title] and not shown.is_terminal:
                shown.print(f"{part.title}: {part.count} done")

        executor = LocalExecutor(lambda: Worker(assignment.folder, isolation), min(jobs, total))
        try:
            graded(executor, parts, done)
        finally:
            executor.close()
        for part in parts:
            kept = len(survivors(part))
            if kept:
                bar = progress.add_task("comparing mutants that kept every point", total=kept)
                compare_survivors(assignment, part, jobs, partial(progress.advance, bar))
