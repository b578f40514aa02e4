"""`autograder export`: a class's scores in a platform's own form."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autograder.cli.command import AssignmentOption, command
from autograder.errors import UsageError

if TYPE_CHECKING:
    from autograder.cli.exporting import ClassScores
    from autograder.exports.filling import Filled


@command
def export(
    form: Annotated[
        str,
        typer.Argument(metavar="FORMAT", help="canvas, moodle, gradescope, nbgrader, csv or junit"),
    ],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that grade wrote.")],
    into: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The platform's exported file, which is filled in."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write here, and leave FILE as it is.")
    ] = None,
    times: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="student,submitted_at,group,extension: who was late."),
    ] = None,
    due: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="The due date, in place of the assignment's."),
    ] = None,
    by_stage: Annotated[
        bool, typer.Option("--by-stage", help="The stages' scores too, where there is a place.")
    ] = False,
    column: Annotated[
        str | None, typer.Option(help="The column to fill in, by its title; on Canvas its number.")
    ] = None,
    feedback: Annotated[
        Path | None, typer.Option(metavar="ZIP", help="Moodle: the feedback pages to upload.")
    ] = None,
    assignment: AssignmentOption = None,
) -> None:
    """Fill a class's scores into a platform's own file; nothing else in it is changed.

    For example: autograder export canvas results --into gradebook.csv --times times.csv
    """
    from autograder.assignment.assignment import load_assignment
    from autograder.cli.exporting import FORMATS, class_scores
    from autograder.cli.exporting import export as exported
    from autograder.grading.result_files import write

    if form not in FORMATS:
        raise UsageError(f"no form is called {form!r}; there is {', '.join(FORMATS)}")
    if feedback is not None and form != "moodle":
        raise UsageError("--feedback is for moodle; others take no feedback files in a zip")
    if out is not None and into is not None and into.suffix == ".db":
        raise UsageError(
            "--out is for files that are filled in; copy the gradebook and name the copy"
        )
    loaded = load_assignment(assignment) if assignment else None
    scores = class_scores(folder, times=times, due=due, assignment=loaded)
    found = exported(
        form, scores, into, by_stage=by_stage, column=column, feedback=feedback is not None
    )
    target = out or into
    if target is None:
        print((found.data or b"").decode(), end="")
    else:
        if found.data is not None:
            write(target, found.data)
        print(f"written: {target}{_account(found.filled)}")
    if feedback is not None and found.feedback is not None:
        write(feedback, found.feedback)
        print(f"written: {feedback}")
    _tell(scores, found.filled)


def _account(filled: "Filled | None") -> str:
    if filled is None:
        return ""
    count = len(filled.rows)
    return f" ({count} score{'s' * (count != 1)})"


def _tell(scores: "ClassScores", filled: "Filled | None") -> None:
    """Who lost points by lateness and, on standard error as all of it, who was not placed."""
    from autograder.exports.filling import shown
    from autograder.feedback.lists import titled
    from autograder.feedback.terminal import console
    from autograder.feedback.words import points

    late = [
        (
            final.student,
            f"{points(final.result.score)} - {shown(final.lateness.percent)}%"
            f" = {points(final.score)}",
            final.lateness.reason,
        )
        for final in scores.finals
        if final.lateness.reason
    ]
    lists: list[tuple[str, Sequence[Sequence[str]]]] = [
        ("late:", late),
        ("in the times, and nothing was graded:", [(name,) for name in scores.unused_times]),
    ]
    if filled is not None:
        lists += [
            ("graded, and in no row of the file:", filled.strangers),
            ("rows left as they were:", filled.left),
            ("note:", [(note,) for note in filled.notes]),
        ]
    for title, rows in lists:
        view = titled(title, rows)
        if view is not None:
            console(stderr=True).print(view)
