"""Part `frames`: hostile frames to the judge's end of the line, whatever the judge asked for.

Each must end in a value made of nothing but plain parts, or in a fault of the student's. Anything
else that is raised is a failure, and so is memory taken before a length was checked.
"""

from __future__ import annotations

import re
import resource
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

from autograder.sandbox.host.loaded import Found, LoadReport
from autograder.sandbox.host.student import ModuleProxy, Opaque, Parameter, Reply, StudentFault
from tests.soak.hostile import RIGHT, Maker
from tests.soak.puppet import PuppetSandbox, play, reply, scenes

Tell = Callable[[str], None]

#: Codes that a terminal or a reader obeys; line ends apart.
CODES = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_MOST_WORDS = 10_000
_MOST_GROWTH = 256 << 10  # kilobytes: the largest frame that is allowed, a few times over
_PARTS = 10


def unsound(value: object, depth: int = 0) -> str | None:
    """What is wrong with a value that the judge took from a guest; None where it is plain."""
    if value is None or isinstance(value, bool | int | float | torch.dtype):
        return None
    if isinstance(value, str):
        return "control codes came through" if CODES.search(value) else None
    if isinstance(value, torch.Tensor):
        plain = type(value) is torch.Tensor and not value.requires_grad and value.is_contiguous()
        return None if plain and value.device.type == "cpu" else "a tensor that is none of ours"
    if depth > 40:
        return "it is nested without end"
    parts: list[object]
    if isinstance(value, list | tuple):
        parts = list(value)
    elif isinstance(value, dict):
        parts = [*value, *value.values()]
    elif isinstance(value, Opaque):
        parts = [value.type_name, value.why, value.dtype, value.device, dict(value.parts)]
    elif isinstance(value, Reply):
        parts = [value.value, value.arguments, value.gradients, value.operators]
    elif isinstance(value, ModuleProxy):
        parts = [value.class_name, dict(value.parameters), dict(value.buffers)]
        parts += [list(value.notes), list(value.dropped)]
    elif isinstance(value, Parameter):
        parts = [value.path, value.shape, value.dtype, value.device]
    elif isinstance(value, LoadReport):
        parts = [dict(value.found), dict(value.missing), value.notes]
    elif isinstance(value, Found):
        parts = [value.path, value.line, value.cell, value.spelled]
    else:
        return f"a {type(value).__name__}"
    return next((told for part in parts if (told := unsound(part, depth + 1))), None)


def unsound_fault(fault: StudentFault) -> str | None:
    """What is wrong with what a student would read."""
    if len(fault.message) > _MOST_WORDS:
        return f"a message of {len(fault.message)} letters"
    return unsound(fault.message)


def _most_memory() -> int:
    """Kilobytes that this process had at most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def soak(seed: int, first: int, count: int, tell: Tell) -> int:
    """So many frames; the number of failures."""
    everything = tuple(scenes())
    grown = 0
    outcomes: Counter[str] = Counter()
    failures = 0
    with PuppetSandbox() as sandbox:
        for number in range(first, first + count):
            maker = Maker(seed, number)
            scene = maker.random.choice(everything)
            right = reply(len(scene.before) + 1, scene.outcome, scene.tensors)
            frame = maker.frame(*right)
            wrong: str | None
            before = _most_memory()  # whatever it takes to make such frames is not the judge's
            try:
                value: Any = play(sandbox, scene, frame)
            except StudentFault as fault:
                outcome, wrong = f"ended in {type(fault).__name__}", unsound_fault(fault)
                if frame.kind == RIGHT and not frame.hangs_up and scene.name != "call that raises":
                    wrong = f"a right frame was refused: {fault}"
            except Exception as error:
                outcome, wrong = "failed", f"{type(error).__name__}: {error}"
            else:
                outcome, wrong = "were read", unsound(value)
            grown += _most_memory() - before
            outcomes[outcome] += 1
            if wrong is not None:
                failures += 1
                tell(f"FAILED frame {number}, {scene.name}, {frame.kind}: {wrong}")
                tell(f"  again: --only frames --seed {seed} --first {number} --frames 1")
                tell(f"  {frame.data[:300].hex()}")
            done = number - first + 1
            if done % max(1, count // _PARTS) == 0 or done == count:
                told = ", ".join(f"{many} {what}" for what, many in outcomes.most_common())
                tell(f"frames: {done} of {count}; {told}; {failures} failures")
    if grown > _MOST_GROWTH:
        failures += 1
        tell(f"FAILED: the judge grew by {grown >> 10} MB")
    return failures
