"""The state that torch, numpy and Python keep for a whole process, set back before each request.

What one call leaves behind (a default type, a mode, a generator that has advanced) must not change
what the next one computes: each check is judged by itself.
"""

from __future__ import annotations

import io
import random
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy
import torch

_C: Any = torch._C
_seed_torch = torch.default_generator.manual_seed
_random: Any = random._inst
_seed_random = super(random.Random, _random).seed  # without the part that is written in Python
_seed_numpy = numpy.random.seed
_set_grad_enabled = _C._set_grad_enabled
_get_default_dtype, _set_default_dtype = torch.get_default_dtype, torch.set_default_dtype
_set_default_device = torch.set_default_device
_get_num_threads, _set_num_threads = torch.get_num_threads, torch.set_num_threads
_are_deterministic = torch.are_deterministic_algorithms_enabled
_set_deterministic = _C._set_deterministic_algorithms  # the public one imports a compiler
_functions, _pop_function = _C._len_torch_function_stack, _C._pop_torch_function_stack
_push_function, _function_at = _C._push_on_torch_function_stack, _C._get_function_stack_at
_dispatches, _pop_dispatch = _C._len_torch_dispatch_stack, _C._pop_torch_dispatch_stack
_autocasting, _set_autocast = torch.is_autocast_enabled, torch.set_autocast_enabled
_is_inference, _anomaly = torch.is_inference_mode_enabled, torch.is_anomaly_enabled
_set_anomaly = torch.set_anomaly_enabled
_float32 = torch.float32
_sys = sys
# Libraries without numbers drawn by Python or numpy. To seed those generators as well takes as
# long as many a call, and hardly anybody uses them.
_WITHOUT_GENERATORS = frozenset(
    ("__future__", "abc", "collections", "dataclasses", "functools", "math", "torch", "typing")
)
_seed = 0  # of the request now
_seeds_everything = True
_kept: Any = None  # a mode that is always in force
_thread: Any = sys.modules["_thread"]
# Python 3.13 begins threads by other functions.
_THREAD_DOORS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (_thread, ("start_new_thread", "start_new", "start_joinable_thread")),
    (threading, ("_start_new_thread", "_start_joinable_thread")),
)


def reset(seed: int, grad_enabled: bool) -> None:
    """Generators, modes, defaults: as a freshly started program with this seed has them."""
    global _seed
    _seed = seed
    drop_modes()
    _seed_torch(seed)
    if _seeds_everything:
        _seed_others(seed)
    _set_grad_enabled(grad_enabled)
    if _get_default_dtype() is not _float32:
        _set_default_dtype(_float32)
    if _get_num_threads() != 1:
        _set_num_threads(1)
    if _are_deterministic():
        _set_deterministic(False)
    if _autocasting("cpu"):
        _set_autocast("cpu", False)
    if _anomaly():
        _set_anomaly(False)


def _seed_others(seed: int) -> None:
    _seed_random(seed)
    _random.gauss_next = None
    _seed_numpy(seed & 0xFFFFFFFF)


def keep(mode: Any) -> None:
    """From now on a mode of torch's is in force for all that a submission does."""
    global _kept
    _kept = mode
    drop_modes()


def nothing_imported() -> None:
    """A submission begins: Python's and numpy's generators are seeded, and out of its reach."""
    global _seeds_everything
    _seeds_everything = False


def imported(library: str) -> None:
    """The submission imports a library, here or within a call: from now on it may draw numbers.

    Those of the request that is being carried out are drawn from its seed already.
    """
    global _seeds_everything
    if not _seeds_everything and library not in _WITHOUT_GENERATORS:
        _seeds_everything = True
        _seed_others(_seed)


def drop_modes() -> None:
    """Take away every torch mode that is still in force; a default device is one, too.

    The mode that is kept for a whole submission, if there is one, is put back below all others.
    """
    if _kept is not None and _functions() == 1 and _function_at(0) is _kept:
        pass
    elif _functions() or _kept is not None:
        _set_default_device(None)
        while _functions():
            _pop_function()
        if _kept is not None:
            _push_function(_kept)
    while _dispatches():
        _pop_dispatch()


def bound_threads(most: int) -> None:
    """Limit the threads that Python starts from now on.

    A thread too many raises Python's own `RuntimeError`. Threads started below Python are bounded
    by the system, if it has a limit for a single guest.

    Args:
        most: How many threads may run at a time besides the first.
    """
    lock, running = _thread.allocate_lock(), [0]

    def bounded(begin: Callable[..., Any]) -> Callable[..., Any]:
        def start(function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
            def counted(*its_args: Any, **its_keywords: Any) -> None:
                try:
                    function(*its_args, **its_keywords)
                finally:
                    with lock:
                        running[0] -= 1

            with lock:
                if running[0] >= most:
                    raise RuntimeError("can't start new thread")
                running[0] += 1
            try:
                return begin(counted, *args, **keywords)
            except BaseException:
                with lock:
                    running[0] -= 1
                raise

        return start

    for module, names in _THREAD_DOORS:
        for name in names:
            begin = getattr(module, name, None)
            if begin is not None:
                setattr(module, name, bounded(begin))


class Output(io.TextIOBase):
    """What a student prints, up to a number of characters for each operation; the rest is dropped.

    The judge keeps no more than that of all operations together, in the order of the checks, even
    if requests were sent ahead.
    """

    def __init__(self, most: int) -> None:
        self._most = self._left = most
        self._parts: list[str] = []
        self.count = 0

    def writable(self) -> bool:
        """Always true; see `io.IOBase`."""
        return True

    def write(self, text: str, /) -> int:
        """Keep what fits; see `io.TextIOBase`.

        Raises:
            TypeError: Not a string.
        """
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self.count += 1
        if self._left > 0:
            part = str.__str__(text)[: self._left]
            self._left -= len(part)
            self._parts.append(part)
        return len(text)

    def take(self) -> str:
        """What was printed since this was last asked."""
        if not self._parts:
            return ""
        self._left = self._most
        text = "".join(self._parts)
        self._parts.clear()
        return text


def quiet(most: int) -> Output:
    """What is printed goes to memory, warnings nowhere; standard input is at its end."""
    output, errors = Output(most), Output(0)
    nothing = io.StringIO("")
    for name, stream in (("stdout", output), ("stderr", errors), ("stdin", nothing)):
        setattr(_sys, name, stream)
        setattr(_sys, f"__{name}__", stream)
    return output
