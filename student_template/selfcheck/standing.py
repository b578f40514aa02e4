"""Where a student stands: what the public checks said, stage by stage and name by name.

Outcomes travel from the process that runs the student's code as plain dictionaries, so that what
is shown in a terminal and in a notebook comes from the same words.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from .course import Course, Stage, course

Status = Literal["passed", "todo", "waits", "failed"]
State = Literal["done", "wrong", "todo", "waits", "unseen"]
Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one public check found.

    `check` is a sentence, `name` what it is about, `place` the line of the student's code that
    raised, if one did, and `printed` what the student's code printed meanwhile.
    """

    check: str
    stage: str
    name: str
    status: Status
    message: str = ""
    place: str = ""
    printed: str = ""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A known mistake that gives just what the student's code gives."""

    stage: str
    name: str
    id: str
    title: str
    message: str
    section: str

    @property
    def told(self) -> tuple[str, str]:
        """What it looks like, and what there is to say of it."""
        if self.id == "drawn-otherwise":
            return "Probably right:", self.message
        return f"This looks like: {self.title}.", self.message


@dataclass(frozen=True, slots=True)
class Weights:
    """The student's attention weights on the worked example: rows are queries, `(T, T)`."""

    stage: str
    title: str
    rows: list[list[float]]


@dataclass(slots=True)
class NameStanding:
    """One name with its outcomes and, where it is known, the mistake that explains them."""

    name: str
    section: str
    outcomes: list[Outcome] = field(default_factory=list)
    mistake: Mistake | None = None

    @property
    def state(self) -> State:
        """`done` when every check passed; `waits` when only another name's stub is in the way."""
        statuses = {outcome.status for outcome in self.outcomes}
        if not statuses:
            return "unseen"
        for status, state in _BY_STATUS:
            if status in statuses:
                return state
        return "done"

    @property
    def trouble(self) -> Outcome | None:
        """The first outcome that tells why the name is in this state; none when it is done."""
        for status, _ in _BY_STATUS:
            for outcome in self.outcomes:
                if outcome.status == status:
                    return outcome
        return None


_BY_STATUS: tuple[tuple[Status, State], ...] = (
    ("failed", "wrong"),
    ("todo", "todo"),
    ("waits", "waits"),
)


@dataclass(slots=True)
class StageStanding:
    """One stage. `problem` says why nothing of it could be checked, if that is so."""

    stage: Stage
    names: dict[str, NameStanding]
    problem: str = ""
    weights: list[Weights] = field(default_factory=list)
    finished: bool = False
    expected: int = 0  # how many checks there are, as far as it is known

    @property
    def outcomes(self) -> list[Outcome]:
        """All outcomes of the stage."""
        return [outcome for name in self.names.values() for outcome in name.outcomes]

    @property
    def passed(self) -> int:
        """How many checks passed."""
        return sum(outcome.status == "passed" for outcome in self.outcomes)

    @property
    def total(self) -> int:
        """How many checks there are; what was not run is one that did not pass."""
        return max(self.expected, len(self.outcomes), 1 if self.problem else 0)

    @property
    def done(self) -> bool:
        """Whether every check has passed, none left out."""
        return (
            self.finished
            and self.passed == self.total > 0
            and not self.problem
            and all(name.state == "done" for name in self.names.values())
        )

    @property
    def begun(self) -> bool:
        """Whether anything but stubs was found."""
        return bool(self.problem) or any(
            outcome.status in ("passed", "failed") for outcome in self.outcomes
        )

    @property
    def next(self) -> NameStanding | None:
        """What to do next in this stage: the first name that is not done."""
        return next((name for name in self.names.values() if name.state != "done"), None)


@dataclass(slots=True)
class Standing:
    """All stages that were looked at, in order."""

    stages: dict[str, StageStanding]

    @classmethod
    def of(cls, stages: tuple[str, ...] | None = None, within: Course | None = None) -> Standing:
        """Nothing known yet, for these stages or for all."""
        wanted = within or course()
        return cls(
            {
                stage.id: StageStanding(
                    stage,
                    {name.name: NameStanding(name.name, name.section) for name in stage.names},
                )
                for stage in wanted.stages
                if stages is None or stage.id in stages
            }
        )

    @property
    def passed(self) -> int:
        """How many checks passed, of all stages."""
        return sum(stage.passed for stage in self.stages.values())

    @property
    def total(self) -> int:
        """How many checks there are, run or not."""
        return sum(stage.total for stage in self.stages.values())

    @property
    def done(self) -> bool:
        """Whether all stages are done."""
        return all(stage.done for stage in self.stages.values())

    @property
    def next(self) -> StageStanding | None:
        """The first stage that is not done."""
        return next((stage for stage in self.stages.values() if not stage.done), None)

    def over(self, before: Standing) -> Standing:
        """What is known by now: stages that are finished, and the others as they stood before."""
        return Standing(
            {
                name: stage if stage.finished else before.stages.get(name, stage)
                for name, stage in self.stages.items()
            }
        )

    def hear(self, event: Event) -> None:
        """Take in what the process that runs the student's code says."""
        stage = self.stages.get(event.get("stage", ""))
        if stage is None:
            return
        told = {key: value for key, value in event.items() if key != "kind"}
        match event["kind"]:
            case "outcome":
                outcome = Outcome(**told)
                if outcome.name in stage.names:
                    stage.names[outcome.name].outcomes.append(outcome)
            case "mistake":
                mistake = Mistake(**told)
                if mistake.name in stage.names and stage.names[mistake.name].mistake is None:
                    stage.names[mistake.name].mistake = mistake
            case "expected":
                stage.expected = told["count"]
            case "weights":
                stage.weights.append(Weights(**told))
            case "problem":
                stage.problem = told["message"]
                stage.finished = True
            case "finished":
                stage.finished = True
