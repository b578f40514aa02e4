"""Whether one share is kept or lost, by the rules of scoring, and on what evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache

import msgspec

from autograder.assignment.assignment import Criterion, Forbidden, Share
from autograder.checks.evidence import Outcome, Recorded
from autograder.diagnosis.catalogue import Catalogue, Misconception
from autograder.diagnosis.chain import Given
from autograder.diagnosis.compare import same
from autograder.results.result import Status, worst
from autograder.scoring.name_status import NameStatus, is_base, raises_on


class Verdict(msgspec.Struct, frozen=True):
    """One share: its status, what it was lost for, and every check that spoke on it."""

    status: Status
    outcomes: tuple[Outcome, ...]
    mistakes: tuple[Misconception, ...] = ()
    failing: Outcome | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Witness:
    """Everything that is known of one name, for judging its shares."""

    catalogue: Catalogue
    standing: NameStatus
    outcomes: Sequence[Outcome]
    recorded: Sequence[Recorded]
    forbidden: Sequence[Forbidden]
    operators: tuple[str, ...] = field(init=False)  # that were run, each once

    def __post_init__(self) -> None:
        run = dict.fromkeys(name for entry in self.recorded for name in entry.operators)
        object.__setattr__(self, "operators", tuple(run))

    def verdict(self, criterion: Criterion, share: Share) -> Verdict:
        """Whether the share is kept."""
        spoke = self._spoke(criterion.id, share.aspect)
        standing = self.standing
        if standing.kind == "borrowed":
            return Verdict("passed", spoke)
        if standing.kind in ("absent", "null"):
            return Verdict(standing.status, spoke, text=standing.text)
        if standing.kind == "unseen":
            return self._unseen(criterion.id, share.aspect, spoke)
        charged = self._charged(criterion.id, share.aspect)
        if charged:
            return Verdict("failed", spoke, mistakes=charged)
        library = self._library(criterion.id)
        if library is not None and share.aspect is None:
            return library
        if standing.kind == "unexplained" and criterion.id != "state" and not self._is_steady():
            return Verdict("blocked", spoke, text=UNSTEADY)
        if standing.partial and criterion.id == "form":
            return Verdict("error", spoke, mistakes=self.sizes_built_in(), text=standing.text)
        failing = [
            outcome for outcome in spoke if outcome.status != "passed" and self._counts(outcome)
        ]
        if failing:
            return self._lost(spoke, failing)
        if standing.kind == "unexplained" and not self._has_evidence(criterion.id, spoke):
            failing = [outcome for outcome in spoke if outcome.status != "passed"]
            return Verdict("failed", spoke, failing=next(iter(failing), None))
        return Verdict("passed", spoke)

    def _spoke(self, criterion: str, aspect: str | None) -> tuple[Outcome, ...]:
        """The checks that give evidence on this share."""
        chain = self.catalogue.chains.get(self.standing.name)
        in_chain = chain is not None and criterion in chain.names and aspect is None
        if chain is not None and not chain.steps and aspect is None:
            # Compared as a whole: evidence on whatever has no check of its own.
            in_chain = not any(criterion in each.check.criteria for each in self.outcomes)
        return tuple(
            outcome
            for outcome in self.outcomes
            if (outcome.check.aspect == aspect and criterion in outcome.check.criteria)
            or (in_chain and is_base(outcome))
        )

    def _charged(self, criterion: str, aspect: str | None) -> tuple[Misconception, ...]:
        return tuple(
            mistake
            for mistake in self.standing.mistakes
            if mistake.criterion == criterion and mistake.aspect == aspect
        )

    def _counts(self, outcome: Outcome) -> bool:
        """Whether a check that did not pass costs the share."""
        kind = self.standing.kind
        if outcome.check.kind == "own":
            return kind != "explained" or not self._excused(outcome)
        if outcome.check.kind == "property":
            return kind != "explained"
        if outcome.check.kind != "values":
            return False
        if not self.catalogue.chains[self.standing.name].steps:
            return True  # compared as a whole: nothing explains it
        if is_base(outcome):
            # What the standing says of it decides, but for what the check itself has named.
            return outcome.misconception is not None
        records = [entry for entry in self.recorded if entry.check_id == outcome.check_id]
        if kind == "explained":
            if standing_raises(self.standing, outcome) or self._recognised_in(outcome):
                return False
            if self.standing.partial and fits_not(records) and "form" not in outcome.check.criteria:
                return False
            return not all(self._as_explained(entry) for entry in records) or not records
        if kind == "unexplained":
            return not records or any(entry.shape != entry.expected_shape for entry in records)
        return True

    def _recognised_in(self, outcome: Outcome) -> bool:
        """Whether a known mistake of the name raises what this check met."""
        return bool(outcome.exception) and any(
            mistake.recognises(outcome.exception, self._given_to(outcome))
            for mistake in self.standing.mistakes
        )

    def _given_to(self, outcome: Outcome) -> Given | None:
        """What was called when a check ended in an exception, where that is known."""
        return next(
            (
                entry.observation.given
                for entry in self.recorded
                if entry.check_id == outcome.check_id
                and entry.observation.exception == outcome.exception
            ),
            None,
        )

    def _excused(self, outcome: Outcome) -> bool:
        """Whether a program with the known mistakes alone would fail this check as well."""
        standing = self.standing
        hidden = {criterion for mistake in standing.mistakes for criterion in mistake.hides}
        if hidden & set(outcome.check.criteria):
            return True
        if outcome.status == "error":
            return standing.partial or self._recognised_in(outcome)
        if outcome.shape is not None:
            return any(entry.shape != entry.expected_shape for entry in self.recorded)
        chain = self.catalogue.chains.get(standing.name)
        if outcome.excuse is None or chain is None:
            return False
        return outcome.excuse(chain, standing.explanation)

    def _as_explained(self, entry: Recorded) -> bool:
        """Whether the known mistakes alone account for what a special setting showed."""
        chain = self.catalogue.chains[self.standing.name]
        expected = self.standing.explanation.expected(chain, entry.observation.given)
        value = entry.observation.value
        if value is None:
            return expected is None
        return expected is not None and same(value, expected)

    def _has_evidence(self, criterion: str, spoke: Sequence[Outcome]) -> bool:
        """For unexplained outputs: whether a step was shown to be right by a property.

        Where no property failed, nothing tells which step is wrong, and no step has evidence.
        """
        chain = self.catalogue.chains.get(self.standing.name)
        if chain is None or criterion not in chain.names:
            return self._is_steady()
        shown = [outcome for outcome in spoke if outcome.check.kind == "property"]
        localised = any(
            outcome.check.kind == "property" and outcome.status != "passed"
            for outcome in self.outcomes
        )
        return localised and bool(shown) and self._is_steady()

    def _is_steady(self) -> bool:
        """Whether the same call gives the same result twice."""
        return not any(outcome.unsteady for outcome in self.outcomes)

    def _lost(self, spoke: tuple[Outcome, ...], failing: Sequence[Outcome]) -> Verdict:
        status = worst(tuple(outcome.status for outcome in failing))
        named = tuple(
            dict.fromkeys(
                self.catalogue.named(outcome.misconception)
                for outcome in failing
                if outcome.misconception is not None
            )
        )
        first = next(outcome for outcome in failing if outcome.status == status)
        if not named and status == "error":
            named = self._recognised(first)
        return Verdict(status, spoke, mistakes=named, failing=first)

    def _recognised(self, outcome: Outcome) -> tuple[Misconception, ...]:
        """The misconception of this criterion whose exception it is."""
        exceptions = [outcome.exception] if outcome.exception else []
        chain = self.catalogue.chains.get(self.standing.name)
        seen = [entry.observation for entry in self.recorded if entry.check_id == outcome.check_id]
        for entry in self.catalogue.of(self.standing.name):
            if (
                entry.criterion in outcome.check.criteria
                and any(entry.recognises(each, self._given_to(outcome)) for each in exceptions)
                and raises_on(entry, chain, [each for each in seen if each.value is None])
            ):
                return (entry,)
        return ()

    def _library(self, criterion: str) -> Verdict | None:
        """The share is lost to a library's operator that did this step's work."""
        name = self.standing.name
        for rule in self.forbidden:
            if criterion not in rule.steps or (rule.within and name not in rule.within):
                continue
            patterns = tuple(rule.operators)
            for operator in self.operators:
                if forbids(patterns, operator):
                    return Verdict(
                        "failed",
                        self._spoke(criterion, None),
                        mistakes=self._library_named(rule),
                        text=(
                            f"A library function does this step's work (the operator "
                            f"`{bare(operator)}` was run). The task is to write it yourself."
                        ),
                    )
        return None

    def sizes_built_in(self) -> tuple[Misconception, ...]:
        """The catalogue's entry for code that runs with some sizes only."""
        return tuple(entry for entry in self.catalogue.misconceptions if entry.id == SIZES_BUILT_IN)

    def _library_named(self, rule: Forbidden) -> tuple[Misconception, ...]:
        """The catalogue's entry for a library's call, where it has one for this name."""
        return tuple(
            entry
            for entry in self.catalogue.misconceptions
            if entry.id == rule.misconception and self.standing.name in entry.names
        )

    def _unseen(self, criterion: str, aspect: str | None, spoke: tuple[Outcome, ...]) -> Verdict:
        """Nothing came back from the name; state and refusals may have been seen all the same."""
        standing = self.standing
        charged = self._charged(criterion, aspect)
        if charged:
            return Verdict(standing.status, spoke, mistakes=charged, text=standing.text)
        own = [outcome for outcome in spoke if outcome.check.kind == "own"]
        if criterion == "state" or aspect is not None:
            failing = [
                outcome
                for outcome in own
                if outcome.status == "failed" and not self._excused(outcome)
            ]
            if failing and criterion == "state":
                return self._lost(spoke, failing)
            if any(outcome.status == "passed" for outcome in own) and not failing:
                return Verdict("passed", spoke)
        status: Status = "blocked"
        if standing.status in ("timeout", "killed"):
            status = standing.status
        return Verdict(status, spoke, text=standing.text)


#: The id under which a catalogue has code that runs with some sizes only.
SIZES_BUILT_IN = "sizes-hard-coded"

UNSTEADY = "two calls with the same input gave different results, so nothing could be compared"


def standing_raises(standing: NameStatus, outcome: Outcome) -> bool:
    """Whether a special setting ended in an exception that is charged elsewhere already."""
    return outcome.status == "error" and standing.partial and "form" not in outcome.check.criteria


@lru_cache(maxsize=1024)
def forbids(patterns: tuple[str, ...], operator: str) -> bool:
    """Whether an operator is one of those that do a step's work."""
    return any(fnmatchcase(bare(operator), pattern) for pattern in patterns)


def fits_not(records: Sequence[Recorded]) -> bool:
    """Whether all that was wrong in a special setting did not even have the right shape."""
    wrong = [entry for entry in records if not entry.right]
    return bool(wrong) and all(entry.shape != entry.expected_shape for entry in wrong)


def bare(operator: str) -> str:
    """An operator's name without name space and overload: `aten._softmax.default`, `_softmax`."""
    parts = operator.replace("::", ".").split(".")
    return parts[1] if len(parts) > 1 else parts[0]
