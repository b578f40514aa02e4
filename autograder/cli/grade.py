"""`autograder grade` and `autograder report`: a class and its pages."""

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autograder.cli.command import AssignmentOption, IsolationOption, StageOption, command
from autograder.errors import MissingRequirement

if TYPE_CHECKING:
    from autograder.assignment.assignment import Stage
    from autograder.grading.cluster import ClusterExecutor
    from autograder.grading.grading import Job
    from autograder.results.result import Result
    from autograder.submissions.entries import Entry
    from autograder.submissions.roster import Roster


@command
def grade(
    folder: Annotated[
        Path,
        typer.Argument(
            help="A folder with one file, folder or zip for each student, or a bulk download."
        ),
    ],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder for gradebook, pages and grades.csv.")
    ],
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Workers in parallel. Default: one a core.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A dask cluster: tcp://HOST:PORT.")
    ] = None,
    isolation: IsolationOption = None,
    roster: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Who is in the class; see docs/lms.md.")
    ] = None,
    stage: StageOption = None,
    one_student_each: Annotated[
        bool,
        typer.Option(
            "--one-student-each", help="Every entry is one student's, whatever it looks like."
        ),
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Grade everything again.")] = False,
    similarity: Annotated[
        bool, typer.Option("--similarity", help="List submissions that are unusually alike.")
    ] = False,
    assignment: AssignmentOption = None,
) -> None:
    """Grade a class into a folder. A second run grades only what is new or has changed.

    For example: autograder grade submissions.zip --out results --roster roster.csv
    """
    from autograder.assignment.assignment import load_assignment
    from autograder.assignment.secret import load_secret
    from autograder.feedback.progress import RunProgress
    from autograder.feedback.terminal import console
    from autograder.gradebook.similarity import require_copydetect
    from autograder.grading.class_report import look_for_similar, report_class
    from autograder.grading.executor import Executor, LocalExecutor, cores
    from autograder.grading.grading import Job, entries_of, grade_class, ungraded
    from autograder.results.grading_key import grading_key
    from autograder.submissions.class_folder import look_at_class, look_at_roster
    from autograder.submissions.roster import read_roster

    if similarity:
        require_copydetect()
    loaded = load_assignment(assignment)
    people = read_roster(roster) if roster else None
    entries = entries_of(folder, out, people)
    if not one_student_each:
        modules = (each.module for each in loaded.stages)
        look_at_class(folder, entries, modules, loaded.solutions.name)
    if roster is not None and people is not None:
        look_at_roster(roster, entries, people)
    _print_passed_over(folder, out)
    job = Job(
        assignment=loaded,
        key=grading_key(loaded, load_secret(loaded)),
        stages=tuple(loaded.stage(each).id for each in stage or ()),
        fresh=fresh,
        isolation=isolation,
    )

    def start() -> Executor:
        if scheduler is not None:
            return _cluster(scheduler, job)
        from autograder.grading.worker import Worker

        width = min(jobs or cores(), len(entries))
        return LocalExecutor(lambda: Worker(loaded.folder, isolation), width)

    with _ended_politely(), RunProgress(console(stderr=True)) as progress:
        results = grade_class(entries, out, job, start, progress)
    if similarity:
        look_for_similar(out, entries)
        report_class(out)
    _print_class(out, results, job.graded_stages)
    if people is not None:
        _print_gaps(entries, people)
    fault = ungraded(results)
    if fault is not None:
        raise fault


@command
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that grade wrote.")],
    text: Annotated[
        bool, typer.Option("--text", help="Also print the class report as text.")
    ] = False,
    similarity: Annotated[
        Path | None,
        typer.Option(
            metavar="CLASS", help="List submissions in this class folder that are unusually alike."
        ),
    ] = None,
) -> None:
    """Write a class's pages and tables again from its gradebook.

    For example: autograder report results --text
    """
    from autograder.grading.class_report import (
        last_roster,
        look_for_similar,
        report_class,
        similar_of,
    )
    from autograder.grading.grading import entries_of

    if similarity is not None:
        look_for_similar(folder, entries_of(similarity, folder, last_roster(folder)))
    graded, stages = report_class(folder)
    if text:
        from autograder.feedback.class_text import class_text
        from autograder.feedback.terminal import console

        console().print(class_text(graded, stages, similar_of(folder)))
    else:
        _print_class(folder, [entry.result for entry in graded], stages)


@contextmanager
def _ended_politely() -> Iterator[None]:
    """Treat SIGTERM as Ctrl-C, so that finished results are kept."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _cluster(address: str, job: "Job") -> "ClusterExecutor":
    try:
        from autograder.grading.cluster import ClusterExecutor
        from autograder.grading.cluster_worker import Facts, processor
    except ModuleNotFoundError as error:
        raise MissingRequirement(
            "--scheduler needs an extra: pip install 'attention-autograder[cluster]'"
        ) from error
    mine = Facts(job.key, processor())
    cluster = ClusterExecutor(address, mine, job.assignment.folder, job.isolation)
    for note in cluster.notes:
        print(f"autograder: {note}", file=sys.stderr)
    return cluster


def _print_passed_over(folder: Path, out: Path) -> None:
    """Say on standard error which files of the class folder are taken for nobody's work."""
    from autograder.feedback.plain import one_line
    from autograder.submissions.entries import passed_over_in

    names = passed_over_in(folder, out)
    if names:
        print(f"passed over as nobody's work: {one_line(', '.join(names))}", file=sys.stderr)


def _print_gaps(entries: "Sequence[Entry]", roster: "Roster") -> None:
    """List on standard error who could not be matched, on either side."""
    from autograder.feedback.lists import titled
    from autograder.feedback.terminal import console
    from autograder.submissions.entries import absentees, strangers

    unknown = [(entry.name, entry.where) for entry in strangers(entries)]
    absent = [(person.student, person.name) for person in absentees(entries, roster)]
    for view in (
        titled("no match in the roster, or several; graded under their own names:", unknown),
        titled("in the roster, nothing handed in:", absent),
    ):
        if view is not None:
            console(stderr=True).print(view)


def _print_class(folder: Path, results: "Sequence[Result]", stages: "Sequence[Stage]") -> None:
    from autograder.feedback.terminal import class_view, console

    console().print(class_view(results, stages))
    print(f"\nwritten: {folder / 'class.html'}, {folder / 'grades.csv'}, {folder / 'students'}")
