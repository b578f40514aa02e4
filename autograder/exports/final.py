"""What is handed on to a platform: every student's score after adjustments and lateness."""

from collections.abc import Iterable, Mapping

import msgspec

from autograder.assignment.assignment import Late, Stage
from autograder.exports.late import Lateness, Times, lateness
from autograder.gradebook.adjustments import Adjusted
from autograder.results.result import Result
from autograder.submissions.downloads.handin import Origin
from autograder.submissions.roster import Person

NUMBERED = ("canvas", "moodle", "brightspace")  # each counts people for itself


class Final(msgspec.Struct, frozen=True):
    """One entry's score as it is handed on, with what it was graded with beside it."""

    told: Adjusted
    lateness: Lateness
    origin: Origin

    @property
    def result(self) -> Result:
        """The result with a teacher's changes, before lateness."""
        return self.told.result

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

    def people(self, platform: str = "") -> tuple[tuple[Person, ...], ...]:
        """Whose score it is: for each of them the marks to look for, the surest first.

        `platform` is whose file they are looked for in. Another platform's numbers are left out:
        there they may be somebody else's.
        """
        said, people = self.origin.said, self.origin.people
        if self.origin.platform in NUMBERED and self.origin.platform != platform:
            said = msgspec.structs.replace(said, id="")
            people = tuple(msgspec.structs.replace(person, id="") for person in people)
        if len(people) > 1:
            return tuple((person,) for person in people)
        known = (said, *people, Person(student=self.student))
        return (tuple(each for each in known if each != Person()),)


def final_scores(
    results: Iterable[Adjusted],
    origins: Mapping[str, Origin],
    late: Late,
    times: Times | None = None,
) -> tuple[Final, ...]:
    """Every result as it is handed on, in the results' order.

    Between the gradebook and an export a score changes twice: a teacher's changes are laid over
    the results before they come here, and here the late policy is. Neither is stored with the
    result.
    """
    finals = []
    for told in results:
        student = told.result.submission
        origin = origins.get(student, Origin(""))
        found = times.of(_candidates(student, origin)) if times else None
        cost = lateness(late, origin, found[1] if found else None)
        finals.append(Final(told, cost, origin))
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
