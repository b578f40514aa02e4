"""Recognises known mistakes by the numbers that they give on public inputs.

`mistakes.json` holds inputs, and for every known mistake a sample of the numbers that come out
with it. No code of a solution is in it: it was run when the course was built.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from .course import HERE, Stage
from .symptoms import symptoms_of

CLOSE = 3e-4  # of the largest number; mistakes lie ten times as far apart

Told = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Seen:
    """What one call gave: a tensor, or an exception as "Type: text"."""

    value: Tensor | None
    exception: str = ""


@cache
def known() -> Told:
    """The contents of `mistakes.json`."""
    told: Told = json.loads((HERE / "mistakes.json").read_text(encoding="utf-8"))
    return told


#: In what words a check says that it needs weights drawn just as those of the example.
SEEDED = ("numbers of the worked example", "two heads of one column")
DRAWN_OTHERWISE = "drawn-otherwise"


def find_mistakes(
    stage: Stage, module: ModuleType, wrong: Mapping[str, Sequence[str]]
) -> Iterator[Told]:
    """The mistake that each name shows, as the contents of an event.

    `wrong` has the names, each with the checks that failed.
    """
    names = set(wrong)
    right = {name.name for name in stage.names} - names
    for name in stage.names:
        if name.name in names and hasattr(module, name.name):
            identifier = mistake_in(stage, module, name.name, right)
            seeded = all(any(each in check for each in SEEDED) for check in wrong[name.name])
            if identifier is None and seeded:
                yield drawn_otherwise(stage, name.name, name.section)
            elif identifier is not None:
                entry = known()["mistakes"][stage.id][identifier]
                yield {"stage": stage.id, "name": name.name, "id": identifier, **entry}


def drawn_otherwise(stage: Stage, name: str, section: str) -> Told:
    """What is told of code whose numbers alone are not the example's."""
    draws = "torch.rand" if name == "SelfAttention_v1" else "linear layers made"
    last = ", output" if name == "MultiHeadAttention" else ""
    message = (
        f"the example's numbers need {draws} in the order query, key, value{last}, and nothing"
        " else drawn before them. Every other check of this name passes. The hidden checks set"
        " your weights by name, so another way of drawing them costs nothing."
    )
    return {
        "stage": stage.id, "name": name, "id": DRAWN_OTHERWISE, "title": "probably right",
        "message": message, "section": section,
    }  # fmt: skip


def mistake_in(
    stage: Stage, module: ModuleType, name: str, right: Collection[str] = ()
) -> str | None:
    """The id of the mistake that explains what a name does; None where none is known to.

    `right` are names of the stage whose checks pass. Of mistakes that give the same numbers, one
    that such a name would show is less likely than one that it could not.
    """
    table = known()["names"].get(name, {"probes": (), "entries": ()})
    seen = [call(module, name, probe) for probe in table["probes"]]
    unlikely = {each for other in right for each in _shown_by(other)}
    found = sorted(explain(table, seen), key=lambda identifier: identifier in unlikely)
    if found and found[0] != "right":
        return found[0]
    identifiers = known()["mistakes"][stage.id]
    shown = [each for each in symptoms_of(module, name) if each in identifiers]
    raised = explain_exceptions(table, [each.exception for each in seen if each.exception])
    return next(iter([*shown, *raised]), None)


def _shown_by(name: str) -> set[str]:
    table = known()["names"].get(name, {"entries": ()})
    return {each for entry in table["entries"] for each in entry["ids"]} - {"right"}


def explain(table: Told, seen: list[Seen]) -> list[str]:
    """The ids of the first entry of a name's table that gives all that was seen."""
    anything = any(each.value is not None for each in seen)
    for entry in table["entries"]:
        # Where numbers agree as well, it is enough that the rest raises as the mistake does.
        patterns = entry["raises"] or (["."] if anything else [])
        if all(
            _same(each.value, sample)
            if each.value is not None
            else sample is None and any(re.search(pat, each.exception) for pat in patterns)
            for each, sample in zip(seen, entry["samples"], strict=True)
        ):
            return [str(identifier) for identifier in entry["ids"]]
    return []


def explain_exceptions(table: Told, exceptions: list[str]) -> list[str]:
    """The ids of the first mistake that is known to raise so, where most of the calls raise."""
    if 2 * len(exceptions) > len(table["probes"]):
        for entry in table["entries"]:
            if all(sample is None for sample in entry["samples"]) and all(
                any(re.search(pattern, each) for pattern in entry["raises"]) for each in exceptions
            ):
                return [str(identifier) for identifier in entry["ids"]]
    return []


def _same(value: Tensor, sample: Told | None) -> bool:
    if sample is None or list(value.shape) != sample["shape"]:
        return False
    wanted = torch.tensor([float(number) for number in sample["numbers"]])
    found = value.detach().float().flatten()[:: sample["step"]]
    finite = torch.isfinite(wanted)
    if not torch.equal(finite, torch.isfinite(found)):
        return False
    if not finite.any():
        return True
    scale = max(float(wanted[finite].abs().max()), 1e-6)
    return float((found - wanted)[finite].abs().max()) <= CLOSE * scale


@torch.no_grad()
def call(module: ModuleType, name: str, probe: Told) -> Seen:
    """Call a name as a probe says: a function with arguments, a class with sizes and weights."""
    try:
        target = getattr(module, name)
        arguments = [
            torch.tensor(each) if isinstance(each, list) else each for each in probe["arguments"]
        ]
        if "sizes" in probe:
            target = built(target, probe)
        value = target(*arguments)
    except Exception as raised:
        return Seen(None, f"{type(raised).__name__}: {raised}")
    if not isinstance(value, Tensor):
        return Seen(None, f"returned {type(value).__name__}")
    return Seen(value)


def built(kind: Callable[..., nn.Module], probe: Told) -> nn.Module:
    """A student's module of a probe's sizes and weights, in eval mode."""
    module = kind(**probe["sizes"])
    for path, numbers in probe["weights"].items():
        set_weight(module, path, torch.tensor(numbers))
    return module.eval()


@torch.no_grad()
def set_weight(module: nn.Module, path: str, weight: Tensor) -> None:
    """Give a parameter or a linear layer, such as `W_query`, its numbers: `(d_in, d_out)`.

    A path ending in `.bias` is a layer's bias. What is not there is left alone.
    """
    target: object = module
    for part in path.split("."):
        target = getattr(target, part, None)
    if isinstance(target, nn.Linear):
        for column, numbers in enumerate(weight):
            target.weight[:, column] = numbers
    elif isinstance(target, Tensor):
        target.copy_(weight)
