"""Workers in threads: replaced when they die, ended at once when asked.

Most workers here are stand-ins, since a real one cannot be made to die at a wanted moment.
"""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autograder.assignment.assignment import load_assignment
from autograder.errors import InternalError, MissingRequirement
from autograder.grading.executor import LocalExecutor, cores
from autograder.grading.worker import Worker
from autograder.submissions.submission import Submission, read_submission


class Shop:
    """Makes workers, and remembers what became of them."""

    def __init__(self) -> None:
        self.made = 0
        self.ended = 0
        self.deaths: dict[str, int] = {}  # how often grading a submission kills the worker
        self.error: Exception = InternalError("the worker died")
        self.cannot_start: Exception | None = None
        self.graded: list[str] = []

    def __call__(self) -> "StandIn":
        return StandIn(self)


class StandIn:
    """A worker that grades nothing."""

    isolation = "landlock"

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.stopped = threading.Event()

    def __enter__(self) -> "StandIn":
        if self.shop.cannot_start is not None:
            raise self.shop.cannot_start
        self.shop.made += 1
        return self

    def __exit__(self, *error: object) -> None:
        self.shop.ended += 1
        self.stopped.set()

    def grade(self, submission: Submission, stages: tuple[str, ...] | None) -> Any:
        if self.shop.deaths.get(submission.name, 0) > 0:
            self.shop.deaths[submission.name] -= 1
            raise self.shop.error
        if submission.name == "endless":
            self.stopped.wait()
            raise InternalError("the worker was ended")
        self.shop.graded.append(submission.name)
        return SimpleNamespace(result=submission.name)


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture
def executor(shop: Shop) -> Iterator[LocalExecutor]:
    executor = LocalExecutor(shop, 1)
    yield executor
    executor.close()


def work(name: str) -> Submission:
    return Submission(name, (), "digest")


def test_isolation_is_known_before_anything_is_graded(executor: LocalExecutor) -> None:
    assert executor.isolation == "landlock"


def test_one_worker_serves_many_submissions(executor: LocalExecutor, shop: Shop) -> None:
    futures = [executor.submit(work(name), None) for name in "abc"]
    assert [future.result().result for future in futures] == ["a", "b", "c"]
    assert shop.made == 1


def test_a_dead_worker_is_replaced_and_the_submission_tried_once_more(
    executor: LocalExecutor, shop: Shop
) -> None:
    shop.deaths["a"] = 1
    assert executor.submit(work("a"), None).result().result == "a"
    assert (shop.made, shop.ended) == (2, 1)


def test_a_submission_that_kills_two_workers_is_given_up_and_the_next_graded(
    executor: LocalExecutor, shop: Shop
) -> None:
    shop.deaths["a"] = 2
    first, second = executor.submit(work("a"), None), executor.submit(work("b"), None)
    with pytest.raises(InternalError, match="the worker died"):
        first.result()
    assert second.result().result == "b"
    assert shop.made == 3


def test_an_unexpected_error_is_treated_like_a_death(executor: LocalExecutor, shop: Shop) -> None:
    shop.deaths["a"] = 1
    shop.error = ZeroDivisionError()
    assert executor.submit(work("a"), None).result().result == "a"
    assert shop.made == 2


def test_what_the_surroundings_lack_is_not_tried_again(executor: LocalExecutor, shop: Shop) -> None:
    shop.deaths["a"] = 2
    shop.error = MissingRequirement("no isolation")
    with pytest.raises(MissingRequirement):
        executor.submit(work("a"), None).result()
    assert shop.deaths["a"] == 1


def test_a_worker_that_cannot_start_is_told_when_isolation_is_asked_for(shop: Shop) -> None:
    shop.cannot_start = MissingRequirement("no isolation")
    executor = LocalExecutor(shop, 1)
    with pytest.raises(MissingRequirement, match="no isolation"):
        _ = executor.isolation
    executor.close()


def test_several_workers_work_at_a_time(shop: Shop) -> None:
    executor = LocalExecutor(shop, 2)
    endless = executor.submit(work("endless"), None)
    assert executor.submit(work("a"), None).result().result == "a"
    assert not endless.done()
    executor.close()
    assert shop.made == 2


def test_all_workers_start_before_there_is_work_for_them(shop: Shop) -> None:
    both = threading.Barrier(2, timeout=30)  # neither is ready before the other has begun

    class Slow(StandIn):
        def __enter__(self) -> StandIn:
            both.wait()
            return super().__enter__()

    executor = LocalExecutor(lambda: Slow(shop), 2)
    assert executor.isolation == "landlock"
    executor.close()
    assert shop.made == 2


def test_closing_ends_what_is_being_graded_and_drops_what_waits(shop: Shop) -> None:
    executor = LocalExecutor(shop, 1)
    assert executor.isolation
    endless, waiting = executor.submit(work("endless"), None), executor.submit(work("a"), None)
    while not endless.running():
        threading.Event().wait(0.01)
    executor.close()
    assert isinstance(endless.exception(), InternalError)
    assert waiting.cancelled()
    assert shop.graded == []
    assert shop.ended == shop.made == 1


def test_a_real_worker_that_is_killed_is_replaced(tmp_path: Path) -> None:
    assignment = load_assignment()
    (tmp_path / "ada.py").write_text("def softmax(scores):\n    return scores.softmax(-1)\n")
    ada = read_submission(tmp_path / "ada.py", assignment.limits)
    workers: list[Worker] = []

    def factory() -> Worker:
        workers.append(Worker(assignment.folder))
        return workers[-1]

    executor = LocalExecutor(factory, 1)
    try:
        before = executor.submit(ada, ("simplified",)).result()
        os.kill(workers[0].pid, signal.SIGKILL)
        after = executor.submit(ada, ("simplified",)).result()
    finally:
        executor.close()
    assert before.result == after.result
    assert before.isolation == after.isolation != ""
    assert len(workers) == 2
    assert not any(worker.alive for worker in workers)


def test_this_process_has_a_core() -> None:
    assert cores() >= 1
