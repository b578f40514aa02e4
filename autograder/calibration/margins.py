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
from autograder.attention.checks import causal, causal_modules, simplified, trainable
from autograder.attention.checks import heads as stacking
from autograder.calibration.cases import Measure, Part
from autograder.checks.failures import told_shape
from autograder.checks.sample import Sample, Sizes
from autograder.diagnosis.catalogue import Catalogue, load_catalogue
from autograder.diagnosis.chain import Chain, Given, Step, StepRaises, run
from autograder.diagnosis.compare import difference, tolerance

#: How many tolerances a mistake must be away from everything that it is not.
ROOM = 10

#: Below that many tolerances two outputs are the same numbers, computed in another order.
THE_SAME = 0.1

FAR_ENOUGH = Measure(f"{ROOM} tolerances away")

Inputs = Mapping[str, Given]
Outputs = Mapping[str, Tensor | None]  # by input; None: code written so raises


def drawn(sample: Sample, sizes: Mapping[str, Sizes]) -> Inputs:
    """What a values check of a module calls it with."""
    return {
        label: Given(
            tokens=sample.tokens("strong", each),
            weights=sample.weights("strong", each),
            heads=max(each.heads, 1),
            context_length=each.context_length,
        )
        for label, each in sizes.items()
    }


def stacked(sample: Sample, sizes: Sizes) -> Given:
    """What the values check of the wrapper compares with: heads that are right."""
    tokens = sample.tokens("strong", sizes)
    head = load_catalogue("autograder.attention.misconceptions.causal").chains["CausalAttention"]
    held = (stacking.head_weights(sample, sizes, place) for place in range(sizes.heads))
    return Given(
        tokens=tokens, parts=tuple(run(head, Given(tokens=tokens, weights=each)) for each in held)
    )


def inputs_of(name: str, sample: Sample) -> Inputs:
    """The inputs of a name's values checks, as the hidden checks make them."""
    tokens = {each.label: each.drawn(sample) for each in simplified.STRONG}
    if name in ("attention_scores", "context_vector"):
        return {label: simplified.score_question(each, row=1) for label, each in tokens.items()}
    if name in ("attention_weights", "context_vectors"):
        return {label: Given(tokens=each) for label, each in tokens.items()}
    if name == "softmax":
        return {
            told_shape(shape): Given(scores=sample.numbers("scores", *shape, reach=4.0))
            for shape in simplified.SHAPES
        }
    if name in trainable.BOTH:
        sizes = {"usual": trainable.USUAL, "other": trainable.OTHER, "square": trainable.SQUARE}
        return drawn(sample, sizes)
    if name == "causal_mask":
        return {str(count): Given(count=count) for count in (5, 8)}
    if name in causal.BY_WEIGHTS:
        return {str(count): Given(scores=causal.scores_of(sample, count)) for count in (5, 8)}
    if name in causal_modules.BOTH:
        strong = causal_modules.STRONG
        return drawn(sample, {label: causal_modules.SIZES[name][label] for label in strong})
    assert name == "MultiHeadAttentionWrapper"
    return {
        "usual": stacked(sample, stacking.USUAL),
        "other": stacked(sample, stacking.OTHER),
    }


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
    sample = Sample(secret)
    for stage in assignment.stages:
        catalogue = load_catalogue(stage.misconceptions)
        for name in catalogue.chains:
            inputs = inputs_of(name, sample)
            right = reference(catalogue, name, inputs)
            for (identifier, coding), outputs in mistaken(catalogue, name, inputs).items():
                yield Margin(
                    stage.id,
                    name,
                    identifier,
                    coding,
                    {label: tolerances(outputs[label], right[label]) for label in inputs},
                )


def margins_part(assignment: Assignment, secret: bytes) -> Part:
    """The part of the proof that looks at the catalogue's distances."""
    part = Part("margins", (FAR_ENOUGH,), extent=100)
    margins = list(all_margins(assignment, secret))
    shown = {(margin.stage, margin.id) for margin in margins if margin.shown}
    for margin in margins:
        short = {label: apart for label, apart in margin.shown.items() if apart < ROOM}
        told = ", ".join(f"{apart:.2g} on {label}" for label, apart in short.items())
        if (margin.stage, margin.id) not in shown:
            told = "the same as the reference on every input"
        part.add(margin.label, {FAR_ENOUGH.title: told} if told else {})
    nearest = min(margins, key=lambda margin: margin.smallest)
    part.remarks.append(f"smallest margin: {nearest.smallest:.3g} tolerances ({nearest.label})")
    return part
