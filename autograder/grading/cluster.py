"""Grading on a cluster that exists: workers of dask.distributed, wherever they run.

Each of them must have this kit, the same assignment and the same secret, which is made sure of at
the start. Submissions go out as bytes and results come back as bytes; what dask pickles on the way
is the name of a function of ours and nothing of a student's.
"""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial
from pathlib import Path

import msgspec
from distributed import Client
from distributed.comm.addressing import parse_address
from distributed.comm.registry import get_backend

from autograder.errors import InternalError, MissingRequirement
from autograder.grading.cluster_worker import NAME, Facts, Grading, facts, grade, isolation_of
from autograder.grading.exchange import Graded, Request
from autograder.submissions.submission import Submission

#: Seconds in which a scheduler must answer, and in which a first worker must be there.
ANSWER = 15
PATIENCE = 60
#: From the weakest; a run is as well isolated as the weakest of its workers.
LEVELS = ("process", "landlock", "bubblewrap")


class ClusterExecutor:
    """Workers of a dask cluster, as many at a time as it has threads. See `executor.Executor`."""

    def __init__(self, address: str, mine: Facts, folder: Path, isolation: str | None) -> None:
        self._client = _connected(address)
        try:
            self._differences = self._prepare(mine, folder, isolation)
            self.width = sum(self._client.nthreads().values())
        except BaseException:
            self._client.close()
            raise
        # Whoever loses a worker has its task done elsewhere: that is dask's own work.
        self._pool = self._client.get_executor(pure=False)

    def _prepare(self, mine: Facts, folder: Path, isolation: str | None) -> tuple[str, ...]:
        """Have every worker compare itself with us and get ready; notes on what may differ."""
        try:
            found: dict[str, Facts] = self._client.run(facts, folder)
        except Exception as error:
            raise MissingRequirement(
                f"a worker of the cluster cannot serve: {type(error).__name__}: {error};"
                " each needs this kit and the assignment at the same place"
            ) from error
        notes = []
        for worker, theirs in sorted(found.items()):
            if theirs.fault:
                raise MissingRequirement(f"{worker}: {theirs.fault}")
            changed = mine.key.changed(theirs.key)
            if changed:
                raise MissingRequirement(
                    f"{worker} has another {' and another '.join(changed)} than this machine;"
                    " results would not be the same: bring it to the same state"
                )
            if theirs.processor != mine.processor:
                notes.append(
                    f"{worker} has another kind of processor ({theirs.processor}, here"
                    f" {mine.processor}): scores are the same, last digits may differ"
                )
        self._client.register_plugin(Grading(str(folder), isolation, mine.key), name=NAME)
        return tuple(notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """What somebody should know of the cluster, a line each."""
        return self._differences

    @property
    def isolation(self) -> str:
        """The level in force on the worker that has the weakest."""
        try:
            found: dict[str, str] = self._client.run(isolation_of)
        except InternalError:
            raise
        except Exception as error:
            raise MissingRequirement(f"a worker of the cluster cannot start: {error}") from error
        return min(found.values(), key=LEVELS.index)

    def submit(self, submission: Submission, stages: tuple[str, ...] | None) -> Future[Graded]:
        """See `executor.Executor`."""
        packed = msgspec.msgpack.encode(Request(submission, stages))
        answer: Future[Graded] = Future()
        answer.set_running_or_notify_cancel()
        asked = self._pool.submit(grade, packed)
        asked.add_done_callback(partial(_pass_on, answer))
        return answer

    def close(self) -> None:
        """Stop at once; what is being graded there ends when the workers hear of it."""
        self._pool.shutdown(wait=False)
        self._client.unregister_worker_plugin(NAME)
        self._client.close()


def _pass_on(answer: Future[Graded], asked: Future[bytes]) -> None:
    """From bytes to a result; whatever went wrong is the kit's or the cluster's."""
    try:
        answer.set_result(msgspec.msgpack.decode(asked.result(), type=Graded))
    except (InternalError, MissingRequirement) as error:
        answer.set_exception(error)
    except BaseException as error:
        answer.set_exception(InternalError(f"the cluster lost it: {type(error).__name__}: {error}"))


def _connected(address: str) -> Client:
    """A client of the cluster that has workers."""
    try:
        # A client that was not made is not closed either, so the address is looked at before.
        get_backend(parse_address(address)[0])
        client = Client(address, timeout=ANSWER, set_as_default=False)
    except (OSError, ValueError) as error:
        raise MissingRequirement(f"{address}: no scheduler answers there ({error})") from error
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        client.close()
        raise MissingRequirement(f"{address}: the cluster has no workers") from None
    return client
