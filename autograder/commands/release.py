"""`autograder release`: everything that is built from the solutions."""

from pathlib import Path
from typing import Annotated

import typer

from autograder.commands.command import AssignmentOption, command
from autograder.errors import WrongUse

RELEASES = ("template", "figures", "all")


@command
def release(
    what: Annotated[str, typer.Argument(help="template, figures or all")] = "template",
    out: Annotated[
        Path | None, typer.Option(help="Where to; else its place in the checkout.")
    ] = None,
    assignment: AssignmentOption = None,
) -> None:
    """Build what students receive from the solutions.

    `template` is the folder of a student: stubs, handouts, notebooks, self-check. `figures` are
    the handouts' pictures. Example: autograder release template --out handed_out
    """
    from autograder.assignment import load_assignment
    from autograder.release.template import build_figures, build_template

    loaded = load_assignment(assignment)
    if what not in RELEASES:
        raise WrongUse(f"nothing is called {what!r}; there is {', '.join(RELEASES)}")
    if what == "figures":
        for file in build_figures(loaded):
            print(file)
        return
    place = out or loaded.template
    if place is None:
        raise WrongUse("the assignment names no template; say where to with --out")
    for file in build_template(loaded, place):
        print(file)
