"""What is handed on to a platform: every student's score after adjustments and lateness."""

from collections.abc import Iterable, Mapping
from typing import Protocol

import msgspec

from autograder.assignment import Late, Stage
from autograder.downloads.handin import Origin
from autograder.exports.late import Lateness, Times, lateness
from autograder.result import Result
from autograder.roster import Person


class Adjust(Protocol):
    """What a teacher changed about a result, such as points given back after a talk."""

    def __call__(self, result: Result) -> Result:
        """The result as it counts; the same where nobody changed anything."""


def as_graded(result: Result) -> Result:
    """Nothing changed."""
    return result


class Final(msgspec.Struct, frozen=True):
    """One entry's score as it is handed on, with the raw score beside it."""

    result: Result  # after adjustments, before lateness
    lateness: Lateness
    origin: Origin

    @property
    def student(self) -> str:
        """The entry's name in the results."""
        return self.result.submission

    @property
    def score(self) -> float | None:
        """The score after lateness, to two places; None where the kit failed."""
        return self.after(self.result.score)

    def stage(self, stage: Stage) -> float | None:
        """A stage's score after lateness; 0 where the work could not be read."""
        found = {each.id: each.score for each in self.result.stages}
        unseen = None if self.result.score is None else 0.0
        return self.after(found.get(stage.id, unseen))

    def after(self, raw: float | None) -> float | None:
        """What is left of raw points."""
        return None if raw is None else round(raw * (100 - self.lateness.percent) / 100, 2)

    @property
    def people(self) -> tuple[tuple[Person, ...], ...]:
        """Whose score it is: for each of them the marks to look for, the surest first."""
        people, said = self.origin.people, self.origin.said
        if len(people) > 1:
            return tuple((person,) for person in people)
        known = (said, *people, Person(student=self.student))
        return (tuple(each for each in known if each != Person()),)


def final_scores(
    results: Iterable[Result],
    origins: Mapping[str, Origin],
    late: Late,
    times: Times | None = None,
    adjust: Adjust = as_graded,
) -> tuple[Final, ...]:
    """Every result as it is handed on, in the results' order.

    This is the only place where a score changes between the gradebook and an export: first
    `adjust`, then the late policy. Neither is stored with the result.
    """
    finals = []
    for result in results:
        origin = origins.get(result.submission, Origin(""))
        found = times.of(_candidates(result.submission, origin)) if times else None
        cost = lateness(late, origin, found[1] if found else None)
        finals.append(Final(adjust(result), cost, origin))
    return tuple(finals)


def without_hand_in(finals: Iterable[Final], times: Times) -> tuple[Person, ...]:
    """Whom the times name, and of whom there is no result."""
    seen = set()
    for final in finals:
        found = times.of(_candidates(final.student, final.origin))
        if found is not None:
            seen.add(found[0])
    return tuple(person for person in times.people if person not in seen)


def _candidates(student: str, origin: Origin) -> tuple[Person, ...]:
    groups = (Person(student=person.group) for person in origin.people if person.group)
    return (Person(student=student), origin.said, *origin.people, *groups)
