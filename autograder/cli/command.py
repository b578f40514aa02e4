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
