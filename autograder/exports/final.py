"""What a platform gets: every student's score after adjustments and lateness."""

from collections.abc import Iterable, Mapping

import msgspec

from autograder.assignment.assignment import Late, Stage
from autograder.exports.late import Lateness, Times, lateness
from autograder.gradebook.adjustments import Adjusted
from autograder.results.result import Result
from autograder.submissions.downloads.handin import Origin
from autograder.submissions.roster import Person

NUMBERED = ("canvas", "moodle", "brightspace")  # each numbers people by itself


class Final(msgspec.Struct, frozen=True):
    """One entry's score as a platform gets it, with the graded score beside it."""

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
        """The score after lateness, to two decimals; None if the kit failed."""
        return self.after(self.result.score)

    def stage(self, stage: Stage) -> float | None:
        """A stage's score after lateness; 0 if the work could not be read."""
        found = {each.id: each.score for each in self.result.stages}
        unseen = None if self.result.score is None else 0.0
        return self.after(found.get(stage.id, unseen))

    def after(self, raw: float | None) -> float | None:
        """What lateness leaves of raw points, to two decimals."""
        return None if raw is None else round(raw * (100 - self.lateness.percent) / 100, 2)

    def people(self, platform: str = "") -> tuple[tuple[Person, ...], ...]:
        """Whose score it is: for each person, what to search by, most reliable first.

        Args:
            platform: Whose file is searched. Another platform's numbers are left out, since they
                may belong to somebody else there.
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
    """Apply the late policy to results.

    Between the gradebook and an export a score changes twice: by the teacher's changes, which are
    in the results already, and here by the late policy. Neither is stored with the result.

    Args:
        results: The results with the teacher's changes.
        origins: Where each entry came from, by its name.
        late: The late policy.
        times: When work was handed in.

    Returns:
        The scores, in the order of the results.

    Raises:
        UsageError: There are times, but no due date.
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
    """The people whom the times name, and who have no result."""
    seen = set()
    for final in finals:
        found = times.of(_candidates(final.student, final.origin))
        if found is not None:
            seen.add(found[0])
    return tuple(person for person in times.people if person not in seen)


def _candidates(student: str, origin: Origin) -> tuple[Person, ...]:
    groups = (Person(student=person.group) for person in origin.people if person.group)
    return (Person(student=student), origin.said, *origin.people, *groups)
