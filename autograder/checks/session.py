"""One submission before the checks: its session, what was seen of it, and what a check may use."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache

from msgspec import UnsetType
from torch import Tensor

from autograder.assignment.assignment import Assignment, Stage
from autograder.checks.evidence import Evidence, Outcome
from autograder.checks.marks import Check
from autograder.diagnosis.catalogue import Catalogue
from autograder.results.result import Status
from autograder.sandbox.guest.library import is_attention
from autograder.sandbox.host.asking import Counted
from autograder.sandbox.host.room import NameSpec, OtherNames, Sandbox
from autograder.sandbox.host.session import LoadReport, Session
from autograder.sandbox.host.student import Student
from autograder.submissions.submission import Submission


@dataclass
class CheckSession:
    """A submission while it is being checked.

    `equivalents` are, by stage, library functions that take the place of wrong ones of that stage
    when a later stage is checked, so that one mistake is not charged twice. Putting them there
    takes a fresh guest, so it is done in the stages that are not right without (`helped`).
    `looks` are what names gave when their attention was asked for, None where nothing came.
    """

    assignment: Assignment
    session: Session
    equivalents: dict[str, str]
    evidence: Evidence = field(default_factory=Evidence)
    findings: dict[str, bool] = field(default_factory=dict)
    lending: bool = False
    looks: dict[str, Tensor | None] = field(default_factory=dict)
    helped: set[str] = field(default_factory=set)
    _stage: str = ""
    _source: str | None = None  # of what stands in the place of the student's in this stage
    _there: tuple[str, bool] | None = None  # the same of the guest now; whether calls reach it

    @classmethod
    def of(
        cls,
        assignment: Assignment,
        sandbox: Sandbox,
        submission: Submission,
        equivalents: dict[str, str],
    ) -> CheckSession:
        """Load a submission into a guest."""
        return cls(assignment, sandbox.open(submission.files), equivalents)

    def catalogue(self, stage: Stage) -> Catalogue:
        """The catalogue of a stage."""
        from autograder.diagnosis.catalogue import stage_catalogue

        return stage_catalogue(self.assignment, stage)

    @property
    def report(self) -> LoadReport:
        """What loading showed."""
        return self.session.report

    def absent(self, check: Check) -> Outcome | None:
        """The outcome of a check whose name is not there, or only as a stub."""
        found = self.report.found.get(check.name)
        if found is None and check.name in self.report.missing:
            return Outcome("", check, "missing", text=self._looked_for(check.name))
        if found is not None and found.stub:
            return Outcome("", check, "missing", text=f"`{check.name}` is not written yet")
        return None

    def _looked_for(self, name: str) -> str:
        """Which name is missing, where it belongs, and what there is that may be meant."""
        module = self.assignment.stage_of(name).module
        near = self.report.missing.get(name)
        meant = f" (did you mean it by `{near}`?)" if near else ""
        return f"`{name}` was not found, neither in {module}.py nor elsewhere{meant}"

    def enter(self, stage: Stage) -> None:
        """Begin a stage.

        What hangs in an earlier one is not called again: it is replaced at once. So is what is
        wrong where an earlier stage was not right without that: the guest is another one anyway.
        """
        if stage.id == self._stage:
            return
        self._stage = stage.id
        earlier = self.assignment.stages[: self.assignment.stages.index(stage)]
        if self.helped.intersection(each.id for each in earlier) or (
            self._faulty("timeout", "killed") & self._lent_by(stage)
        ):
            self.helped.add(stage.id)
        self._source = self._library_for(stage) if stage.id in self.helped else None

    def help(self, stage: Stage) -> bool:
        """From here on, put library functions in the place of earlier stages' wrong ones.

        False where none is wrong, or where they are there already.
        """
        if stage.id in self.helped:
            return False
        source = self._library_for(stage)
        if source is None:
            return False
        self.helped.add(stage.id)
        self._source = source
        self.findings.clear()  # what was found out, was found out without them
        return True

    def _faulty(self, *statuses: Status) -> set[str]:
        """Names with a check that ended so, or, where nothing is said, that did not pass."""
        return {
            outcome.check.name
            for outcome in self.evidence.outcomes
            if (outcome.status in statuses if statuses else outcome.status != "passed")
        }

    def _lent_by(self, stage: Stage) -> set[str]:
        """The functions of earlier stages that a library's can stand in for."""
        earlier = self.assignment.stages[: self.assignment.stages.index(stage)]
        return {
            name for each in earlier for name in functions_in(self.equivalents.get(each.id, ""))
        }

    def _library_for(self, stage: Stage) -> str | None:
        """The source of all library functions of the earlier stages that have a wrong one."""
        faulty = self._faulty()
        sources = []
        for earlier in self.assignment.stages[: self.assignment.stages.index(stage)]:
            source = self.equivalents.get(earlier.id, "")
            if faulty & functions_in(source):
                sources.append(source)
        return "\n".join(sources) or None

    def bring(self) -> None:
        """See to it that the guest is the one that this stage's checks are to ask."""
        if not self.lending:
            self._bring(self._source)

    def bring_with(self, source: str) -> None:
        """The same, with trusted code that stands in for one of the student's names."""
        self._bring("\n".join(filter(None, (self._source, source))))

    @property
    def is_plain(self) -> bool:
        """Whether this stage's checks ask the submission as it was handed in."""
        return self._source is None

    def _bring(self, source: str | None, called: bool = True) -> None:
        """A fresh guest with this in the student's place, unless it stands there already."""
        wanted = None if source is None else (source, called)
        if wanted == self._there:
            return
        self._there = wanted
        if source is None:
            self.session.restart()
        else:
            self.session.substitute(source, called)

    @property
    def has_stand_in(self) -> bool:
        """Whether the guest holds what stands in for one check's sake."""
        return not self._serves_now()

    def _serves_now(self) -> bool:
        return self._there == (self._source and (self._source, True))

    def is_there(self, stage: Stage) -> bool:
        """Enter a stage; whether the guest that is there now can serve it."""
        self.enter(stage)
        return self._serves_now()

    def lend(self, stage: Stage, names: Collection[str]) -> bool:
        """Let the student's functions meet the stage's trusted ones where they call `names`.

        Checks still call the student's own. False where there are no trusted ones of these names.
        """
        source = self.equivalents.get(stage.id, "")
        if not functions_in(source).intersection(names):
            return False
        kept = only_functions(source, frozenset(names))
        self._bring("\n".join(filter(None, (self._source, kept))), called=False)
        return True

    def student(self, check_id: str) -> Student:
        """The student's names, for one check that asks alone."""
        self.bring()
        self.session.begin_check(check_id)
        return self.session.student(check_id)

    def close(self) -> None:
        """End the guest."""
        self.session.close()


