"""The judge's end of one guest: asks within a budget, measures, kills, tells how it ended.

Time is CPU time of the guest, read from outside through its descriptor, so that a busy machine
takes nothing from a student; wall time is only a fallback. A guest that sleeps pays for it as if
it worked: nobody outside keeps it waiting. On systems without such descriptors wall time is all
there is.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import select
import signal
import socket
import tempfile
import time
from pathlib import Path

import msgspec
import torch

from ..protocol import messages, orders, wire
from ..protocol.frames import Broken, Buffer, Channel, Ended
from ..protocol.tensors import decode
from .launch import Zygote, ZygoteGone

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(messages.Reply).decode
_CORES = os.cpu_count() or 1
_SHORTEST_WAIT = 0.002
_NEXT_TO_NOTHING = 0.01  # of a core
_MOST_STATEMENT = (1 << 62) - 1
_MOST_TOLD = 4096  # bytes about a descriptor
_PID = re.compile(rb"^Pid:\s*(-?\d+)", re.MULTILINE)


class Overrun(Exception):
    """The budget of a request is used up, by work or by waiting for something that never comes.

    wall: seconds of wall time after which it was ended although its budget was not used up.
    """

    def __init__(self, seconds: float, asleep: bool = False, wall: float | None = None) -> None:
        told = f"it {'waited' if asleep else 'ran'} for more than {seconds:g} s"
        if wall is not None:
            told = f"it had not ended after {wall:g} s of wall time ({seconds:g} s of work are its)"
        super().__init__(told)
        self.seconds = seconds


class Gone(Exception):
    """The guest ended by itself; the reason, in words for a student."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def outer_pid(descriptor: int) -> int | None:
    """The process number outside of all name spaces, by the descriptor."""
    try:  # without a `Path` and a text file: once for every guest
        told = os.open(f"/proc/self/fdinfo/{descriptor}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            found = _PID.search(os.read(told, _MOST_TOLD))
        finally:
            os.close(told)
    except OSError:
        return None
    return None if found is None else int(found[1])


def mapped_bytes(descriptor: int) -> int | None:
    """The address space that a process takes up, by its descriptor."""
    pid = outer_pid(descriptor)
    if pid is None:
        return None
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[0])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def sacrifice(descriptor: int) -> None:
    """Let the system end this process and its children first when memory runs out."""
    pid = outer_pid(descriptor)
    if pid is None:
        return
    with contextlib.suppress(OSError):  # not ours to say everywhere
        Path(f"/proc/{pid}/oom_score_adj").write_text("1000", "ascii")


