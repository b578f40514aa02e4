"""`selfcheck/mistakes.json`: what known mistakes give on public inputs, as numbers.

The catalogue's steps are run here, and only their outputs are released: a sample of the numbers for
each mistake, and the catalogue's text about it. So the self-check can name a mistake although it
holds neither a solution nor an input of the hidden checks.

It is all computed in float64, of which `_steady` keeps what every processor agrees on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import torch
from torch import Tensor

from autograder.assignment.assignment import Assignment, Stage
from autograder.assignment.subject import hook
from autograder.checks.check_spec import hidden_checks
from autograder.checks.declaration import Probe
from autograder.checks.sample import Sample
from autograder.diagnosis.catalogue import Catalogue, Misconception, stage_catalogue
from autograder.diagnosis.chain import Chain, Given, Step, StepRaises, run
from autograder.diagnosis.compare import difference
from autograder.release.course import section_of

PUBLIC = b"public inputs of the self-check"
DIGITS = 5
STEADY = 9  # significant digits in which sums in float64 agree, in whatever order they were added
MOST_NUMBERS = 32  # of one output; enough to tell all mistakes apart
APART = 3e-3  # of the output's scale: what is closer than this counts as the same


def mistakes_json(assignment: Assignment) -> str:
    """The mistakes of all stages as JSON, one line for each."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # small tensors: waking more threads takes longer than the work
    try:
        return _mistakes(assignment)
    finally:
        torch.set_num_threads(threads)


@cache
def _mistakes(assignment: Assignment) -> str:
    sample = (hook(assignment, "sample_of") or Sample)(PUBLIC)
    declared = hidden_checks(assignment).declared
    names: list[str] = []
    words: list[str] = []
    for stage in assignment.stages:
        catalogue = stage_catalogue(assignment, stage)
        words.append(f"  {_line(stage.id)}: {_words(stage, catalogue)}")
        for name, chain in catalogue.chains.items():
            probes = declared[name].probes(sample)
            if probes:
                names.append(f"  {_line(name)}: {_table(name, chain, catalogue, probes)}")
    return (
        '{\n "names": {\n'
        + ",\n".join(names)
        + '\n },\n "mistakes": {\n'
        + ",\n".join(words)
        + "\n }\n}\n"
    )


# What comes out -----------------------------------------------------------------------------


Outputs = tuple[Tensor | None, ...]


def _table(name: str, chain: Chain, catalogue: Catalogue, probes: Sequence[Probe]) -> str:
    kept: list[tuple[Outputs, dict[str, object], list[str]]] = []
    for identifier, raises, outputs in _entries(name, chain, catalogue, probes):
        visible = any(each is not None for each in outputs)
        same = [ids for other, _, ids in kept if visible and _alike(outputs, other)]
        if not same:
            ids = [identifier]
            samples = [_sample(each) for each in outputs]
            kept.append((outputs, {"ids": ids, "raises": raises, "samples": samples}, ids))
        elif identifier not in same[0] and "right" not in same[0]:
            same[0].append(identifier)
    told = ",\n".join(f"    {_line(probe.told)}" for probe in probes)
    entries = ",\n".join(f"    {_line(entry)}" for _, entry, _ in kept)
    return f'{{"probes": [\n{told}\n   ], "entries": [\n{entries}\n   ]}}'


def _entries(
    name: str, chain: Chain, catalogue: Catalogue, probes: Sequence[Probe]
) -> Iterator[tuple[str, tuple[str, ...], Outputs]]:
    """Null programs, the right numbers, then the mistakes in the catalogue's order.

    A mistake that shows other numbers where another step is done right in another way comes again
    in the end.
    """
    for null in catalogue.nulls:
        output = null.outputs.get(name)
        if output is not None:
            yield null.id, (), tuple(output(probe.given).double() for probe in probes)
    yield "right", (), _outputs(chain, probes, {})
    others: list[Mapping[str, Step]] = [{}]
    for step_name, ways in chain.realizations.items():
        others += [{step_name: ways[0]}, {step_name: ways[-1]}]
    for other in others:
        for entry in catalogue.of(name):
            for step in entry.steps:
                if entry.step not in other:
                    outputs = _outputs(chain, probes, {**other, entry.step: step})
                    yield entry.id, entry.raises, outputs
            if not other and not entry.steps and entry.raises:
                yield entry.id, entry.raises, tuple(None for _ in probes)


def _outputs(chain: Chain, probes: Sequence[Probe], replaced: Mapping[str, Step]) -> Outputs:
    return tuple(_output(chain, probe.given, replaced) for probe in probes)


def _output(chain: Chain, given: Given, replaced: Mapping[str, Step]) -> Tensor | None:
    try:
        with torch.no_grad():
            return run(chain, given, replaced).double()
    except (StepRaises, RuntimeError, IndexError):
        return None


def _alike(one: Outputs, other: Outputs) -> bool:
    return all(
        (a is None and b is None) or (a is not None and b is not None and difference(a, b) < APART)
        for a, b in zip(one, other, strict=True)
    )


def _sample(output: Tensor | None) -> dict[str, object] | None:
    if output is None:
        return None
    step = -(-output.numel() // MOST_NUMBERS)
    if step % output.shape[-1] == 0:  # else only one column would be seen
        step += 1
    numbers = [
        _steady(number) if math.isfinite(number) else str(number)
        for number in output.flatten()[::step].tolist()
    ]
    return {"shape": list(output.shape), "step": step, "numbers": numbers}


def _steady(number: float) -> float:
    """A number in so few digits that no processor's way of adding up shows.

    It is rounded twice: what lies halfway between two short numbers, as the mean of two inputs
    does, is first brought to exactly there. Zero has no sign.
    """
    return round(float(f"{number:.{STEADY}g}"), DIGITS) + 0.0


# Words --------------------------------------------------------------------------------------


def _words(stage: Stage, catalogue: Catalogue) -> str:
    lines = [
        f"   {_line(entry.id)}: {_line(_told_of(stage, entry))}"
        for entry in catalogue.misconceptions
    ]
    seen: set[str] = {entry.id for entry in catalogue.misconceptions}
    for null in catalogue.nulls:
        if null.id not in seen:
            seen.add(null.id)
            section = section_of(stage, next(iter(null.outputs)))
            told = {"title": "nothing computed yet", "message": null.message, "section": section}
            lines.append(f"   {_line(null.id)}: {_line(told)}")
    return "{\n" + ",\n".join(lines) + "\n  }"


def _told_of(stage: Stage, entry: Misconception) -> dict[str, str]:
    sections = {criterion.id: criterion.section for criterion in stage.criteria}
    words = entry.text.outside or entry.text
    return {
        "title": words.title,
        "message": words.message,
        "section": sections.get(entry.criterion, ""),
    }


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
