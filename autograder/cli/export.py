"""`autograder export`: a class's scores in a platform's own format."""

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
        typer.Option(metavar="FILE", help="The platform's exported file, to be filled in."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write here instead, and leave --into as it is."),
    ] = None,
    times: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV", help="When work came in: student,submitted_at,group,extension."
        ),
    ] = None,
    due: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="A due date that overrides the assignment's."),
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option(metavar="PLACE", help="Where times without an offset hold: Europe/Berlin."),
    ] = None,
    by_stage: Annotated[
        bool, typer.Option("--by-stage", help="Also fill in each stage's score, where possible.")
    ] = False,
    column: Annotated[
        str | None,
        typer.Option(
            metavar="TITLE", help="The column to fill in; on Canvas its number works too."
        ),
    ] = None,
    feedback: Annotated[
        Path | None, typer.Option(metavar="ZIP", help="Moodle: write the feedback pages to upload.")
    ] = None,
    assignment: AssignmentOption = None,
) -> None:
    """Fill a class's scores into a platform's own file, and change nothing else in it.

    For example: autograder export canvas results --into gradebook.csv --times times.csv
    """
    from autograder.assignment.assignment import load_assignment
    from autograder.cli.exporting import FORMATS, class_scores
    from autograder.cli.exporting import export as exported
    from autograder.grading.result_files import write

    if form not in FORMATS:
        raise UsageError(f"unknown format {form!r}; choose from {', '.join(FORMATS)}")
    if feedback is not None and form != "moodle":
        raise UsageError("--feedback works with moodle only; no other platform takes such a zip")
    if out is not None and into is not None and into.suffix == ".db":
        raise UsageError(
            "--out does not work with a gradebook.db; copy it, and name the copy with --into"
        )
    loaded = load_assignment(assignment) if assignment else None
    scores = class_scores(folder, times=times, due=due, zone=zone, assignment=loaded)
    found = exported(
        form, scores, into, by_stage=by_stage, column=column, feedback=feedback is not None
    )
    target = out or into
    if target is None:
        print((found.data or b"").decode("utf-8-sig"), end="")  # a pipe needs no byte-order mark
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
    """List on standard error who lost points by lateness, and who could not be matched."""
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
        ("in the times, but not graded:", [(name,) for name in scores.unused_times]),
    ]
    if filled is not None:
        lists += [
            ("graded, but not in the file:", filled.strangers),
            ("rows left unchanged:", filled.left),
            ("note:", [(note,) for note in filled.notes]),
        ]
    for title, rows in lists:
        view = titled(title, rows)
        if view is not None:
            console(stderr=True).print(view)
