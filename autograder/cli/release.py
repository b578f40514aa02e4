"""`autograder release`: everything that is built from the solutions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autograder.cli.command import AssignmentOption, command
from autograder.errors import UsageError

if TYPE_CHECKING:
    from autograder.assignment.assignment import Assignment
    from autograder.release.built import Files

FORMS = ("template", "nbgrader", "otter", "gradescope")
RELEASES = ("figures", *FORMS, "all")


@command
def release(
    what: Annotated[str, typer.Argument(help=", ".join(RELEASES))] = "template",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="The folder to build into. Default: its place in the checkout."
        ),
    ] = None,
    isolation: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL", help="The level that Gradescope's bundle asks for. Default: the best."
        ),
    ] = None,
    leaderboard: Annotated[
        bool, typer.Option("--leaderboard", help="Have Gradescope show a leaderboard.")
    ] = False,
    assignment: AssignmentOption = None,
) -> None:
    """Build from the solutions what students and platforms receive.

    `template` is a student's folder: stubs, handouts, notebooks, self-check. `figures` are the
    handouts' pictures. The others are what the platform of that name takes.
    For example: autograder release nbgrader --out course
    """
    from autograder.assignment.assignment import load_assignment
    from autograder.release.built import write_files
    from autograder.release.template import build_figures, build_template

    if what not in RELEASES:
        raise UsageError(f"cannot build {what!r}; choose from {', '.join(RELEASES)}")
    loaded = load_assignment(assignment)
    if what == "figures":
        _no_installation(
            loaded.folder,
            "figures are drawn in a checkout alone; name one's assignment with --assignment",
        )
        for file in build_figures(loaded):
            print(file)
        return
    forms = FORMS if what == "all" else (what,)
    places = {form: _place(loaded, form, out, alone=what != "all") for form in forms}
    for place in places.values():
        _no_installation(place, "say where to with --out")
    files = {  # of all forms, before the first is written
        form: _files(loaded, form, places[form], isolation, leaderboard)
        for form in forms
        if form != "template"
    }
    for form, place in places.items():
        if form == "template":
            written = build_template(loaded, place)
        else:
            written = write_files(files[form], place, private=form == "gradescope")
        for file in written:
            print(file)


def _no_installation(place: Path, remedy: str) -> None:
    """`UsageError` for a folder within an installation, which nothing is built into."""
    resolved = place.resolve()
    if {"site-packages", "dist-packages"} & set(resolved.parts):
        raise UsageError(f"{resolved} belongs to the installed kit: {remedy}")


def _place(assignment: "Assignment", form: str, out: Path | None, *, alone: bool) -> Path:
    """The folder that a form is built into."""
    if out is not None:
        return out if alone or form == "gradescope" else out / form
    if form == "gradescope":
        return Path("build")
    if form != "template":
        return assignment.folder / form
    if assignment.template is None:
        raise UsageError("the assignment names no template; give the folder with --out")
    return assignment.template


def _files(
    assignment: "Assignment",
    form: str,
    place: Path,
    isolation: str | None,
    leaderboard: bool,
) -> "Files":
    """What a form consists of."""
    from autograder.assignment.location import PACKAGE

    if form == "gradescope":
        from autograder.release.gradescope import bundle, bundle_files

        data = bundle(bundle_files(assignment, isolation, leaderboard))
        return {f"gradescope-{assignment.id}.zip": data}
    # Graders look in the checkout and in the package; an assignment elsewhere has to be named.
    elsewhere = None if assignment.folder.is_relative_to(PACKAGE.parent) else assignment.folder
    if form == "nbgrader":
        from autograder.release.nbgrader import nbgrader_files

        inside = place.resolve().is_relative_to(assignment.folder)
        return nbgrader_files(assignment, place, None if inside else elsewhere)
    from autograder.release.otter import otter_files

    return otter_files(assignment, elsewhere)
