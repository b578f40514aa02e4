"""What all commands share: the application, how errors end, the common options."""

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, ParamSpec

import typer

from autograder.errors import AutograderError

INTERRUPTED = 130
TRACEBACK = "AUTOGRADER_TRACEBACK"  # if set, unexpected errors come with their traceback

app = typer.Typer(
    help="Grades code for the attention mechanism by what it does, step by step.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
Parameters = ParamSpec("Parameters")


def _print_version(wanted: bool) -> None:
    if wanted:
        from autograder.results.grading_key import kit_version

        print(f"autograder {kit_version()}")
        raise typer.Exit(0)


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Grades code for the attention mechanism by what it does, step by step."""


AssignmentOption = Annotated[
    Path | None,
    typer.Option(
        "--assignment",
        metavar="DIR",
        help="The assignment's folder. Default: searched from the working directory upward.",
    ),
]
IsolationOption = Annotated[
    str | None,
    typer.Option(
        metavar="LEVEL",
        help="bubblewrap, landlock or process. Default: the best level this machine offers.",
    ),
]
StageOption = Annotated[
    list[str] | None, typer.Option("--stage", metavar="ID", help="Only this stage. Repeatable.")
]


def command(body: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Register a command whose errors become one line and an exit code.

    Args:
        body: The command's function; its name and docstring become the command's.

    Returns:
        The function that the application calls. It ends with the exit code of the
        `AutograderError` that `body` raises, 130 after Ctrl-C, and 1 for any other error.
    """

    @functools.wraps(body)
    def guarded(*args: Parameters.args, **options: Parameters.kwargs) -> None:
        try:
            body(*args, **options)
            sys.stdout.flush()
        except AutograderError as error:
            raise _end(str(error), error.exit_code) from error
        except KeyboardInterrupt:
            raise _end("interrupted; finished results are kept", INTERRUPTED) from None
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
                f"internal error: {kind}: {error} (set {TRACEBACK}=1 for the traceback)", 1
            ) from None

    app.command()(guarded)
    return guarded


def _end(message: str, code: int) -> typer.Exit:
    """Say why on standard error, without anything that a terminal would obey."""
    from autograder.feedback.plain import one_line

    print(f"autograder: {one_line(message)}", file=sys.stderr)
    return typer.Exit(code)
