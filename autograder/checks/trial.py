"""One submission before the checks: its session, what was seen of it, and what a check may use."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from autograder.assignment import Assignment, Stage
from autograder.catalogue import Catalogue
from autograder.checks.evidence import Evidence, Outcome
from autograder.checks.marks import Check
from autograder.sandbox.room import Sandbox
from autograder.sandbox.session import LoadReport, Session
from autograder.sandbox.student import Student
from autograder.submission import Submission


@dataclass
class Trial:
    """A submission while it is being checked.

    `equivalents` are, by stage, library functions that take the place of wrong ones of that stage
    when a later stage is checked, so that one mistake is not charged twice.
    """

    assignment: Assignment
    session: Session
    equivalents: dict[str, str]
    evidence: Evidence = field(default_factory=Evidence)
    findings: dict[str, bool] = field(default_factory=dict)
    lending: bool = False
    _stage: str = ""
    _source: str | None = None
    _borrowed: bool = False

    @classmethod
    def of(
        cls,
        assignment: Assignment,
        sandbox: Sandbox,
        submission: Submission,
        equivalents: dict[str, str],
    ) -> Trial:
        """Load a submission into a guest."""
        return cls(assignment, sandbox.open(submission.files), equivalents)

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
        """Begin a stage; where functions of earlier stages are wrong, put equivalents in place."""
        if stage.id == self._stage:
            return
        self._stage = stage.id
        faulty = {
            outcome.check.name for outcome in self.evidence.outcomes if outcome.status != "passed"
        }
        sources = []
        for earlier in self.assignment.stages:
            if earlier.id == stage.id:
                break
            source = self.equivalents.get(earlier.id)
            if source is not None and faulty & set(earlier.names):
                sources.append(source)
        source = "\n".join(sources) or None
        if source != self._source:
            self._source = source
            self._return()

    def _return(self) -> None:
        if self._source is None:
            self.session.restart()
        else:
            self.session.substitute(self._source)
        self._borrowed = False

    def lend(self, stage: Stage, names: set[str]) -> bool:
        """Put the stage's trusted functions in the place of the student's `names`, where it can."""
        source = self.equivalents.get(stage.id)
        if source is None:
            return False
        kept = [
            ast.unparse(node)
            for node in ast.parse(source).body
            if not isinstance(node, ast.FunctionDef) or node.name in names
        ]
        self.session.substitute("\n".join(filter(None, (self._source, *kept))))
        self._borrowed = True
        return True

    def student(self, check_id: str) -> Student:
        """The student's names, for one check."""
        if self._borrowed and not self.lending:
            self._return()
        self.session.begin_check(check_id)
        return self.session.student(check_id)

    def substitute(self, check_id: str, source: str) -> Student:
        """The student's names with trusted stand-ins beside them, for this check alone."""
        self.session.substitute("\n".join(filter(None, (self._source, source))))
        self._borrowed = True
        return self.session.student(check_id)

    def close(self) -> None:
        """End the guest."""
        self.session.close()


def right(name: str) -> str:
    """Under this a trial's findings say whether a name has passed all checks so far."""
    return f"{name} is right"


def catalogue_of(assignment: Assignment, name: str) -> Catalogue:
    """The catalogue of the stage in which `name` is written."""
    from autograder.catalogue import load_catalogue

    return load_catalogue(assignment.stage_of(name).misconceptions)
