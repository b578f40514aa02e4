"""Checks run side by side: few frames, the same answers, and nobody pays for another."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest
import torch

from autograder.assignment.assignment import Limits
from autograder.checks import loop
from autograder.checks.loop import together
from autograder.sandbox.host.guest_process import GuestProcess
from autograder.sandbox.host.questions import Ask
from autograder.sandbox.host.room import NameSpec, Sandbox
from autograder.sandbox.host.session import Session
from autograder.sandbox.host.student import Student, StudentFault, StudentRaised
from autograder.submissions.submission import SourceFile

NAMES = (
    NameSpec("softmax", "simplified", "function", ("scores",)),
    NameSpec("Layer", "trainable", "class", ("d_in", "d_out")),
)
LIMITS = Limits(load_seconds=2.0, call_seconds=0.4, check_seconds=1.0, memory_mb=256)

SOURCE = """
import os
import torch

def softmax(scores):
    {first}
    return scores * 2 + torch.rand(())

class Layer(torch.nn.Linear):
    def __init__(self, d_in, d_out):
        super().__init__(d_in, d_out)
"""

Check = Callable[[Student], Any]


def scores(number: int) -> torch.Tensor:
    return torch.arange(float(number))


CHECKS: dict[str, Check] = {
    f"of {number}": lambda student, number=number: student.softmax(scores(number))
    for number in range(1, 7)
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(LIMITS, NAMES, "process") as sandbox:
        yield sandbox


@pytest.fixture
def begin(sandbox: Sandbox) -> Iterator[Callable[..., Session]]:
    """A session with a submission that does something first."""
    opened: list[Session] = []

    def session(first: str = "pass") -> Session:
        source = SOURCE.format(first=first).encode()
        opened.append(sandbox.open((SourceFile("work.py", "module", source, ()),)))
        return opened[-1]

    yield session
    for each in opened:
        each.close()


@pytest.fixture
def frames(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many questions went in each frame."""
    sent: list[int] = []
    ask_each = GuestProcess.ask_each

    def counting(guest: GuestProcess, parts: Sequence[object], *others: Any) -> Any:
        sent.append(len(parts))
        return ask_each(guest, parts, *others)

    monkeypatch.setattr(GuestProcess, "ask_each", counting)
    return sent


def side_by_side(session: Session, checks: dict[str, Check]) -> dict[str, Any] | None:
    """What each check got, or raised; None where they could not be asked together."""
    got: dict[str, Any] = {}

    def run(name: str, check: Check, ask: Ask) -> BaseException | None:
        dialogue = session.open(name, ask)
        try:
            got[name] = check(session.names_of(dialogue))
        except Exception as error:
            return error
        finally:
            dialogue.end()
        return None

    ends = together(session, [partial(run, name, check) for name, check in checks.items()])
    if ends is None:
        return None
    return got | {name: end for name, end in zip(checks, ends, strict=True) if end is not None}


def alone(session: Session, checks: dict[str, Check]) -> dict[str, Any]:
    return {name: check(session.student(name)) for name, check in checks.items()}


def test_all_checks_ask_in_one_frame_and_get_what_each_would_get_alone(
    begin: Callable[..., Session], frames: list[int]
) -> None:
    got = side_by_side(begin(), CHECKS)
    assert frames == [1, 6]  # the submission is loaded, and then asked once
    assert got is not None
    wanted = alone(begin(), CHECKS)
    assert all(torch.equal(got[name], wanted[name]) for name in CHECKS)
    assert len({float(value[0]) for value in got.values()}) == len(CHECKS)  # seeds of their own


def test_frames_count_by_the_longest_chain_of_questions(
    begin: Callable[..., Session], frames: list[int]
) -> None:
    def chain(student: Student, length: int) -> float:
        return sum(float(student.softmax(scores(2))[1]) for _ in range(length))

    checks: dict[str, Check] = {
        f"chain {length}": partial(chain, length=length) for length in (1, 4, 2)
    }
    got = side_by_side(begin(), checks)
    assert frames == [1, 3, 2, 1, 1]
    assert got == alone(begin(), checks)


def test_modules_of_different_checks_are_different_ones(
    begin: Callable[..., Session], frames: list[int]
) -> None:
    def holding(student: Student, number: float) -> torch.Tensor:
        layer = student.Layer(d_in=2, d_out=2)
        layer.set({"weight": torch.full((2, 2), number), "bias": torch.zeros(2)})
        first = layer(torch.ones(1, 2))
        return torch.cat([first, layer(torch.ones(1, 2))])

    checks: dict[str, Check] = {
        f"holding {number}": partial(holding, number=number) for number in (1.0, 2.0, 3.0)
    }
    got = side_by_side(begin(), checks)
    assert got is not None
    assert [float(got[name].sum()) for name in checks] == [8.0, 16.0, 24.0]
    assert frames == [1, 3, 3, 3]


def test_what_one_check_raises_is_its_own_and_the_others_go_on(
    begin: Callable[..., Session],
) -> None:
    checks = CHECKS | {"of none": lambda student: student.softmax(None)}
    got = side_by_side(begin(), checks)
    assert got is not None
    assert isinstance(got["of none"], StudentRaised)
    assert all(isinstance(got[name], torch.Tensor) for name in CHECKS)


@pytest.mark.parametrize(
    "first",
    [
        "scores.shape[0] == 3 and os._exit(3)",
        "while scores.shape[0] == 3: pass",
    ],
)
def test_where_a_guest_does_not_survive_nothing_counts_and_nobody_is_charged(
    begin: Callable[..., Session], first: str
) -> None:
    session = begin(first)
    assert side_by_side(session, CHECKS) is None
    for name, check in CHECKS.items():
        if name == "of 3":
            with pytest.raises(StudentFault):
                check(session.student(name))
        else:
            assert isinstance(check(session.student(name)), torch.Tensor)


def test_after_a_hang_checks_are_asked_one_by_one(begin: Callable[..., Session]) -> None:
    session = begin("while scores.shape[0] == 3: pass")
    with pytest.raises(StudentFault):
        session.student("alone").softmax(scores(3))
    assert not session.is_steady
    assert side_by_side(session, {"of 1": CHECKS["of 1"]}) is None


def test_a_check_that_asks_nothing_ends_by_itself(begin: Callable[..., Session]) -> None:
    assert side_by_side(begin(), {"silent": lambda student: 3, "of 1": CHECKS["of 1"]}) is not None


def test_what_a_check_of_the_kit_raises_is_its_end(begin: Callable[..., Session]) -> None:
    got = side_by_side(begin(), {"wrong": lambda student: 1 / 0, "of 1": CHECKS["of 1"]})
    assert got is not None
    assert isinstance(got["wrong"], ZeroDivisionError)


def test_where_there_is_no_guest_every_check_is_given_the_reason(
    begin: Callable[..., Session],
) -> None:
    session = begin()
    session.close()
    got = side_by_side(session, CHECKS)
    assert got is not None
    assert all(isinstance(each, StudentFault) for each in got.values())


def test_a_frame_that_would_be_too_large_is_two(
    begin: Callable[..., Session], frames: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "MOST_BYTES", 40)
    got = side_by_side(begin(), CHECKS)
    assert got is not None
    assert len(got) == len(CHECKS)
    assert frames == [1, 4, 1, 1]  # of 4, 8, 12 and 16 bytes, of 20, of 24
