"""`autograder check`: one submission."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from autograder.cli.command import AssignmentOption, IsolationOption, StageOption, command

WEAK_ISOLATION = "process"


@command
def check(
    submission: Annotated[
        Path, typer.Argument(help="A folder, a .py file, a notebook or a zip of these.")
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print result.json instead of the table.")
    ] = False,
    show: Annotated[
        bool, typer.Option("--show", help="Also print shares, checks and attention weights.")
    ] = False,
    stage: StageOption = None,
    isolation: IsolationOption = None,
    assignment: AssignmentOption = None,
) -> None:
    """Grade one submission and print a table by stage and criterion.

    For example: autograder check ada.py --stage causal --show
    """
    from autograder.assignment.assignment import load_assignment
    from autograder.grading.worker import Worker

    loaded = load_assignment(assignment)
    stages = tuple(loaded.stage(each).id for each in stage or ()) or None
    with Worker(loaded.folder, isolation) as worker:  # it imports torch while we read
        from autograder.submissions.submission import read_submission

        graded = worker.grade(read_submission(submission, loaded.limits), stages)
        worker.kill()  # quicker than an orderly end
    if graded.isolation == WEAK_ISOLATION and isolation is None:
        print(
            "autograder: isolated by a separate process only; check nobody's code but your own",
            file=sys.stderr,
        )
    if as_json:
        from autograder.results.result import encode_result

        sys.stdout.buffer.write(encode_result(graded.result))
    else:
        from autograder.feedback.terminal import console, result_view

        console().print(result_view(graded.result, show=show))
        if show:
            from autograder.feedback.heatmap_blocks import attention_blocks
            from autograder.results.details import read_details

            numbers = loaded.feedback.show_expected_numbers
            for seen in read_details(graded.details).attention:
                console().print()
                console().print(attention_blocks(seen, numbers=numbers))
