"""The cases of the proof: what each must result in, and how many of a part's cases did."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from autograder.results.result import CriterionResult, Result
from autograder.submissions.submission import Submission

#: Why a result falls short, by measure; empty if it does not.
Shortfalls = Mapping[str, str]
Judge = Callable[[Result], Shortfalls]


@dataclass(frozen=True, slots=True)
class Case:
    """One submission of the proof, and the function that judges its result."""

    label: str
    submission: Submission
    judge: Judge


@dataclass(frozen=True, slots=True)
class Measure:
    """Something that must hold for the cases of a part, and for how large a share of them."""

    title: str
    needed: float = 1.0


@dataclass(slots=True)
class Part:
    """All cases of one kind, and those that fell short.

    Attributes:
        title: The part's name.
        measures: What must hold.
        cases: The cases.
        extent: How many cases there must be.
        count: How many have been judged.
        short: Labels and reasons of the cases that fell short, by measure.
        remarks: What is worth knowing without being a shortfall.
    """

    title: str
    measures: Sequence[Measure]
    cases: Sequence[Case] = ()
    extent: int = 1
    count: int = 0
    short: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def add(self, label: str, shortfalls: Shortfalls) -> None:
        """Count one case.

        Args:
            label: Its label.
            shortfalls: Why it falls short, by measure.
        """
        self.count += 1
        for measure, reason in shortfalls.items():
            self.short.setdefault(measure, []).append((label, reason))

    def good(self, measure: Measure) -> int:
        """For how many cases a measure holds."""
        return self.count - len(self.short.get(measure.title, ()))

    def holds(self, measure: Measure) -> bool:
        """Whether a measure holds for enough cases."""
        return self.good(measure) >= measure.needed * self.count

    @property
    def sound(self) -> bool:
        """Whether there are enough cases and every measure holds."""
        return self.count >= self.extent and all(self.holds(each) for each in self.measures)


# What must hold for each kind of case -------------------------------------------------------

EVERY_POINT = Measure("every point")
NO_POINT = Measure("no point")
CAUGHT = Measure("caught")
ALONE = Measure("costs its own criterion alone")
NAMED_FIRST = Measure("named first", 0.98)
BOTH_ALONE = Measure("costs its two criteria alone")
BOTH_NAMED = Measure("both named", 0.90)


def everything(result: Result) -> Shortfalls:
    """Judge that a result has all points."""
    if result.score == result.max_score:
        return {}
    gone = "; ".join(f"{stage}.{entry.id} {entry.status}" for stage, entry in lost(result))
    return {EVERY_POINT.title: gone or "not scored"}


def nothing(result: Result) -> Shortfalls:
    """Judge that a result has no point at all."""
    if result.score == 0:
        return {}
    kept = [
        f"{stage.id}.{criterion.id} ({share.name}) {share.score:g}"
        for stage in result.stages
        for criterion in stage.criteria
        for share in criterion.shares
        if share.score
    ]
    return {NO_POINT.title: f"{result.score} points: {'; '.join(kept)}"}


@dataclass(frozen=True, slots=True)
class Mistake:
    """A known mistake in a submission of the proof.

    Attributes:
        id: The misconception's id.
        stage: The stage in which it must lose points, and no other.
        criterion: The criterion of that stage which must lose points.
        also: Ids of equal programs, which no test can tell from this one.
    """

    id: str
    stage: str
    criterion: str
    also: tuple[str, ...] = ()

    @property
    def accepted(self) -> set[str]:
        """The ids under which it may be reported."""
        return {self.id, *self.also}


def one_mistake(mistake: Mistake) -> Judge:
    """A judge for one mistake: its criterion is lost, it is named first, nothing else is lost."""

    def judge(result: Result) -> Shortfalls:
        gone = lost(result)
        if not gone:
            return dict.fromkeys((CAUGHT.title, ALONE.title, NAMED_FIRST.title), "not caught")
        short: dict[str, str] = {}
        beyond = _beyond(gone, (mistake,))
        if beyond:
            short[ALONE.title] = beyond
        named = _named(gone)
        own = [each for each in named if each in mistake.accepted]
        if not own or named[0] != own[0]:
            short[NAMED_FIRST.title] = f"named {_told(named)}"
        return short

    return judge


def two_mistakes(first: Mistake, second: Mistake) -> Judge:
    """A judge for two mistakes: both criteria are lost and no other, both are named."""

    def judge(result: Result) -> Shortfalls:
        gone = lost(result)
        if not gone:
            return dict.fromkeys((CAUGHT.title, BOTH_ALONE.title, BOTH_NAMED.title), "not caught")
        short: dict[str, str] = {}
        beyond = _beyond(gone, (first, second))
        if beyond:
            short[BOTH_ALONE.title] = beyond
        named = _named(gone)
        silent = [each.id for each in (first, second) if not each.accepted & set(named)]
        if silent:
            short[BOTH_NAMED.title] = f"{' and '.join(silent)} unnamed; named {_told(named)}"
        return short

    return judge


def lost(result: Result) -> list[tuple[str, CriterionResult]]:
    """The criteria that lost something, with their stages."""
    return [
        (stage.id, criterion)
        for stage in result.stages
        for criterion in stage.criteria
        if criterion.score < criterion.max_score
    ]


def _beyond(gone: Sequence[tuple[str, CriterionResult]], mistakes: Sequence[Mistake]) -> str:
    """What was lost beyond the mistakes' own criteria; empty if nothing was.

    A name without a share in the mistake's own criterion pays in another one, which then names the
    mistake. What a mistake keeps from being seen is blocked, which is not a charge of its own.
    """
    stages = {mistake.stage for mistake in mistakes}
    elsewhere = [f"{stage}.{entry.id}" for stage, entry in gone if stage not in stages]
    if elsewhere:
        return f"costs points in another stage: {', '.join(elsewhere)}"
    own = {(mistake.stage, mistake.criterion) for mistake in mistakes}
    accepted = {each for mistake in mistakes for each in mistake.accepted}
    others = [
        entry.id
        for stage, entry in gone
        if (stage, entry.id) not in own
        and not accepted & set(entry.misconceptions)
        and any(share.status not in ("passed", "blocked") for share in entry.shares)
    ]
    return f"costs {', '.join(others)} as well (named: {_told(_named(gone))})" if others else ""


def _named(gone: Sequence[tuple[str, CriterionResult]]) -> list[str]:
    return [mistake for _, entry in gone for mistake in entry.misconceptions]


def _told(named: Sequence[str]) -> str:
    return ", ".join(named) or "nothing"
