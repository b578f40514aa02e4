"""What a worker's process runs: start the zygote, then the judge, then grade until the owner ends.

The zygote is started before torch is imported here, so that both import it at the same time.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

from autograder.assignment.assignment import load_assignment
from autograder.assignment.secret import load_secret
from autograder.errors import AutograderError
from autograder.grading.exchange import Fault, Request, receive_request, send
from autograder.sandbox.host.guest_files import allow
from autograder.sandbox.host.ladder import start


def requests_from(connection: socket.socket) -> Iterator[Request]:
    """The requests that come in, until the owner is gone."""
    while (request := receive_request(connection)) is not None:
        yield request


def main(descriptor: int, folder: Path, isolation: str | None) -> None:
    """Serve as a worker for the process at the other end of a socket.

    Args:
        descriptor: The file descriptor of the socket.
        folder: The assignment's folder.
        isolation: The level to ask for; None for the best.
    """
    connection = socket.socket(fileno=descriptor)
    try:
        assignment = load_assignment(folder)
        secret = load_secret(assignment)
        allow(assignment.runtime.packages)
        zygote = start(isolation)
        from autograder.checks.session import names_asked, other_names
        from autograder.grading.judge import Judge
        from autograder.sandbox.host.room import Sandbox

        names, parameters = names_asked(assignment), other_names(assignment)
        with Sandbox(assignment.limits, names, isolation, zygote, parameters) as sandbox:
            judge = Judge(assignment, sandbox, secret)
            judge.serve(requests_from(connection), lambda answer: send(connection, answer))
    except AutograderError as error:
        send(connection, Fault(error.exit_code, str(error)))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None)
