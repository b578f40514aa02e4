"""What runs in a worker of a dask cluster: one grading process for each of its threads.

dask imports it by name on the worker, so the kit must be installed there.
"""

from __future__ import annotations

import asyncio
import platform
import re
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import msgspec
from distributed import WorkerPlugin, get_worker

from autograder.assignment.assignment import load_assignment
from autograder.assignment.secret import load_secret
from autograder.errors import AutograderError, MissingRequirement
from autograder.grading.exchange import Request
from autograder.grading.executor import LocalExecutor
from autograder.grading.worker import Worker
from autograder.results.grading_key import GradingKey, grading_key

NAME = "attention-autograder"
_VECTORS = ("avx512f", "avx2", "avx", "sve", "asimd")  # the widest first


class Facts(msgspec.Struct, frozen=True):
    """What results depend on, on one machine; `fault` says why if that cannot be determined."""

    key: GradingKey
    processor: str
    fault: str = ""


def processor() -> str:
    """The kind of processor, as far as numbers depend on it: `x86_64 avx2`."""
    flags: set[str] = set()
    with suppress(OSError):
        text = Path("/proc/cpuinfo").read_text("utf-8", "replace")
        found = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
        flags = set(found.group(1).split()) if found else set()
    widest = next((each for each in _VECTORS if each in flags), "")
    return f"{platform.machine()} {widest}".strip()


def facts(folder: Path) -> Facts:
    """The facts of the machine that this runs on, for the assignment in `folder`."""
    try:
        assignment = load_assignment(folder)
        return Facts(grading_key(assignment, load_secret(assignment)), processor())
    except AutograderError as error:
        nothing = GradingKey(**dict.fromkeys(GradingKey.__struct_fields__, ""))
        return Facts(nothing, processor(), str(error))


class Grading(WorkerPlugin):
    """A plugin for dask's workers that owns their grading processes.

    It is set up on workers that join later too, which then have to be in the same state.

    Args:
        folder: The assignment's folder.
        isolation: The level of isolation to ask for; None for the best.
        key: The grading key of the machine that asks.
    """

    name = NAME

    def __init__(self, folder: str, isolation: str | None, key: GradingKey) -> None:
        self._folder = folder
        self._isolation = isolation
        self._key = key
        self._executor: LocalExecutor | None = None
        self._changed: tuple[str, ...] = ()

    def setup(self, worker: Any) -> None:
        """Start the grading processes; dask calls this when a worker starts or has started."""
        theirs = facts(Path(self._folder))
        self._changed = self._key.changed(theirs.key)
        if not self._changed:
            folder, isolation = Path(self._folder), self._isolation
            self._executor = LocalExecutor(lambda: Worker(folder, isolation), worker.state.nthreads)

    def teardown(self, worker: Any) -> None:
        """End the grading processes; dask calls this when a worker ends."""
        if self._executor is not None:
            self._executor.close()
            self._executor = None

    @property
    def executor(self) -> LocalExecutor:
        """The grading processes.

        Raises:
            MissingRequirement: This machine would grade differently.
        """
        if self._executor is None:
            raise MissingRequirement(
                f"a worker joined that differs in {' and '.join(self._changed)}"
            )
        return self._executor


def grade(packed: bytes) -> bytes:
    """Grade one submission: dask's task, bytes in both directions.

    Args:
        packed: A `Request` as MessagePack.

    Returns:
        A `Graded` as MessagePack.
    """
    request = msgspec.msgpack.decode(packed, type=Request)
    plugin = cast(Grading, get_worker().plugins[NAME])
    graded = plugin.executor.submit(request.submission, request.stages).result()
    return msgspec.msgpack.encode(graded)


async def isolation_of(dask_worker: Any) -> str:
    """The level in use on a worker; waits until it is warm. dask fills in `dask_worker`."""
    plugin = cast(Grading, dask_worker.plugins[NAME])
    loop = asyncio.get_running_loop()  # has to go on meanwhile: it sends the worker's heartbeat
    return await loop.run_in_executor(None, lambda: plugin.executor.isolation)
