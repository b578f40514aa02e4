"""Devices that a student's machine has and this one has not: the CPU answers in their place.

`.to("cuda")`, `device="mps"` and their kin are no mistake in attention. A mode of torch's turns
them to the CPU, only for submissions that name a device at all: everybody else's calls stay as
they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from .loading.nodes import SourceFile
from .loading.sources import decode, is_ignored

_Device = torch.device
_CPU = torch.device("cpu")
_KINDS = ("cuda", "mps", "xpu", "hip", "npu", "hpu", "xla", "privateuseone")
_MOVES = ("cuda", "mps", "xpu", "npu", "hpu", "pin_memory")  # methods that move a tensor there
_MENTIONED = re.compile(r"\b(?:cuda|mps|xpu|npu|hpu)\b|\.pin_memory\b|\bpin_memory\s*=")
_ASKED = re.compile(
    r"[\"'](?P<name>cuda|mps|xpu|npu|hpu)(?::\d+)?[\"']|\.(?P<method>cuda|xpu|npu|hpu)\(\s*\d*\s*\)"
)


class OnTheCPU(torch.overrides.TorchFunctionMode):
    """Every call of torch's with another device in it is made with the CPU."""

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        name = getattr(func, "__name__", "")
        if name in _MOVES and args:
            return args[0]
        keywords = dict(kwargs) if kwargs else {}
        if "device" in keywords:
            keywords["device"] = _here(keywords["device"])
        if keywords.get("pin_memory") is True:
            keywords["pin_memory"] = False
        if name == "to" and len(args) > 1:
            args = (args[0], _here(args[1]), *args[2:])
        elif name == "type" and len(args) > 1 and type(args[1]) is str:
            args = (args[0], args[1].replace("torch.cuda.", "torch."), *args[2:])
        return func(*args, **keywords)


def mentioned(files: Iterable[SourceFile]) -> bool:
    """Whether a submission has a word of another device anywhere."""
    return any(_MENTIONED.search(text) for _, text in _texts(files))


def notes_on(files: Iterable[SourceFile]) -> list[str]:
    """What is told of devices that are asked for whether or not they are there."""
    told = []
    for path, text in _texts(files):
        if "is_available" in text:  # who asks first gets the CPU by the student's own choice
            continue
        lines = (line for line in text.split("\n") if not line.lstrip().startswith("#"))
        found = {
            each["name"] or each["method"]: None for line in lines for each in _ASKED.finditer(line)
        }
        if found:
            told.append(
                f"{path} asks for the device {' and '.join(found)}: there is only the CPU here,"
                " which was taken instead; it costs nothing"
            )
    return told


def stand_in() -> None:
    """Put in place what no mode sees: functions that need the device itself."""
    real = torch.Generator
    vars(torch).update(Generator=lambda device="cpu": real(_here(device)))
    for part in (torch.cuda, torch.mps, getattr(torch, "xpu", None)):
        for name in ("synchronize", "set_device", "empty_cache"):
            if part is not None and hasattr(part, name):
                setattr(part, name, _nothing)


def _here(device: Any) -> Any:
    """A device that is there for one that is not; everything else as it is."""
    kind = type(device)
    if kind is int:
        return _CPU
    if kind is _Device:
        return _CPU if device.type in _KINDS else device
    if kind is str:
        return _CPU if device.partition(":")[0] in _KINDS else device
    return device


def _nothing(*arguments: Any, **keywords: Any) -> None:
    return None


def _texts(files: Iterable[SourceFile]) -> Iterable[tuple[str, str]]:
    for file in files:
        if file.kind == "module" and not is_ignored(file.path):
            yield file.path, decode(file.data)[0]
        elif file.kind == "notebook":
            yield file.path, "\n".join(file.cells)
