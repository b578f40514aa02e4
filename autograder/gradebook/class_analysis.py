"""What a teacher wants to know of a class: who made which mistakes, and whose code hung.

Pure functions, from results and the judge's details to what pages and tables show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from autograder.diagnosis.fingerprint import Fingerprint, Shared
from autograder.diagnosis.fingerprint import groups as near
from autograder.gradebook.item_analysis import Distribution, ItemAnalysis, analyse, distribution
from autograder.results.details import Details
from autograder.results.result import Result, StageResult, Status

#: Statuses of a share whose code did not return, the worst first.
BROKEN: tuple[Status, ...] = ("timeout", "killed", "error")


@dataclass(frozen=True, slots=True)
class Graded:
    """A student's result with what the gradebook keeps beside it."""

    result: Result
    details: Details = field(default_factory=Details)

    @property
    def student(self) -> str:
        """The name of the entry."""
        return self.result.submission


@dataclass(frozen=True, slots=True)
class Mistake:
    """A misconception that was named, in which stages and in whose work."""

    id: str
    title: str
    stages: tuple[str, ...]
    students: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ended:
    """What a student's code did instead of returning, name by name."""

    student: str
    names: tuple[tuple[str, Status], ...]


@dataclass(frozen=True, slots=True)
class StageScores:
    """The scores of one stage, or of all together, whose `id` is empty."""

    id: str
    title: str
    scores: Distribution | None


@dataclass(frozen=True, slots=True)
class ClassAnalysis:
    """Everything that the class report shows."""

    total: StageScores
    stages: tuple[StageScores, ...]
    items: ItemAnalysis
    mistakes: tuple[Mistake, ...]
    unexplained: tuple[Shared, ...]  # wrong in the same way, by no known misconception
    ended: tuple[Ended, ...]
    unread: tuple[str, ...]  # could not be read
    ungraded: tuple[str, ...]  # the kit failed on them


def analysed(graded: Sequence[Graded], stages: Sequence[tuple[str, str, float]]) -> ClassAnalysis:
    """Analyse a class.

    A submission that could not be read counts as 0 in the scores, as it does in `grades.csv`.

    Args:
        graded: The results that count, with their details.
        stages: The id, title and points of each stage.
    """
    results = [entry.result for entry in graded]
    scored = [result for result in results if result.score is not None]
    totals = [result.score for result in scored if result.score is not None]
    most = sum(points for _, _, points in stages)
    return ClassAnalysis(
        total=StageScores("", "All stages", distribution(totals, most)),
        stages=tuple(
            StageScores(each, title, distribution([_of(result, each) for result in scored], points))
            for each, title, points in stages
        ),
        items=analyse(results),
        mistakes=mistakes(graded),
        unexplained=groups({entry.student: entry.details for entry in graded}),
        ended=ended(results),
        unread=tuple(result.submission for result in results if result.status == "error"),
        ungraded=tuple(result.submission for result in results if result.score is None),
    )


def _of(result: Result, stage: str) -> float:
    return next((found.score for found in result.stages if found.id == stage), 0.0)


def mistakes(graded: Iterable[Graded]) -> tuple[Mistake, ...]:
    """Every misconception that was named, the most common first."""
    students: dict[str, list[str]] = {}
    stages: dict[str, dict[str, None]] = {}
    titles: dict[str, str] = {}
    for entry in graded:
        titles |= entry.details.titles
        named: dict[str, None] = {}
        for stage, each in _named(entry.result.stages):
            named[each] = None
            stages.setdefault(each, {})[stage] = None
        for each in named:
            students.setdefault(each, []).append(entry.student)
    found = (
        Mistake(each, titles.get(each, each.replace("-", " ")), tuple(stages[each]), tuple(who))
        for each, who in students.items()
    )
    return tuple(sorted(found, key=lambda mistake: (-len(mistake.students), mistake.id)))


def _named(stages: Iterable[StageResult]) -> Iterable[tuple[str, str]]:
    return (
        (stage.id, each)
        for stage in stages
        for criterion in stage.criteria
        for each in criterion.misconceptions
    )


def groups(details: Mapping[str, Details]) -> tuple[Shared, ...]:
    """Students whose unexplained outputs of a name are the same, the largest groups first.

    Each group is a chance to name a misconception that the catalogue does not know yet.
    """
    by_name: dict[str, dict[str, Fingerprint]] = {}
    for student, each in details.items():
        for name, fingerprint in each.fingerprints.items():
            by_name.setdefault(name, {})[student] = fingerprint
    found = [Shared(name, who) for name, prints in by_name.items() for who in near(prints)]
    return tuple(sorted(found, key=lambda group: (-len(group.students), group.name)))


def ended(results: Iterable[Result]) -> tuple[Ended, ...]:
    """Students whose code hung, was stopped or raised, and in which names."""
    found = []
    for result in results:
        names: dict[str, Status] = {}
        for share in _shares(result):
            if share[1] in BROKEN:
                worse = names.get(share[0], "error")
                names[share[0]] = min(worse, share[1], key=BROKEN.index)
        if names:
            found.append(Ended(result.submission, tuple(names.items())))
    return tuple(found)


def _shares(result: Result) -> Iterable[tuple[str, Status]]:
    return (
        (share.name, share.status)
        for stage in result.stages
        for criterion in stage.criteria
        for share in criterion.shares
    )


def by_status(found: Iterable[Ended]) -> Counter[Status]:
    """How many students' code hung, was stopped or raised."""
    return Counter(status for each in found for status in {status for _, status in each.names})
