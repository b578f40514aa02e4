"""What the checks of a name ask first, found out once for all submissions.

Only checks that ask for nothing but the student, samples and the reference can be rehearsed: what
is found out about a submission may change what another kind asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pytest

from autograder.checks.evidence import Evidence, Observer, References
from autograder.checks.marks import LAZY
from autograder.checks.place import Place
from autograder.checks.sample import Sample
from autograder.checks.trial import Trial
from autograder.sandbox.foresight import Script
from autograder.sandbox.rehearsal import Rehearsal
from autograder.sandbox.session import Session
from autograder.sandbox.student import Student

Checks = Sequence[tuple[pytest.Item, Place]]


class Rehearsed:
    """Scripts by name."""

    def __init__(self, sample: Sample, references: References) -> None:
        self._sample = sample
        self._references = references
        self._rehearsal: Rehearsal | None = None
        self._scripts: dict[str, Script | None] = {}

    def foresee(self, checks: Checks, trial: Trial) -> None:
        """Ask at once what the checks of one name ask first, where the submission has the name."""
        check = checks[0][1].check
        if trial.absent(check) is None:
            script = self._script(check.name, checks, trial.session)
            if script is not None:
                trial.foresee(script)

    def _script(self, name: str, checks: Checks, session: Session) -> Script | None:
        """The frame of a name's checks, in their order; None where it would save nothing."""
        if name not in self._scripts:
            if self._rehearsal is None:
                self._rehearsal = Rehearsal(session.names)
            script = self._rehearsal.script(self._runs(checks))
            self._scripts[name] = script if script and len(script.parts) > 1 else None
        return self._scripts[name]

    def _runs(self, checks: Checks) -> Iterator[tuple[str, Callable[[Student], object]]]:
        for item, place in checks:
            if place.check.kind not in LAZY and {*place.asked} <= {
                *place.given,
                "student",
                "sample",
                "observe",
            }:
                assert isinstance(item, pytest.Function)
                yield place.identifier, partial(self._run, item, place)

    def _run(self, item: pytest.Function, place: Place, student: Student) -> None:
        given = {**place.given, "student": student, "sample": self._sample}
        if "observe" in place.asked:
            given["observe"] = Observer(
                Evidence(),
                place.catalogue,
                place.identifier,
                place.check,
                self._references,
                place.counted,
            )
        item.obj(**{name: given[name] for name in place.asked})
