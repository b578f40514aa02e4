"""What checks ask first goes in one frame, and nothing but the number of frames depends on it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from autograder.assignment.assignment import Limits, load_assignment
from autograder.sandbox.host.guest_process import GuestProcess
from autograder.sandbox.host.rehearsal import Rehearsal
from autograder.sandbox.host.room import NameSpec, Sandbox
from autograder.sandbox.host.session import Session
from autograder.sandbox.host.student import Student, StudentFault, StudentRaised
from autograder.submissions.submission import SourceFile

ROOT = Path(__file__).resolve().parents[1]
VARIANTS = ROOT / "tests" / "variants"
NAMES = (
    NameSpec("softmax", "simplified", "function", ("scores",)),
    NameSpec("Layer", "trainable", "class", ("d_in", "d_out")),
)
LIMITS = Limits(load_seconds=2.0, call_seconds=0.4, check_seconds=1.0, memory_mb=256)
Check = Callable[[Student], Any]

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
def begin(sandbox: Sandbox) -> Iterator[Callable[[str], Session]]:
    sessions: list[Session] = []

    def begin(first: str = "") -> Session:
        source = SOURCE.format(first=first or "pass")
        sessions.append(sandbox.open((SourceFile("work.py", "module", source.encode(), ()),)))
        return sessions[-1]

    yield begin
    for session in sessions:
        session.close()


@pytest.fixture
def frames(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    counted: list[int] = []
    ask = GuestProcess.ask

    def counting(inmate: GuestProcess, operations: Sequence[object], *others: Any) -> Any:
        counted.append(len(operations))
        return ask(inmate, operations, *others)

    monkeypatch.setattr(GuestProcess, "ask", counting)
    return counted


def run(session: Session, checks: dict[str, Check]) -> dict[str, Any]:
    """What each check came to, one after the other."""
    found: dict[str, Any] = {}
    for name, check in checks.items():
        session.begin_check(name)
        try:
            found[name] = check(session.student(name))
        except StudentFault as fault:
            found[name] = (type(fault).__name__, fault.message)
    return found


def foreseen(session: Session, checks: dict[str, Check]) -> dict[str, Any]:
    script = Rehearsal(NAMES).script(checks.items())
    assert script is not None
    session.foresee(script)
    return run(session, checks)


def alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(
        torch.equal(one[name], other[name])
        if isinstance(one[name], torch.Tensor) and isinstance(other[name], torch.Tensor)
        else one[name] == other[name]
        for name in one
    )


def test_all_checks_are_answered_by_one_frame_with_the_same_numbers(begin, frames) -> None:
    one_by_one = run(begin(), CHECKS)
    del frames[:]
    session = begin()
    at_once = foreseen(session, CHECKS)
    assert frames == [1, len(CHECKS)]  # loading, and everything else
    assert alike(at_once, one_by_one)  # drawn from the seeds of each check


def test_a_check_that_raises_hears_it_and_those_after_it_are_asked_again_at_once_but_once(
    begin, frames
) -> None:
    first = "if len(scores) in (3, 5): raise ValueError(len(scores))"
    one_by_one = run(begin(first), CHECKS)
    del frames[:]
    at_once = foreseen(begin(first), CHECKS)
    assert frames == [1, 6, 3, 1]  # up to 3; then up to 5; the last one by itself
    assert at_once["of 3"][0] == at_once["of 5"][0] == StudentRaised.__name__
    assert alike(at_once, one_by_one)


@pytest.mark.parametrize(
    "first",
    [
        "while len(scores) == 4: pass",
        "if len(scores) == 4: os._exit(0)",
        "if len(scores) == 4: os.kill(os.getpid(), 11)",
    ],
    ids=["hangs", "leaves", "crashes"],
)
def test_who_hangs_or_crashes_loses_that_check_alone(begin, first: str) -> None:
    one_by_one, at_once = run(begin(first), CHECKS), foreseen(begin(first), CHECKS)
    assert alike(at_once, one_by_one)
    assert isinstance(at_once["of 4"], tuple)
    assert sum(isinstance(found, tuple) for found in at_once.values()) == 1


def test_nothing_is_foreseen_any_more_for_who_hung_or_crashed_then(begin, frames) -> None:
    session = begin("if len(scores) == 4: os._exit(0)")
    foreseen(session, CHECKS)
    del frames[:]
    foreseen(session, CHECKS)
    assert max(frames) == 1


def test_slow_work_is_not_hurried(begin) -> None:
    first = (
        "import time; end = time.process_time() + 0.1\n    while time.process_time() < end: pass"
    )
    assert alike(foreseen(begin(first), CHECKS), run(begin(first), CHECKS))


def test_a_check_that_asks_something_else_after_all_is_answered_that(begin, frames) -> None:
    session = begin()
    script = Rehearsal(NAMES).script(CHECKS.items())
    assert script is not None
    session.foresee(script)
    other = dict.fromkeys(CHECKS, CHECKS["of 6"])
    del frames[:]
    found = run(session, other)
    assert frames == [1] * 5
    assert alike(found, run(begin(), other))


class TestModules:
    def build(self, student: Student, d_out: int) -> Any:
        kept = student.kept(d_out)
        if kept is not None:
            return kept[0][0]
        module = student.Layer(2, d_out)
        student.keep(d_out, (module,), None)
        return module

    def output(self, d_out: int) -> Check:
        def check(student: Student) -> torch.Tensor:
            module = self.build(student, d_out)
            module.set({"weight": torch.full((d_out, 2), float(d_out)), "bias": torch.ones(d_out)})
            found: torch.Tensor = module(torch.ones(1, 2))
            return found

        return check

    def test_are_built_in_one_frame_and_each_serves_its_check(self, begin, frames) -> None:
        checks = {f"to {d_out}": self.output(d_out) for d_out in (3, 4, 5)}
        session = begin()
        del frames[:]
        found = foreseen(session, checks)
        assert frames == [3, 2, 2, 2]  # built; each given weights and called
        assert {name: float(value[0, 0]) for name, value in found.items()} == {
            "to 3": 7.0,
            "to 4": 9.0,
            "to 5": 11.0,
        }

    def test_that_are_there_by_then_are_not_built_again(self, begin, frames) -> None:
        session = begin()
        session.shelf.open = True
        del frames[:]
        found = foreseen(session, {"once": self.output(3), "again": self.output(3)})
        assert frames == [1, 2, 2]
        assert torch.equal(found["once"], found["again"])

    def test_that_are_not_shared_are_built_for_each_check(self, begin, frames) -> None:
        checks = {"once": self.output(3), "again": self.output(3)}
        script = Rehearsal(NAMES).script(checks.items(), shares=False)
        assert script is not None
        session = begin()
        del frames[:]
        session.foresee(script)
        found = run(session, checks)
        assert frames == [2, 2, 2]
        assert torch.equal(found["once"], found["again"])

    def ask_further(self, session: Session, checks: dict[str, Check]) -> dict[str, Any]:
        """Foresee what checks ask first and, of the modules that were built then, next."""
        rehearsal = Rehearsal(NAMES)
        first = rehearsal.script(checks.items())
        assert first is not None
        session.foresee(first)
        told = session.foretold
        further = rehearsal.further([(name, checks[name], told[name]) for name in told])
        assert further is not None
        session.foresee(further)
        return run(session, checks)

    def test_are_given_weights_and_called_in_one_frame_once_they_are_known(
        self, begin, frames
    ) -> None:
        checks = {f"to {d_out}": self.output(d_out) for d_out in (3, 4, 5)}
        one_by_one = run(begin(), checks)
        session = begin()
        del frames[:]
        found = self.ask_further(session, checks)
        assert frames == [3, 6]
        assert alike(found, one_by_one)

    def test_what_is_asked_of_a_module_after_that_is_asked_by_itself(self, begin, frames) -> None:
        def twice(d_out: int) -> Check:
            def check(student: Student) -> torch.Tensor:
                module = self.build(student, d_out)
                first: torch.Tensor = module(torch.ones(1, 2))
                second: torch.Tensor = student.Layer(2, d_out)(first[:, :2])
                return first + second

            return check

        checks = {f"to {d_out}": twice(d_out) for d_out in (3, 4)}
        one_by_one = run(begin(), checks)
        session = begin()
        del frames[:]
        found = self.ask_further(session, checks)
        assert frames == [2, 2, 1, 1, 1, 1]  # another layer is built, and called, for each
        assert alike(found, one_by_one)

    def test_that_are_asked_something_else_next_answer_that(self, begin, frames) -> None:
        def given(weight: float) -> Check:
            def check(student: Student) -> torch.Tensor:
                module = self.build(student, 3)
                module.set({"weight": torch.full((3, 2), weight), "bias": torch.ones(3)})
                found: torch.Tensor = module(torch.ones(1, 2))
                return found

            return check

        rehearsal = Rehearsal(NAMES)
        session = begin()
        checks = {"one": given(1.0), "two": given(2.0)}
        first = rehearsal.script(checks.items(), shares=False)
        assert first is not None
        session.foresee(first)
        told = dict(session.foretold)
        further = rehearsal.further([(name, checks[name], told[name]) for name in told], False)
        assert further is not None
        session.foresee(further)
        del frames[:]
        found = run(session, {"one": given(1.0), "two": given(5.0)})
        assert frames == [2]
        assert [float(value[0, 0]) for value in found.values()] == [3.0, 11.0]

    def test_built_later_are_others(self, begin) -> None:
        def both(student: Student) -> tuple[int, ...]:
            return tuple(student.Layer(2, 3).handle for _ in range(3))

        session = begin()
        handles = [
            each for found in foreseen(session, {"a": both, "b": both}).values() for each in found
        ]
        assert len(set(handles)) == 6


GRADED = """
import json, sys
from autograder.assignment.assignment import load_assignment
from autograder.grading.exchange import Graded, Request
from autograder.grading.judge import Judge
from autograder.results.result import encode_result
from autograder.sandbox.host.foresight import Foretold
from autograder.sandbox.host.line import Line
from autograder.sandbox.host.room import NameSpec, Sandbox
from autograder.submissions.submission import read_submission
from pathlib import Path

