"""How far every mistake of the catalogue is from the reference, in tolerances.

On each input of the hidden checks a mistake is either the same program as the reference, to a small
part of the tolerance, or at least `ROOM` tolerances away. Nothing lies between, where one machine
would see it and another would not. And every mistake that outputs can show must show on some input.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from autograder.assignment.assignment import Assignment
from autograder.calibration.cases import Measure, Part
from autograder.checks.check_spec import equivalents_of
from autograder.checks.examination import Checks
from autograder.checks.session import CheckSession, names_asked, other_names
from autograder.diagnosis.catalogue import Catalogue, stage_catalogue
from autograder.diagnosis.chain import Chain, Given, Step, StepRaises, run
from autograder.diagnosis.compare import difference, tolerance
from autograder.sandbox.host.room import Sandbox
from autograder.submissions.submission import read_submission

#: How many tolerances a mistake must be away from everything that it is not.
ROOM = 10

#: Below that many tolerances two outputs are the same numbers, computed in another order.
THE_SAME = 0.1

FAR_ENOUGH = Measure(f"{ROOM} tolerances away")

Inputs = Mapping[str, Given]
Outputs = Mapping[str, Tensor | None]  # by input; None: code written so raises


def inputs_seen(assignment: Assignment, secret: bytes) -> Mapping[str, Inputs]:
    """The inputs on which outputs are compared with the reference, by name and case.

    They are what the hidden checks record of the solutions, so that nothing is said twice.
    """
    seen: dict[str, dict[str, Given]] = {name: {} for name in assignment.names}
    names, parameters = names_asked(assignment), other_names(assignment)
    with Sandbox(assignment.limits, names, "process", parameters=parameters) as sandbox:
        submission = read_submission(assignment.solutions, assignment.limits)
        session = CheckSession.of(assignment, sandbox, submission, equivalents_of(assignment))
        try:
            recorded = Checks(assignment, secret).run(session).recorded
        finally:
            session.close()
    for entry in recorded:
        if entry.check.kind == "values" and not entry.check.criteria:
            case = entry.check_id.partition("[")[2].removesuffix("]")
            label = case.removesuffix(f"-{entry.check.name}") or entry.check_id
            seen[entry.check.name][label] = entry.observation.given
    return seen


def output(chain: Chain, given: Given, replaced: Mapping[str, Step] | None = None) -> Tensor | None:
    """What a program returns.

    Args:
        chain: The steps of the name.
        given: The input.
        replaced: The steps to replace, by name.

    Returns:
        The output; None if code written in this way raises.
    """
    try:
        with torch.no_grad():
            found = run(chain, given, replaced)
    except (StepRaises, RuntimeError, IndexError):
        return None
    return found.float() if found.dtype == torch.bool else found  # as it is observed


def reference(catalogue: Catalogue, name: str, inputs: Inputs) -> Outputs:
    """What a right program returns, by input."""
    return {label: output(catalogue.chains[name], given) for label, given in inputs.items()}


def mistaken(catalogue: Catalogue, name: str, inputs: Inputs) -> Mapping[tuple[str, int], Outputs]:
    """What each mistake gives, by id and number of its coding."""
    chain = catalogue.chains[name]
    return {
        (entry.id, coding): {
            label: output(chain, given, {entry.step: step}) for label, given in inputs.items()
        }
        for entry in catalogue.of(name)
        for coding, step in enumerate(entry.steps)
    }


def tolerances(found: Tensor | None, other: Tensor | None) -> float:
    """How many tolerances two outputs are apart; infinite if only one of them raised."""
    if found is None or other is None:
        return 0.0 if found is other else math.inf
    return difference(found, other) / tolerance(found)


@dataclass(frozen=True, slots=True)
class Margin:
    """How far one coding of a mistake is from the reference, by input, in tolerances."""

    stage: str
    name: str
    id: str
    coding: int
    by_input: Mapping[str, float]

    @property
    def label(self) -> str:
        """Which mistake in which name."""
        return f"{self.stage}: {self.id} in {self.name}"

    @property
    def shown(self) -> dict[str, float]:
        """The inputs on which it is another program."""
        return {label: apart for label, apart in self.by_input.items() if apart >= THE_SAME}

    @property
    def smallest(self) -> float:
        """The smallest distance where it is another program; infinite where it never is."""
        return min(self.shown.values(), default=math.inf)


def all_margins(assignment: Assignment, secret: bytes) -> Iterator[Margin]:
    """Every coding of every mistake in every name in which it can be made."""
    seen = inputs_seen(assignment, secret)
    for stage in assignment.stages:
        catalogue = stage_catalogue(assignment, stage)
        for name in catalogue.chains:
            inputs = seen[name]
            right = reference(catalogue, name, inputs)
            for (identifier, coding), outputs in mistaken(catalogue, name, inputs).items():
                yield Margin(
                    stage.id,
                    name,
                    identifier,
                    coding,
                    {label: tolerances(outputs[label], right[label]) for label in inputs},
                )


def margins_part(assignment: Assignment, secret: bytes, extent: int) -> Part:
    """The part of the proof that looks at the catalogue's distances."""
    part = Part("margins", (FAR_ENOUGH,), extent=extent)
    margins = list(all_margins(assignment, secret))
    shown = {(margin.stage, margin.id) for margin in margins if margin.shown}
    for margin in margins:
        short = {label: apart for label, apart in margin.shown.items() if apart < ROOM}
        told = ", ".join(f"{apart:.2g} on {label}" for label, apart in short.items())
        if (margin.stage, margin.id) not in shown:
            told = "the same as the reference on every input"
        part.add(margin.label, {FAR_ENOUGH.title: told} if told else {})
    nearest = min(margins, key=lambda margin: margin.smallest, default=None)
    if nearest is not None:
        told = f"{nearest.smallest:.3g} tolerances ({nearest.label})"
        part.remarks.append(f"smallest margin: {told}")
    return part
