"""How one name of a submission stands: right, explained, unexplained, null, unseen or absent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch

from autograder.checks.evidence import Outcome, Recorded
from autograder.diagnosis.catalogue import Catalogue, Misconception, NullProgram
from autograder.diagnosis.chain import Chain
from autograder.diagnosis.explain import Explanation, Observation, explanations, null_program
from autograder.results.result import Status, worst

Kind = Literal["right", "explained", "unexplained", "null", "unseen", "absent", "borrowed"]


@dataclass(frozen=True, slots=True)
class NameStatus:
    """What is known of a name as a whole.

    borrowed: wrong only because it calls another of the student's functions that is wrong; with a
    library's in its place it is right, so that the mistake is charged where it is made.
    explained: `explanation` reproduces its outputs. unseen: it never gave an output to compare;
    `status` and `text` say why, and `mistake` is the catalogue's entry that raises so. partial: it
    gave right outputs for some sizes and raised for others, for a reason that nobody knows.
    """

    name: str
    kind: Kind
    explanation: Explanation = field(default_factory=Explanation)
    null: NullProgram | None = None
    status: Status = "passed"
    text: str = ""
    mistake: Misconception | None = None
    partial: bool = False

    @property
    def mistakes(self) -> tuple[Misconception, ...]:
        """The misconceptions that this name shows."""
        if self.mistake is not None:
            return (self.mistake,)
        return self.explanation.misconceptions


NOWHERE_FINITE = "no finite number came back"


def is_base(outcome: Outcome) -> bool:
    """Whether a check compares with the reference as such, not in a special setting."""
    return outcome.check.kind == "values" and not outcome.check.criteria


def name_status_of(
    name: str,
    catalogue: Catalogue,
    outcomes: Sequence[Outcome],
    recorded: Sequence[Recorded],
) -> NameStatus:
    """How a name stands, from the outcomes of its checks and the comparisons they made."""
    if any(outcome.status == "missing" for outcome in outcomes):
        absent = next(outcome for outcome in outcomes if outcome.status == "missing")
        return NameStatus(name, "absent", status="missing", text=absent.text)
    base = [outcome for outcome in outcomes if is_base(outcome)]
    if all(outcome.status == "passed" for outcome in base):
        seen = [entry.observation for entry in recorded if not entry.check.criteria]
        null = null_program(name, catalogue, seen) if seen else None
        return NameStatus(name, "right") if null is None else _null(name, null)
    observations = [entry.observation for entry in recorded if not entry.check.criteria]
    given = [entry for entry in observations if entry.value is not None]
    if not given:
        return _unseen(name, catalogue, base, observations)
    found, returned = explanations(name, catalogue, observations)
    partial = found is None and len(given) < len(observations)
    if partial:
        found = returned
    if found is None and fits_some_sizes_only(recorded):
        found, partial = Explanation(), True
    if found is not None and found.null is not None:
        return _null(name, found.null)
    independent = next(
        (
            outcome.check.told
            for outcome in outcomes
            if outcome.check.kind == "dependence"
            and outcome.status == "failed"
            and outcome.shape is None
        ),
        None,
    )
    # With several steps a mistake may leave so little of the scores that they hardly show.
    if independent is not None and (found is None or len(catalogue.chains[name].steps) == 1):
        return NameStatus(name, "null", status="failed", text=independent)
    if (
        found is not None
        and found.misconceptions
        and not any(
            bool(torch.isfinite(entry.value).any()) for entry in given if entry.value is not None
        )
    ):
        # Numbers that are none anywhere say what went wrong, but not that anything is right.
        return NameStatus(
            name,
            "unseen",
            found,
            status="failed",
            text=NOWHERE_FINITE,
            mistake=found.misconceptions[0],
        )
    if found is not None:
        text = next((entry.text for entry in base if entry.status == "error"), "")
        if partial and not text:
            text = next(
                f"{entry.found} came back where {entry.expected} was expected"
                for entry in base
                if entry.status != "passed"
            )
        return NameStatus(name, "explained", found, text=text, partial=partial)
    return NameStatus(name, "unexplained", status="failed")


def fits_some_sizes_only(recorded: Sequence[Recorded]) -> bool:
    """Whether outputs are right for some sizes, and for the others do not even have the shape."""
    base = [entry for entry in recorded if not entry.check.criteria]
    wrong = [entry for entry in base if not entry.right]
    return len(wrong) < len(base) and all(entry.shape != entry.expected_shape for entry in wrong)


def _null(name: str, null: NullProgram) -> NameStatus:
    return NameStatus(name, "null", null=null, status="failed", text=null.message)


def _unseen(
    name: str,
    catalogue: Catalogue,
    base: Sequence[Outcome],
    observations: Sequence[Observation],
) -> NameStatus:
    """Nothing came back: what was raised, or how the process ended."""
    failing = [outcome for outcome in base if outcome.status != "passed"]
    status = worst(tuple(outcome.status for outcome in failing))
    first = next(outcome for outcome in failing if outcome.status == status)
    text = first.text or f"expected {first.expected}; found {first.found}"
    exceptions = [outcome.exception for outcome in failing if outcome.exception]
    given = {seen.exception: seen.given for seen in observations if seen.exception}
    recognised = None
    if exceptions:
        recognised = next(
            (
                entry
                for entry in catalogue.of(name)
                if all(entry.recognises(each, given.get(each)) for each in exceptions)
                and raises_on(entry, catalogue.chains[name], observations)
            ),
            None,
        )
    return NameStatus(name, "unseen", status=status, text=text, mistake=recognised)


def raises_on(
    entry: Misconception, chain: Chain | None, observations: Sequence[Observation]
) -> bool:
    """Whether code with this mistake, in one coding of it, would raise on all these inputs."""
    if not entry.steps or chain is None:
        return True
    return any(
        all(
            Explanation((entry,), {entry.step: step}).expected(chain, seen.given) is None
            for seen in observations
        )
        for step in entry.steps
    )