assignment = load_assignment()
names = tuple(NameSpec(n.name, n.module, n.kind, n.parameters) for n in assignment.name_specs)
foresight, *paths = sys.argv[1:]
used = []
names_of = set()
answers = Foretold.answers

def counting(self, *asked):
    used.append(answers(self, *asked))
    names_of.add(self.part.check)
    return used[-1]

Foretold.answers = counting
if foresight == "without":
    Line.foresee = lambda self, script: None
results = []

def answer(given):
    if isinstance(given, Graded):
        result = encode_result(given.result).decode()
        results.append([given.result.score, result, len(used), all(used), sorted(names_of)])
        used.clear()
        names_of.clear()

with Sandbox(assignment.limits, names, "process") as sandbox:
    submissions = [read_submission(Path(path), assignment.limits) for path in paths]
    Judge(assignment, sandbox, b"secret").serve(map(Request, submissions), answer)
print(json.dumps(results))
"""

WRONG = (
    "simplified/softmax-over-queries",
    "trainable/query-key-swapped",
    "causal/no-mask",
    "causal/dropout-missing",
    "multi_head/heads-split-without-transpose",
)


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[list[Any]]]:
    """Score, result and what was foreseen, of a right submission and of wrong ones."""
    folder = tmp_path_factory.mktemp("class")
    paths = [str(load_assignment(ROOT).solutions)]
    for number, wrong in enumerate(WRONG):
        package = folder / str(number) / "attention"
        shutil.copytree(VARIANTS / "right" / "book_style" / "attention", package)
        shutil.copy(VARIANTS / "wrong" / f"{wrong}.py", package / f"{wrong.split('/')[0]}.py")
        paths.append(str(package.parent))
    found = {}
    for foresight in ("with", "without"):
        command = (sys.executable, "-c", GRADED, foresight, *paths)
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        found[foresight] = json.loads(ended.stdout.splitlines()[-1])
    return found


def test_what_is_rehearsed_is_what_a_right_submission_is_asked(graded) -> None:
    score, _, foreseen, used, _ = graded["with"][0]
    assert score == 100
    assert foreseen > 60
    assert used


def test_a_check_that_hangs_on_findings_is_foreseen_where_they_are_known_before(graded) -> None:
    """A wrapper's checks take the student's own head, once it is known to be right."""
    heads = "multi_head::test_heads_get_the_dropout_rate"
    assert heads in graded["with"][0][4]
    wrong_heads = graded["with"][1 + WRONG.index("causal/no-mask")][4]
    assert "multi_head::test_outputs_equal_the_reference[usual]" in wrong_heads
    assert heads not in wrong_heads


def test_results_are_the_same_bytes_without_foresight(graded) -> None:
    for with_it, without in zip(graded["with"], graded["without"], strict=True):
        assert with_it[1] == without[1]
        assert without[2] == 0
    assert [each[0] < 100 for each in graded["with"]] == [False, *(True for _ in WRONG)]
