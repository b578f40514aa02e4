"""The zygote: imports everything once, then forks a guest for each submission.

It never runs student code and never reads a submission. Every guest inherits its memory and can
look at it, so it holds nothing that is worth looking at.
"""

from __future__ import annotations

import contextlib
import copy
import gc
import mmap
import os
import signal
import socket
import sys
import tempfile
import traceback
from typing import Any

import torch

from ..protocol import orders
from ..protocol.frames import Channel
from ..protocol.wire import MAX_MESSAGE_BYTES, MAX_PAYLOAD_BYTES
from . import calls, inner, kernel, loading, modules, reset_state
from .guest import Guest

# Nothing can be written here; who asks where, as torch does, must not be told by an exception.
tempfile.tempdir = "/tmp"

_CONTROL = 0  # the descriptor that the judge speaks to the zygote on
_PAGE = mmap.PAGESIZE
_SELDOM = 20_000  # objects made between two looks for cycles


def main() -> None:
    """Warm up, then carry out orders until the judge closes its end."""
    control = socket.socket(fileno=os.dup(_CONTROL))
    if kernel.LINUX:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    _warm_up()
    heard = orders.hear(control)
    if heard is None or not isinstance(heard[0], orders.Prepare):
        return
    prepared = inner.prepare(heard[0])
    gc.collect()
    gc.freeze()  # else the collector would touch, and so copy, every page in every guest
    gc.set_threshold(_SELDOM)
    itself = [os.pidfd_open(os.getpid())] if hasattr(os, "pidfd_open") else []
    orders.tell(control, orders.Ready(os.getpid(), prepared.walls), itself)
    for descriptor in itself:
        os.close(descriptor)
    _Zygote(control, prepared).serve()


def _warm_up() -> None:
    """Run what a guest will run, once, so that its lazy parts are there before the fork."""
    torch.set_num_threads(1)  # a zygote that has used two makes its children hang
    attention = torch.nn.Linear(4, 4)
    tokens = torch.ones(2, 3, 4)

    def forward() -> torch.Tensor:
        queries = attention(tokens)
        mask = torch.triu(torch.ones(3, 3), diagonal=1).bool()
        scores = (queries @ tokens.transpose(1, 2)).masked_fill(mask, float("-inf"))
        weights = torch.nn.functional.dropout(torch.softmax(scores / 2.0, dim=-1), 0.5)
        return weights @ tokens

    def library_attention() -> torch.Tensor:
        return torch.nn.functional.scaled_dot_product_attention(tokens, tokens, tokens)

    calls.unfilled(lambda: torch.nn.Linear(4, 4))
    output = calls.counting(forward, {}, everything=True)
    calls.counting(library_attention, {}, everything=False)
    calls.gradients(output, torch.ones(2, 3, 4), modules.parameters(attention))
    loss: Any = forward().sum()
    loss.backward()
    modules.module_value(0, attention)
    copy.deepcopy(attention)
    attention.double().eval()
    # Which processor this is, torch looks up when it is first asked for half precision, in files
    # that a guest may not read.
    torch.nn.functional.linear(torch.ones(1, 1).half(), torch.ones(1, 1).half())
    loading.prepare()
    reset_state.reset(0, True)


class _Zygote:
    """Keeps the guests' process numbers and how they ended."""

    def __init__(self, control: socket.socket, prepared: inner.Prepared) -> None:
        self._control = control
        self._prepared = prepared
        self._forgotten: set[int] = set()

    def serve(self) -> None:
        """Carry out orders, one at a time."""
        while True:
            heard = orders.hear(self._control)
            if heard is None:
                return
            order, descriptors = heard
            try:
                if isinstance(order, orders.Fork):
                    self._fork(order, descriptors)
                elif isinstance(order, orders.Wait):
                    self._wait(order.pid)
                else:
                    orders.tell(self._control, orders.Refused("an order that is none"))
            except OSError as error:
                orders.tell(self._control, orders.Refused(str(error)))
            finally:
                for descriptor in descriptors:
                    os.close(descriptor)

    def _fork(self, order: orders.Fork, descriptors: list[int]) -> None:
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                _be_a_guest(order, self._prepared, parent, descriptors)
                code = 0
            except BaseException:
                traceback.print_exc()  # to the zygote's own log; later to nowhere
            finally:
                os._exit(code)
        itself = [os.pidfd_open(child)] if hasattr(os, "pidfd_open") else []
        orders.tell(self._control, orders.Forked(child), itself)
        for descriptor in itself:
            os.close(descriptor)
        self._forgotten.update(order.forgotten)
        self._reap_forgotten()

    def _reap_forgotten(self) -> None:
        for pid in sorted(self._forgotten):
            try:
                if os.waitpid(pid, os.WNOHANG)[0] == 0:
                    continue  # it is still being taken down; next time
            except ChildProcessError:
                pass
            self._kill_group(pid)
            self._forgotten.discard(pid)

    @staticmethod
    def _kill_group(pid: int) -> None:
        """Kill whatever a guest started, if it could start anything."""
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)

    def _wait(self, pid: int) -> None:
        _, status, usage = os.wait4(pid, 0)
        self._kill_group(pid)
        code = os.waitstatus_to_exitcode(status)
        spent = usage.ru_utime + usage.ru_stime
        orders.tell(self._control, orders.Ended(code, spent))


def _be_a_guest(
    order: orders.Fork, prepared: inner.Prepared, parent: int, descriptors: list[int]
) -> None:
    sock = socket.socket(fileno=descriptors[0])
    progress = mmap.mmap(descriptors[1], _PAGE)
    inner.close_in(order, prepared, parent, sock)
    output = reset_state.quiet(order.output_chars)
    reset_state.bound_threads(order.threads)
    sys.argv = [""]

    def started(statement: int) -> None:
        progress[:8] = statement.to_bytes(8, "little")

    channel = Channel(sock, MAX_MESSAGE_BYTES, MAX_PAYLOAD_BYTES)
    Guest(channel, output, started).serve()
