"""Grading on an existing cluster: workers of dask.distributed, wherever they run.

Each of them must have this kit, the same assignment and the same secret, which is checked at the
start. Submissions go out as bytes and results come back as bytes; dask pickles only the name of a
function of ours, nothing of a student's.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from functools import partial
from pathlib import Path

import msgspec
from distributed import Client
from distributed.comm.addressing import parse_address
from distributed.comm.core import connect
from distributed.comm.registry import get_backend

from autograder.errors import InternalError, MissingRequirement
from autograder.grading.cluster_worker import NAME, Facts, Grading, facts, grade, isolation_of
from autograder.grading.exchange import Graded, Request
from autograder.submissions.submission import Submission

#: Seconds within which a scheduler must answer, and a first worker must have joined.
ANSWER = 15
PATIENCE = 60
#: Weakest first; a run is only as well isolated as its weakest worker.
LEVELS = ("process", "landlock", "bubblewrap")


class ClusterExecutor:
    """Workers of a dask cluster, one submission for each of its threads. See `executor.Executor`.

    Args:
        address: The scheduler's address, such as `tcp://HOST:8786`.
        mine: The facts of this machine, which every worker must share.
        folder: The assignment's folder, at the same path on every worker.
        isolation: The level of isolation to ask for; None for the best of each worker.

    Raises:
        MissingRequirement: No scheduler answers, there are no workers, or a worker would grade
            differently.
    """

    def __init__(self, address: str, mine: Facts, folder: Path, isolation: str | None) -> None:
        self._client = _connected(address)
        try:
            self._differences = self._prepare(mine, folder, isolation)
            self.width = sum(self._client.nthreads().values())
        except BaseException:
            self._client.close()
            raise
        # If a worker is lost, dask itself has its task done elsewhere.
        self._pool = self._client.get_executor(pure=False)

    def _prepare(self, mine: Facts, folder: Path, isolation: str | None) -> tuple[str, ...]:
        """Compare every worker with this machine and prepare it; notes on what may differ."""
        try:
            found: dict[str, Facts] = self._client.run(facts, folder)
        except Exception as error:
            raise MissingRequirement(
                f"a worker of the cluster cannot grade: {type(error).__name__}: {error};"
                " each needs this kit, and the assignment at the same path"
            ) from error
        notes = []
        for worker, theirs in sorted(found.items()):
            if theirs.fault:
                raise MissingRequirement(f"{worker}: {theirs.fault}")
            changed = mine.key.changed(theirs.key)
            if changed:
                raise MissingRequirement(
                    f"{worker} differs from this machine in {' and '.join(changed)}, so results"
                    " would not be the same; update it"
                )
            if theirs.processor != mine.processor:
                notes.append(
                    f"{worker} has a different processor ({theirs.processor}, here"
                    f" {mine.processor}): scores are the same, last digits may differ"
                )
        self._client.register_plugin(Grading(str(folder), isolation, mine.key), name=NAME)
        return tuple(notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the teacher should know about the cluster, one line each."""
        return self._differences

    @property
    def isolation(self) -> str:
        """The level of the weakest worker; waits until all workers are warm.

        Raises:
            MissingRequirement: A worker cannot start.
        """
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
        """Stop at once; workers drop what they are grading when the message reaches them."""
        self._pool.shutdown(wait=False)
        self._client.unregister_worker_plugin(NAME)
        self._client.close()


def _pass_on(answer: Future[Graded], asked: Future[bytes]) -> None:
    """From bytes to a result; any failure is the kit's or the cluster's."""
    try:
        answer.set_result(msgspec.msgpack.decode(asked.result(), type=Graded))
    except (InternalError, MissingRequirement) as error:
        answer.set_exception(error)
    except BaseException as error:
        answer.set_exception(InternalError(f"the cluster lost it: {type(error).__name__}: {error}"))


def _connected(address: str) -> Client:
    """A client of the cluster, once it has a worker."""
    try:
        # A client that fails in its constructor is never closed, so the address is tested first:
        # whether it can be one, and whether somebody there shakes hands.
        get_backend(parse_address(address)[0])
        asyncio.run(_greet(address))
        client = Client(address, timeout=ANSWER, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = str(error) or f"nothing came within {ANSWER} s"
        raise MissingRequirement(f"{address}: no scheduler answers ({reason})") from error
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        client.close()
        raise MissingRequirement(f"{address}: the cluster has no workers") from None
    return client


async def _greet(address: str) -> None:
    """Shake hands with a scheduler and leave.

    Raises:
        OSError: Nobody is there, or nobody answers.
    """
    (await asyncio.wait_for(connect(address, timeout=ANSWER), ANSWER)).abort()