def _open_progress() -> int:
    """One page that a guest writes to and the judge reads."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("progress", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, mmap.PAGESIZE)
    return descriptor


class GuestProcess:
    """One running guest."""

    def __init__(self, zygote: Zygote, order: orders.Fork) -> None:
        self._zygote = zygote
        self._progress = _open_progress()
        ours, theirs = socket.socketpair()
        try:
            self.pid, self._descriptor = zygote.fork(order, theirs, self._progress)
        except BaseException:
            os.close(self._progress)
            ours.close()
            raise
        finally:
            theirs.close()
        ours.setblocking(False)
        self._socket, self._number = ours, ours.fileno()
        self._channel = Channel(ours, wire.MAX_REPLY_BYTES, wire.MAX_PAYLOAD_BYTES, self._wait)
        self._reading, self._writing = select.poll(), select.poll()
        self._reading.register(ours, select.POLLIN)
        self._writing.register(ours, select.POLLOUT)
        self._clock: int | None = None
        self._outer: int | None = None
        if self._descriptor is not None:
            self._reading.register(self._descriptor, select.POLLIN)
            self._writing.register(self._descriptor, select.POLLIN)
            self._outer = outer_pid(self._descriptor)
            self._clock = None if self._outer is None else (~self._outer << 3) | 2
        self._begun = time.monotonic()
        self._last_cpu = 0.0
        self._next_id = 0
        self._budget, self._used_before = 0.0, 0.0
        self._wall, self._wall_deadline = 0.0, 0.0
        self._first_wait = True
        self._asleep, self._looked = 0.0, self._begun
        self._statement = 0
        self.answered = 0  # bytes of tensors, with the last reply
        self.alive = True

    def cpu_seconds(self) -> float:
        """CPU time that the guest has used; wall time where the system does not tell."""
        if self.alive:
            if self._clock is None:
                self._last_cpu = time.monotonic() - self._begun
            else:
                try:  # noqa: SIM105 - after every request; a `with` costs more than the call
                    self._last_cpu = time.clock_gettime(self._clock)
                except OSError:  # it may just have ended
                    pass
        return self._last_cpu

    def statement(self) -> int:
        """The number of the statement that loading was at, when it is dead."""
        return self._statement

    def ask(
        self,
        operations: tuple[messages.Operation, ...],
        seeds: tuple[int, ...],
        heads: tuple[wire.TensorHead, ...],
        payload: list[Buffer],
        budget: float,
        wall_factor: float,
    ) -> tuple[tuple[messages.Outcome, ...], list[torch.Tensor]]:
        """A request of one part, see `ask_each`: its outcomes and tensors."""
        part = messages.Asked(operations, seeds, len(heads))
        (outcomes,), tensors = self.ask_each((part,), heads, payload, budget, wall_factor)
        return outcomes, tensors

    def ask_each(
        self,
        parts: tuple[messages.Asked, ...],
        heads: tuple[wire.TensorHead, ...],
        payload: list[Buffer],
        budget: float,
        wall_factor: float,
    ) -> tuple[tuple[tuple[messages.Outcome, ...], ...], list[torch.Tensor]]:
        """One request, one reply: the outcomes of each part, and all tensors.

        Raises `Overrun`, `Gone` or `Broken`, after each of which the guest is dead. What the
        guest used since the last request (a thread may have gone on) counts with this one.
        """
        self._next_id += 1
        request = messages.Request(self._next_id, parts, heads)
        self._budget, self._used_before = budget, self._last_cpu
        self._wall = budget * wall_factor
        self._asleep, self._looked = 0.0, time.monotonic()
        self._wall_deadline = self._looked + self._wall
        self._first_wait = True
        try:
            self._channel.send(_encode(request), payload)
            message, raw = self._channel.receive()
            reply = _decode(message)
            tensors = decode(reply.tensors, raw)
            self.answered = len(raw)
        except Overrun:
            self.kill()
            raise
        except Ended:
            raise Gone(self._reason()) from None
        except (msgspec.DecodeError, RecursionError) as error:
            self.kill()
            raise Broken(str(error)) from None
        except BaseException:
            self.kill()
            raise
        if reply.id != self._next_id or not _answers(reply.parts, parts):
            self.kill()
            raise Broken("a reply to something else")
        return reply.parts, tensors

    def used(self) -> float:
        """CPU seconds of the last request, all told."""
        return self.cpu_seconds() - self._used_before

    def _pause(self) -> float:
        """How long the guest may be left alone before its clock is looked at again."""
        if self._first_wait:  # no look at the clock where a reply comes soon
            self._first_wait = False
            return self._budget / _CORES
        before, then = self._last_cpu, self._looked
        now = self._looked = time.monotonic()
        used = self.used()
        if self._last_cpu - before < _NEXT_TO_NOTHING * (now - then) and self._sleeps():
            self._asleep += now - then
        left = self._budget - used - self._asleep
        wall = self._wall_deadline - now
        if left <= 0:
            raise Overrun(self._budget, self._asleep > self._budget / 2)
        if wall <= 0:
            raise Overrun(self._budget, wall=self._wall)
        if self._clock is None:
            return min(left, wall)
        return min(max(left / _CORES, _SHORTEST_WAIT), wall)

    def _sleeps(self) -> bool:
        """Whether it waits of its own accord; a busy machine only makes it wait its turn."""
        if self._outer is None:
            return False
        try:
            state = Path(f"/proc/{self._outer}/stat").read_text("utf-8", "replace")
        except OSError:
            return False
        # One that has answered in the meantime sleeps because it is for the judge to go on.
        return state.rpartition(")")[2].split()[:1] == ["S"] and not self._reading.poll(0)

    def _wait(self, writing: bool) -> None:
        poller = self._writing if writing else self._reading
        while True:
            ready = poller.poll(self._pause() * 1000)
            for descriptor, _ in ready:
                if descriptor == self._number:
                    return
            if ready:  # it has ended; nothing will come any more
                raise Ended

    def _reason(self) -> str:
        """How it ended, after the end of its stream was seen."""
        ended_by_itself = True
        if self._descriptor is not None:
            poller = select.poll()
            poller.register(self._descriptor, select.POLLIN)
            ended_by_itself = bool(poller.poll(1000))
        ended = self.kill()
        if ended is None:
            return "the process that it ran in is gone"
        if not ended_by_itself:
            return "it closed the line to the judge"
        return told(ended.exit_code)

    def kill(self) -> orders.Ended | None:
        """End it, whatever it does; how it ended, where the zygote can still tell."""
        if not self.alive:
            return None
        self._strike()
        try:
            ended = self._zygote.ended(self.pid)
        except ZygoteGone:
            return None
        if self._clock is not None:
            self._last_cpu = max(self._last_cpu, ended.cpu_seconds)
        return ended

    def dismiss(self) -> None:
        """End it without waiting until it is gone."""
        if self.alive:
            self._strike()
            self._zygote.forget(self.pid)

    def _strike(self) -> None:
        self.cpu_seconds()
        # Read, not mapped: whatever a guest does to the file, this cannot fault.
        told = os.pread(self._progress, 8, 0)
        self._statement = int.from_bytes(told, "little") & _MOST_STATEMENT
        os.close(self._progress)
        self.alive = False
        self._socket.close()
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)
            os.close(self._descriptor)
        else:
            with contextlib.suppress(OSError):
                os.kill(self.pid, signal.SIGKILL)


def _answers(
    told: tuple[tuple[messages.Outcome, ...], ...], parts: tuple[messages.Asked, ...]
) -> bool:
    """Whether every part has its outcomes."""
    return len(told) == len(parts) and all(
        _complete(outcomes, len(part.operations))
        for outcomes, part in zip(told, parts, strict=True)
    )


def _complete(outcomes: tuple[messages.Outcome, ...], asked: int) -> bool:
    """One outcome for each operation, or fewer where the last one raised."""
    if len(outcomes) > asked or not outcomes:
        return False
    for outcome in outcomes[:-1]:
        if isinstance(outcome, messages.Raised):
            return False
    return len(outcomes) == asked or isinstance(outcomes[-1], messages.Raised)


def told(exit_code: int) -> str:
    """An exit code in words."""
    if exit_code >= 0:
        return f"it ended its process with code {exit_code}"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = f"signal {-exit_code}"
    words = {
        "SIGSEGV": "it crashed (SIGSEGV: bad memory access, or recursion in C without end)",
        "SIGKILL": "it was killed (SIGKILL: out of memory or out of CPU time)",
        "SIGXCPU": "it ran out of CPU time (SIGXCPU)",
        "SIGABRT": "it aborted (SIGABRT)",
        "SIGFPE": "it crashed (SIGFPE: a division that the processor refuses)",
        "SIGSYS": "it made a system call that is not allowed (SIGSYS)",
    }
    return words.get(name, f"it was ended by {name}")
