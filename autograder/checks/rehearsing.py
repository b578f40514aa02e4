"""What the checks of a name ask first, and next, found out once for all submissions.

Only checks that ask for nothing but the student, samples and the reference can be rehearsed: what
is found out about a submission may change what another kind asks. What is asked of a module hangs
on what it was told to be, so it is found out once for modules that are alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import partial

import pytest

from autograder.checks.evidence import Evidence, Observer, References
from autograder.checks.kept import Kept
from autograder.checks.marks import LAZY
from autograder.checks.place import Place
from autograder.checks.sample import Sample
from autograder.checks.trial import Trial
from autograder.sandbox.foresight import Script
from autograder.sandbox.rehearsal import Rehearsal, Run
from autograder.sandbox.student import Student

Checks = Sequence[tuple[pytest.Item, Place]]


class Rehearsed:
    """Scripts by the checks that they are for and by what was told of the modules of these."""

    def __init__(self, sample: Sample, references: References) -> None:
        self._sample = sample
        self._references = references
        self._rehearsal: Rehearsal | None = None
        self._scripts: Kept[Script | None] = Kept(MOST_SCRIPTS)

    def foresee(self, checks: Checks, trial: Trial) -> None:
        """Ask at once what the checks of one name ask, where the submission has the name."""
        if trial.absent(checks[0][1].check) is None:
            trial.session.forget_foretold()
            chosen = [each for each in checks if each[1].check.kind not in LAZY]
            self._ask(chosen, trial, shares=True)

    def foresee_alone(self, checks: Checks, trial: Trial) -> None:
        """The same of checks that no longer take modules over from one another."""
        if trial.has_stand_in and not trial.lending:
            return  # the guest is there for the checks that need it
        known = trial.session.foretold
        self._ask([each for each in checks if each[1].identifier not in known], trial, shares=False)

    def _ask(self, checks: Checks, trial: Trial, shares: bool) -> None:
        """Frame after frame, as long as there are several checks that would ask in it."""
        if self._rehearsal is None:
            self._rehearsal = Rehearsal(trial.session.names)
        rehearsal = self._rehearsal
        runs = dict(self._runs(checks))
        key: Hashable = (shares, *runs)
        script = self._scripts.of((key,), (), partial(rehearsal.script, runs.items(), shares))
        while script is not None and len(script.parts) > 1:
            trial.foresee(script)
            told = trial.session.foretold
            known = {part.check: told[part.check] for part in script.parts if part.check in told}
            modules = {check: answer.last.modules for check, answer in known.items()}
            further = [
                (check, runs[check], known[check]) for check, each in modules.items() if each
            ]
            key = key, tuple(modules.items())
            script = self._scripts.of((key,), (), partial(rehearsal.further, further, shares))

    def _runs(self, checks: Checks) -> Iterator[tuple[str, Run]]:
        for item, place in checks:
            if {*place.asked} <= {*place.given, "student", "sample", "observe"}:
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


#: Scripts kept. Students differ in what they call the parts of their modules, and in little else.
MOST_SCRIPTS = 256
