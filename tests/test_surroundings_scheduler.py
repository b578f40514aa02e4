"""A `--scheduler` that does not answer ends in one line, whoever is at the other end."""

import socket
import threading
from collections.abc import Iterator

import pytest

from autograder.errors import MissingRequirement
from autograder.grading import cluster


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of somebody who takes calls and says nothing."""
    held: list[socket.socket] = []
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()

        def accept() -> None:
            try:
                while True:
                    held.append(server.accept()[0])
            except OSError:  # closed
                return

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
    thread.join()
    for each in held:
        each.close()


def test_one_who_never_answers_is_given_up(silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "ANSWER", 1)
    with pytest.raises(MissingRequirement, match=r"no scheduler answers \(nothing came within 1 s"):
        cluster._connected(silent)


def test_a_port_where_nobody_listens_is_said_at_once() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(MissingRequirement, match="no scheduler answers"):
        cluster._connected(f"tcp://127.0.0.1:{port}")


@pytest.mark.parametrize("address", ["nobody", "tcp://", "carrier-pigeon://here"])
def test_what_is_no_address_is_said_too(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "ANSWER", 1)
    with pytest.raises(MissingRequirement, match=address):
        cluster._connected(address)
