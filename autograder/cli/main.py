"""The command line, the only way into the kit. Nothing imports it.

Heavy modules are imported in the command that needs them: `autograder check` has to be about as
fast as the import of torch, which the worker's process does in the meantime.
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
    for stream in (sys.stdout, sys.stderr):  # a name that a terminal cannot show is not an error
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app()


if __name__ == "__main__":
    main()
