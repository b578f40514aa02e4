"""The command line, the only door to the kit. Nothing imports it.

Whatever is heavy is imported in the command that needs it: `autograder check` has to be about
as fast as the import of torch, which happens in the worker's process meanwhile.
"""

import io
import sys

# Imported in the order in which `--help` lists them.
from autograder.cli import (  # noqa: F401
    calibrate,
    check,
    export,
    grade,
    history,
    release,
    upkeep,
)
from autograder.cli.command import app

__all__ = ["app", "main"]


def main() -> None:
    """The entry point of the `autograder` command."""
    for stream in (sys.stdout, sys.stderr):  # a name that the terminal cannot show is no error
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app()


if __name__ == "__main__":
    main()