def right(name: str) -> str:
    """Under this a trial's findings say whether a name has passed all checks so far."""
    return f"{name} is right"


def catalogue_of(assignment: Assignment, name: str) -> Catalogue:
    """The catalogue of the stage in which `name` is written."""
    from autograder.diagnosis.catalogue import stage_catalogue

    return stage_catalogue(assignment, assignment.stage_of(name))


def names_asked(assignment: Assignment) -> tuple[NameSpec, ...]:
    """What a submission is searched for."""
    return tuple(
        NameSpec(spec.name, spec.module, spec.kind, spec.parameters, assignment.solutions.name)
        for spec in assignment.name_specs
    )


def other_names(assignment: Assignment) -> dict[str, OtherNames]:
    """What students call the parameters of the assignment elsewhere."""
    return {
        name: OtherNames(
            told.near,
            () if isinstance(told.without, UnsetType) else (told.without,),
            told.heeded,
        )
        for name, told in assignment.parameters
    }


def counted_for(assignment: Assignment, name: str) -> Counted:
    """Which operators a name's calls are to count.

    All of them, unless the library's attention is all that the assignment forbids it.
    """
    forbidden = (
        pattern
        for rule in assignment.forbidden
        if not rule.within or name in rule.within
        for pattern in rule.operators
    )
    return {"library": True} if all(map(is_attention, forbidden)) else {"operators": True}


@lru_cache(maxsize=16)
def functions_in(source: str) -> frozenset[str]:
    """The names of the functions that trusted source defines."""
    return frozenset(
        node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)
    )


@lru_cache(maxsize=256)
def only_functions(source: str, names: frozenset[str]) -> str:
    """Trusted source without the functions that are not among `names`."""
    return "\n".join(
        ast.unparse(node)
        for node in ast.parse(source).body
        if not isinstance(node, ast.FunctionDef) or node.name in names
    )
