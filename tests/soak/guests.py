"""Part `guests`: real guests behind a real wall that send hostile frames, and some that get them.

What a guest sends may cost its submission whatever it likes, and nobody else anything: the judge
goes on, the zygote lives, and the honest work in between is answered as before.
"""

from __future__ import annotations

import os
import select
from collections import Counter
from collections.abc import Callable

import msgspec
import torch

from autograder.assignment.assignment import Limits
from autograder.sandbox.host.room import NameSpec, Sandbox
from autograder.sandbox.host.student import StudentFault
from autograder.sandbox.protocol import messages, wire
from autograder.submissions.submission import SourceFile
from tests.soak.frames import unsound, unsound_fault
from tests.soak.hostile import Frame, Maker
from tests.soak.puppet import reply, scenes

Tell = Callable[[str], None]

NAMES = (NameSpec("softmax", "simplified", "function", ("frame", "then")),)
LIMITS = Limits(load_seconds=2.0, call_seconds=0.3, check_seconds=2.0, memory_mb=256)
HONEST = b"import torch\ndef softmax(frame, then):\n    return frame * 2\n"
# It finds the line to the judge, writes a frame on it, and goes on as it was told to.
TAKEN_OVER = b"""
import os, time

def line():
    for number in range(3, 200):
        try:
            os.fstat(number)
            return number
        except OSError:
            pass

def softmax(frame, then):
    os.write(line(), bytes(frame.tolist()))
    if then == "leaves":
        os._exit(0)
    if then == "hangs up":
        os.close(line())
    while then == "waits":
        time.sleep(1)
    return frame
"""
AFTERWARDS = ("goes on",) * 8 + ("leaves", "leaves", "leaves", "hangs up", "waits")
_LONGEST = 1 << 18  # bytes of a frame, which a guest gets as a tensor
_EVERY = 25  # guests, an honest one
_PARTS = 10


def soak(seed: int, first: int, count: int, isolation: str | None, tell: Tell) -> int:
    """So many guests, half of each kind; the number of failures."""
    outcomes: Counter[str] = Counter()
    failures = 0
    with Sandbox(LIMITS, NAMES, isolation) as sandbox:
        tell(f"guests: behind {sandbox.level}")
        if not sandbox.walled:
            tell("FAILED: no level with a wall stands here; see autograder doctor")
            return 1
        open_before = _descriptors()
        for number in range(first, first + count):
            maker = Maker(seed, number)
            turn = _talks if number % 2 else _listens
            wrong: str | None
            try:
                outcome, wrong = turn(sandbox, maker)
                if wrong is None and number % _EVERY == 0:
                    wrong = _honest(sandbox)
            except Exception as error:
                outcome, wrong = "failed", f"{type(error).__name__}: {error}"
            outcomes[outcome] += 1
            if wrong is not None:
                failures += 1
                tell(f"FAILED guest {number}: {wrong}")
                tell(f"  again: --only guests --seed {seed} --first {number} --guests 1")
            done = number - first + 1
            if done % max(1, count // _PARTS) == 0 or done == count:
                told = ", ".join(f"{many} {what}" for what, many in outcomes.most_common())
                tell(f"guests: {done} of {count}; {told}; {failures} failures")
        left = _descriptors() - open_before
        if left > 0:
            failures += 1
            tell(f"FAILED: {left} descriptors of lost guests are still open")
    return failures


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


def _talks(sandbox: Sandbox, maker: Maker) -> tuple[str, str | None]:
    """A guest says something hostile in the midst of a call."""
    scene = maker.random.choice([each for each in scenes() if each.name.startswith("call")])
    frame = maker.frame(*reply(2, scene.outcome, scene.tensors))
    data = torch.tensor(list(frame.data[:_LONGEST]), dtype=torch.uint8)
    then = maker.random.choice(AFTERWARDS)
    session = sandbox.open([SourceFile("work.py", "module", TAKEN_OVER, ())])
    try:
        value = session.student("check").softmax.ask(data, then)
        return "were believed", unsound(value)
    except StudentFault as fault:
        return f"ended in {type(fault).__name__}", unsound_fault(fault)
    finally:
        session.close()


def _listens(sandbox: Sandbox, maker: Maker) -> tuple[str, str | None]:
    """A guest is told something hostile: it may end, and takes nobody along."""
    load = messages.Load((wire.SourceFile("work.py", "module", HONEST),), NAMES)
    call = messages.Call("softmax", (wire.TensorValue(0), 1), arguments_wanted=True)
    operations = (load, call, messages.Release((1, 2)))
    heads = (wire.TensorHead("float32", (2, 3)),)
    part = messages.Asked(operations, (1, 2, 3), len(heads))
    request = messages.Request(1, (part,), heads)
    frame = maker.frame(msgspec.msgpack.encode(request), bytes(24))
    guest = sandbox.guest()
    try:
        _say(guest._socket.fileno(), frame)
        heard = select.select([guest._socket], [], [], 0.5 if frame.data else 0.0)[0]
    finally:
        ended = guest.kill()
    if not sandbox.alive():
        return "failed", "the zygote ended"
    if ended is None:
        return "failed", "the zygote could not tell how a guest ended"
    return "were told and answered or ended" if heard else "were told and waited for more", None


def _say(descriptor: int, frame: Frame) -> None:
    view = memoryview(frame.data)
    while view:
        ready = select.select([], [descriptor], [], 0.2)[1]
        if not ready:  # it has stopped reading
            return
        try:
            view = view[os.write(descriptor, view[: 1 << 16]) :]
        except OSError:
            return


def _honest(sandbox: Sandbox) -> str | None:
    session = sandbox.open([SourceFile("work.py", "module", HONEST, ())])
    try:
        value = session.student("check").softmax(torch.ones(3), 0)
        return None if value.tolist() == [2.0, 2.0, 2.0] else f"honest work gave {value}"
    finally:
        session.close()
