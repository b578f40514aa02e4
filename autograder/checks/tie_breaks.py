"""One more question to a name: on an input on which the explanations that fit differ.

The hidden checks' inputs tell most mistakes apart. Where two sets of mistakes give the same
outputs on all of them, the student's program is asked once more, while its guest is alive, on that
input of those declared that separates them best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autograder.assignment.assignment import Assignment
from autograder.checks.declaration import Declaration, Question
from autograder.checks.evidence import tensor_among
from autograder.checks.failures import CheckFailed
from autograder.checks.sample import Sample
from autograder.checks.session import CheckSession
from autograder.diagnosis.explain import Observation
from autograder.sandbox.host.student import StudentFault, StudentRaised


class TieBreaks:
    """Asks a student's name once more."""

    def __init__(
        self,
        assignment: Assignment,
        session: CheckSession,
        sample: Sample,
        declared: Mapping[str, Declaration],
    ) -> None:
        self._assignment = assignment
        self._session = session
        self._sample = sample
        self._declared = declared

    def questions(self, name: str) -> Sequence[Question]:
        """What the name may be asked."""
        return self._declared[name].questions(self._sample)

    def ask(self, name: str, question: Question) -> Observation | None:
        """What the name answers; None where nothing can be learned from it."""
        try:
            self._session.enter(self._assignment.stage_of(name))
            reply = question.ask(self._session.student(f"further::{name}"))
        except StudentRaised as raised:
            return Observation(question.given, None, f"{raised.kind}: {raised.text}")
        except (StudentFault, CheckFailed):
            return None
        value = tensor_among(reply.value, ())
        if value is None or value.is_complex():
            return None
        return Observation(question.given, value.float())
