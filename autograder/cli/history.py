"""`autograder diff`, `adjust` and `explain`: what changed, a teacher's change, one result."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autograder.cli.command import command

if TYPE_CHECKING:
    from autograder.gradebook.gradebook import Gradebook, Run

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A folder that grade wrote.")]
Student = Annotated[str, typer.Argument(help="The entry's name, as in grades.csv.")]


@command
def diff(
    folder: Folder,
    earlier: Annotated[
        int | None, typer.Argument(metavar="RUN", min=1, help="The number of the earlier run.")
    ] = None,
    later: Annotated[
        int | None,
        typer.Argument(metavar="RUN", min=1, help="The later run. Default: the last one."),
    ] = None,
) -> None:
    """Show whose score changed between two runs, in which criterion, and why.

    Without numbers the last two runs are compared. For example: autograder diff results 1 3
    """
    from autograder.feedback.comparing import difference_view, runs_view
    from autograder.feedback.terminal import console
    from autograder.gradebook.gradebook import Gradebook
    from autograder.gradebook.history import difference

    with Gradebook(folder) as book:
        first, second = _pair(book, earlier, later)
        if first is None or second is None:
            console().print(runs_view(book.runs()))
            return
        old, new = book.key_of(first), book.key_of(second)
        parts = None if old is None or new is None else old.changed(new)
        found = difference(
            (record.result for record in book.records(first)),
            (record.result for record in book.records(second)),
        )
    console().print(difference_view(first, second, parts, found))


def _pair(
    book: "Gradebook", earlier: int | None, later: int | None
) -> "tuple[Run | None, Run | None]":
    """The two runs to compare; None where there are not two."""
    runs = book.runs()
    if earlier is None:
        return (runs[-2], runs[-1]) if len(runs) > 1 else (None, None)
    return book.run(earlier), book.run(later) if later is not None else runs[-1]


@command
def adjust(
    folder: Folder,
    student: Student,
    criterion: Annotated[
        str,
        typer.Option(help="Its id, with the stage where several stages have it: causal/masking."),
    ],
    reason: Annotated[str, typer.Option(help="Why; the student reads it.")] = "",
    points: Annotated[
        float | None, typer.Option(min=0, help="The points that the criterion counts.")
    ] = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove the change: the graded points count again.")
    ] = False,
) -> None:
    """Override the points of one criterion for one student, in this run and all later ones.

    For example: autograder adjust results ada --criterion gpt2 --points 1 --reason "read by me"
    """
    from autograder.cli.adjusting import adjust_and_report

    print(adjust_and_report(folder, student, criterion, points, reason, remove=remove))


@command
def explain(folder: Folder, student: Student) -> None:
    """Show one result in full: inputs, expected and found values. For teachers only.

    For example: autograder explain results ada
    """
    from autograder.errors import UsageError
    from autograder.feedback.full_text import full_view
    from autograder.feedback.terminal import console
    from autograder.gradebook.adjustments import adjusted
    from autograder.gradebook.gradebook import Gradebook
    from autograder.grading.class_report import last_class

    with Gradebook(folder) as book:
        graded, stages, assignment = last_class(book)
        adjustments = book.adjustments()
    for entry in graded:
        if entry.student == student:
            told = adjusted(entry.result, adjustments, stages)
            console().print(full_view(told, entry.details, assignment))
            return
    known = ", ".join(entry.student for entry in graded)
    raise UsageError(f"{folder}: no student {student!r}; known are {known}")
