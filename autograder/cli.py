"""The command line, the only door to the kit. Nothing imports it.

Whatever is heavy is imported in the command that needs it: `autograder check` has to be about
as fast as the import of torch, which happens in the worker's process meanwhile.
"""

import functools
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ParamSpec

import typer

from autograder.errors import AutograderError, KitFault, WrongUse

if TYPE_CHECKING:
    from autograder.assignment import Stage
    from autograder.result import Result

INTERRUPTED = 130
WEAK_ISOLATION = "process"
RELEASES = ("template", "all")
TRACEBACK = "AUTOGRADER_TRACEBACK"  # set, it shows where an unexpected error came from

app = typer.Typer(
    help="Grades code for the attention mechanism by what it does, step by step.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
Parameters = ParamSpec("Parameters")

AssignmentOption = Annotated[
    Path | None,
    typer.Option("--assignment", help="The assignment's folder; else it is looked for from here."),
]
IsolationOption = Annotated[
    str | None,
    typer.Option(help="bubblewrap, landlock or process; else the best that this machine offers."),
]
StageOption = Annotated[
    list[str] | None, typer.Option("--stage", help="This stage alone; may be given again.")
]


def command(body: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Register a command whose errors become one line and an exit code."""

    @functools.wraps(body)
    def guarded(*args: Parameters.args, **options: Parameters.kwargs) -> None:
        try:
            body(*args, **options)
            sys.stdout.flush()
        except AutograderError as error:
            raise _end(str(error), error.exit_code) from error
        except KeyboardInterrupt:
            raise _end("interrupted; what was finished is kept", INTERRUPTED) from None
        except BrokenPipeError:
            # Whoever read the output has seen enough; Python must not try to flush it again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except (typer.Exit, typer.Abort):
            raise
        except Exception as error:
            if os.environ.get(TRACEBACK):
                raise
            kind = type(error).__name__
            raise _end(
                f"a fault of the kit: {kind}: {error} (more with {TRACEBACK}=1)", 1
            ) from None

    app.command()(guarded)
    return guarded


def _end(message: str, code: int) -> typer.Exit:
    """Say why, on standard error and without anything that a terminal would obey."""
    from autograder.feedback.plain import one_line

    print(f"autograder: {one_line(message)}", file=sys.stderr)
    return typer.Exit(code)


@command
def check(
    submission: Annotated[Path, typer.Argument(help="A folder, a .py, a notebook or a zip.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print result.json instead.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Show shares and checks too.")] = False,
    stage: StageOption = None,
    isolation: IsolationOption = None,
    assignment: AssignmentOption = None,
) -> None:
    """Grade one submission: a table by stage and criterion."""
    from autograder.assignment import load_assignment
    from autograder.worker import Worker

    loaded = load_assignment(assignment)
    stages = tuple(loaded.stage(each).id for each in stage or ()) or None
    with Worker(loaded.folder, isolation) as worker:  # it imports torch while we read
        from autograder.submission import read_submission

        graded = worker.grade(read_submission(submission, loaded.limits), stages)
        worker.kill()  # which is quicker than to let it go
    if graded.isolation == WEAK_ISOLATION and isolation is None:
        print(
            "autograder: isolated by a separate process only: check nobody's code but your own",
            file=sys.stderr,
        )
    if as_json:
        from autograder.result import encode_result

        sys.stdout.buffer.write(encode_result(graded.result))
    else:
        from autograder.feedback.terminal import console, result_view

        console().print(result_view(graded.result, show=show))


@command
def grade(
    folder: Annotated[Path, typer.Argument(help="One entry a student: a file, folder or zip.")],
    out: Annotated[Path, typer.Option(help="The folder for gradebook, pages and grades.csv.")],
    jobs: Annotated[int | None, typer.Option(min=1, help="How many at a time.")] = None,
    isolation: IsolationOption = None,
    stage: StageOption = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Grade everything anew.")] = False,
    assignment: AssignmentOption = None,
) -> None:
    """Grade a class into a folder; run again, it does only what is left or has changed."""
    from autograder.assignment import load_assignment
    from autograder.executor import LocalExecutor, cores
    from autograder.feedback.progress import RunProgress
    from autograder.feedback.terminal import console
    from autograder.grading import Job, entries_of, grade_class, ungraded
    from autograder.grading_key import grading_key
    from autograder.secret import load_secret

    loaded = load_assignment(assignment)
    entries = entries_of(folder, out)
    job = Job(
        assignment=loaded,
        key=grading_key(loaded, load_secret(loaded)),
        stages=tuple(loaded.stage(each).id for each in stage or ()),
        fresh=fresh,
        isolation=isolation,
    )

    def start() -> LocalExecutor:
        from autograder.worker import Worker

        width = min(jobs or cores(), len(entries))
        return LocalExecutor(lambda: Worker(loaded.folder, isolation), width)

    with _ended_politely(), RunProgress(console(stderr=True)) as progress:
        results = grade_class(entries, out, job, start, progress)
    _print_class(out, results, job.graded_stages)
    fault = ungraded(results)
    if fault is not None:
        raise fault


@command
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that grade wrote.")],
) -> None:
    """Write a class's pages and tables again, from its gradebook."""
    from autograder.grading import report_class

    results, stages = report_class(folder)
    _print_class(folder, results, stages)


@command
def release(
    what: Annotated[str, typer.Argument(help="template")] = "template",
    out: Annotated[
        Path | None, typer.Option(help="Where to; else its place in the checkout.")
    ] = None,
    assignment: AssignmentOption = None,
) -> None:
    """Build what students receive from the solutions."""
    from autograder.assignment import load_assignment
    from autograder.release.template import build_template

    loaded = load_assignment(assignment)
    if what not in RELEASES:
        raise WrongUse(f"nothing is called {what!r}; there is {', '.join(RELEASES)}")
    place = out or loaded.template
    if place is None:
        raise WrongUse("the assignment names no template; say where to with --out")
    for file in build_template(loaded, place):
        print(file)


@command
def calibrate(assignment: AssignmentOption = None) -> None:
    """Prove that solutions, stubs, checks, variants and misconceptions agree."""
    from autograder.assignment import load_assignment
    from autograder.calibrate import calibrate as prove

    if not prove(load_assignment(assignment)):
        raise KitFault("calibration falls short; the table says where")


@command
def doctor(assignment: AssignmentOption = None) -> None:
    """Tell what this machine offers: isolation, cores, torch, memory."""
    from autograder.assignment import load_assignment
    from autograder.doctor import findings

    for name, value in findings(load_assignment(assignment)):
        print(f"{name:<22}{value}")


@contextmanager
def _ended_politely() -> Iterator[None]:
    """A request to end is the same as Ctrl-C: what was finished is kept."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _print_class(folder: Path, results: "Sequence[Result]", stages: "Sequence[Stage]") -> None:
    from autograder.feedback.terminal import class_view, console

    console().print(class_view(results, stages))
    print(f"\nwritten: {folder / 'class.html'}, {folder / 'grades.csv'}, {folder / 'students'}")


def main() -> None:
    """The entry point of the `autograder` command."""
    for stream in (sys.stdout, sys.stderr):  # a name that the terminal cannot show is no error
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app()


if __name__ == "__main__":
    main()
