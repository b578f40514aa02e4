"""Judge and guest share a core while a submission is graded, and no longer."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from autograder.sandbox.host.core import shared_with

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="there is one core, or no way to choose one",
)


@pytest.fixture
def other() -> Iterator[int]:
    """A process that does nothing."""
    command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        yield process.pid
        process.kill()


def test_both_are_on_one_core_and_free_afterwards(other: int) -> None:
    usable = os.sched_getaffinity(0)
    with shared_with(other) as core:
        assert os.sched_getaffinity(0) == os.sched_getaffinity(other) == {core}
    assert os.sched_getaffinity(0) == os.sched_getaffinity(other) == usable


def test_they_are_free_after_an_error_as_well(other: int) -> None:
    usable = os.sched_getaffinity(0)
    with pytest.raises(ZeroDivisionError), shared_with(other):
        raise ZeroDivisionError
    assert os.sched_getaffinity(other) == usable


def test_what_is_forked_meanwhile_is_on_the_same_core() -> None:
    command = [sys.executable, "-c", "import os; print(sorted(os.sched_getaffinity(0)))"]
    with shared_with() as core:
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert told.strip() == f"[{core}]"


def test_where_one_core_was_chosen_before_nothing_is_chosen_again(other: int) -> None:
    usable = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(usable)})
    try:
        with shared_with(other) as core:
            assert core is None
            assert os.sched_getaffinity(other) == usable
    finally:
        os.sched_setaffinity(0, usable)


def test_a_process_that_has_ended_is_passed_over(other: int) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with shared_with(ended.pid, other) as core:
        assert os.sched_getaffinity(other) == {core}
