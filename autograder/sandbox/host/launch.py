"""The judge's end of a zygote: starts it, has it fork guests, learns how they ended."""

from __future__ import annotations

import contextlib
import os
import platform
import select
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import msgspec

from autograder.errors import MissingRequirement

from ..protocol import orders
from . import bubblewrap, guest_files

SECCOMP_PROGRAMS = guest_files.HERE / "seccomp"
_DEVICES = ("/dev/null", "/dev/urandom")
_START_SECONDS = 120.0  # importing torch on a cold, busy machine
_ANSWER_SECONDS = 60.0


class ZygoteGone(Exception):
    """The zygote ended, or does not answer."""


@dataclass(frozen=True)
class Level:
    """One rung of the ladder: which walls stand."""

    name: str
    bubblewrap: bool
    inner: bool  # Landlock and seccomp


LEVELS = (
    Level("bubblewrap", bubblewrap=True, inner=True),
    Level("landlock", bubblewrap=False, inner=True),
    Level("process", bubblewrap=False, inner=False),
)


def seccomp_program() -> bytes | None:
    """The program for this machine's processor, where there is one."""
    path = SECCOMP_PROGRAMS / f"{platform.machine()}.bpf"
    return path.read_bytes() if sys.platform == "linux" and path.exists() else None


class Zygote:
    """One warm process. Made at once; torch is imported while the judge does other things.

    The thread that makes it must live as long as it: the system ends the zygote with that thread.
    """

    def __init__(self, level: Level) -> None:
        self.level = level
        self._folder: guest_files.Folder | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the zygote
        self._ready = False
        self.walls: tuple[str, ...] = ()
        self._forgotten: list[int] = []
        self.itself: int | None = None  # a descriptor of the zygote
        python = guest_files.interpreter()
        pieces = guest_files.packages() + guest_files.modules()
        readable = [*_DEVICES, *map(str, guest_files.readable(python, pieces))]
        if level.bubblewrap:
            found = bubblewrap.binary()
            if found is None:
                raise MissingRequirement("bubblewrap is missing; `apt install bubblewrap`")
            line = bubblewrap.line(found, python, pieces)
            readable.append(bubblewrap.ROOM)
        else:
            self._folder = guest_files.Folder()
            guest_files.furnish(self._folder.path, pieces)
            line = guest_files.command(python, str(self._folder.path))
            readable.append(str(self._folder.path))
        self._prepare = orders.Prepare(
            tuple(readable) if level.inner else None,
            (str(python.library),),
            seccomp_program() if level.inner else None,
        )
        self._control, theirs = socket.socketpair()
        try:
            self._process = subprocess.Popen(
                line,
                stdin=theirs.fileno(),
                stdout=self._log,
                stderr=self._log,
                env=guest_files.environment(python),
                cwd="/",
                start_new_session=not level.bubblewrap,
            )
        except OSError as error:
            self._put_away()
            raise MissingRequirement(f"{line[0]} cannot be started: {error}") from None
        finally:
            theirs.close()
        self._pulse, self._pulse_of = select.poll(), None
        if hasattr(os, "pidfd_open"):
            self._pulse_of = os.pidfd_open(self._process.pid)
            self._pulse.register(self._pulse_of, select.POLLIN)

    def wait_ready(self) -> None:
        """Until torch is imported. Raises `ZygoteGone` with what the zygote said instead."""
        if self._ready:
            return
        try:
            self._tell(self._prepare)
            answer, descriptors = self._hear(_START_SECONDS)
        except ZygoteGone:
            raise ZygoteGone(self.last_words()) from None
        if not isinstance(answer, orders.Ready):
            raise ZygoteGone(self.last_words())
        self.walls = answer.walls
        self.itself = descriptors[0] if descriptors else None
        self._ready = True

    def forget(self, pid: int) -> None:
        """A guest that was killed and that nobody will ask about."""
        self._forgotten.append(pid)

    def fork(
        self, order: orders.Fork, sock: socket.socket, progress: int
    ) -> tuple[int, int | None]:
        """Begin a guest: its process number within its walls, and a descriptor of it."""
        forgotten, self._forgotten = tuple(self._forgotten), []
        order = msgspec.structs.replace(order, forgotten=forgotten)
        self._tell(order, (sock.fileno(), progress))
        answer, descriptors = self._hear(_ANSWER_SECONDS)
        if not isinstance(answer, orders.Forked):
            raise ZygoteGone(answer.why if isinstance(answer, orders.Refused) else "no guest")
        return answer.pid, descriptors[0] if descriptors else None

    def ended(self, pid: int) -> orders.Ended:
        """How a guest ended; to be asked once, of one that has ended or was killed."""
        self._tell(orders.Wait(pid))
        answer, _ = self._hear(_ANSWER_SECONDS)
        if not isinstance(answer, orders.Ended):
            raise ZygoteGone(answer.why if isinstance(answer, orders.Refused) else "no status")
        return answer

    def _tell(self, order: orders.AnyOrder, descriptors: tuple[int, ...] = ()) -> None:
        try:
            orders.tell(self._control, order, descriptors)
        except OSError as error:
            raise ZygoteGone(str(error)) from None

    def _hear(self, seconds: float) -> tuple[orders.AnyOrder, list[int]]:
        deadline = time.monotonic() + seconds
        poller = select.poll()
        poller.register(self._control, select.POLLIN)
        while not poller.poll(max(0.0, deadline - time.monotonic()) * 1000):
            if time.monotonic() >= deadline:
                raise ZygoteGone(f"no answer within {seconds:.0f} s")
        try:
            heard = orders.hear(self._control)
        except OSError as error:
            raise ZygoteGone(str(error)) from None
        if heard is None:
            raise ZygoteGone(self.last_words())
        return heard

    def alive(self) -> bool:
        """Whether it is still running. Asked before every check."""
        if self._pulse_of is None:
            return self._process.poll() is None
        return not self._pulse.poll(0)  # readable once it has ended

    def last_words(self) -> str:
        """The last line that the zygote wrote, for whoever has to find out what is missing."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2)
        self._log.seek(0)
        lines = self._log.read(1 << 16).decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:300] if lines else f"ended with code {self._process.returncode}"

    def close(self) -> None:
        """End the zygote, and with it every guest."""
        for descriptor in (self.itself, self._pulse_of):
            if descriptor is not None:
                os.close(descriptor)
        self.itself = self._pulse_of = None
        self._process.kill()
        self._process.wait()
        self._put_away()

    def _put_away(self) -> None:
        self._control.close()
        self._log.close()
        if self._folder is not None:
            self._folder.close()
            self._folder = None
