"""`selfcheck.runner`: every wait has an end, and what did not come is told."""

import queue
from collections.abc import Sequence

import pytest

from selfcheck import runner
from selfcheck.runner import CannotWork, Run
from selfcheck.standing import Event

READY: Event = {"kind": "ready"}


class Played(runner.Worker):
    """A worker that says what it is told to say, and ends where it is told to."""

    def __init__(self, *events: Event | None) -> None:
        self.events: queue.Queue[Event | None] = queue.Queue()
        self.ready = READY in events
        self.orders: list[list[str]] = []
        self.killed = False
        for event in events:
            self.events.put(event)

    def order(self, stages: Sequence[str], seconds: float, weights: bool) -> None:
        self.orders.append([*stages])

    def complaints(self) -> str:
        return "exit code -9"

    def kill(self) -> None:
        self.killed = True

    def wait(self) -> None:
        assert self.killed


def begin(stage: str) -> Event:
    return {"kind": "begin", "stage": stage, "name": "", "check": "a check"}


def finished(stage: str) -> Event:
    return {"kind": "finished", "stage": stage}


def run_to_its_end(run: Run) -> None:
    while not run.over:
        run.step(0.0)


def test_a_process_that_never_gets_ready_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "START", 0.0)
    worker = Played()
    with pytest.raises(CannotWork, match="torch and pytest were not imported within 0 seconds"):
        run_to_its_end(Run(["simplified"], worker))
    assert worker.killed


def test_a_process_that_is_ready_and_never_begins_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner, "PATIENCE", 0)
    with pytest.raises(CannotWork, match="nothing was heard of them for 0 seconds"):
        run_to_its_end(Run(["simplified"], Played(READY)))


def test_a_process_that_ended_before_it_began_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CannotWork, match="exit code -9"):
        run_to_its_end(Run(["simplified"], Played(READY, None)))


def test_a_stage_that_hangs_costs_itself_and_the_rest_is_asked_of_another_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    others = Played(READY, begin("causal"), finished("causal"))
    monkeypatch.setattr(runner, "Worker", lambda: others)
    first = Played(READY, begin("simplified"), {"kind": "hung", **begin("simplified")})
    first.events.put({**begin("simplified"), "kind": "hung", "place": "attention/simplified.py:3"})
    run = Run(["simplified", "causal"], first)
    run_to_its_end(run)
    assert first.killed
    assert others.orders == [["causal"]]
    assert run.standing.stages["causal"].problem == ""
    assert "did not come back within 10 seconds" in run.standing.stages["simplified"].problem


def test_it_is_over_when_the_last_stage_is_finished_and_waits_for_no_goodbye() -> None:
    worker = Played(READY, begin("causal"), finished("causal"), finished("simplified"))
    run = Run(["causal", "simplified"], worker)
    assert run.step(0.0)
    assert run.over
    assert worker.killed
