"""What the checks of a name ask first, and next, found out once for all submissions.

What a check asks may hang on what was found out about a submission before (`findings`), so it is
rehearsed for the same findings; one that has to ask before it knows whom it is to test cannot be
rehearsed. What is asked of a module hangs on what it was told to be, so it is found out once for
modules that are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

import pytest

from autograder.checks.check_spec import Place, arguments
from autograder.checks.evidence import Evidence, Observer, References
from autograder.checks.kept import Kept
from autograder.checks.marks import LAZY
from autograder.checks.sample import Sample
from autograder.checks.trial import Trial
from autograder.sandbox.host.foresight import Script
from autograder.sandbox.host.rehearsal import Rehearsal, Run
from autograder.sandbox.host.student import Student

Checks = Sequence[tuple[pytest.Item, Place]]


class Rehearsed:
    """Scripts by the checks that they are for and by what was told of the modules of these."""

    def __init__(self, sample: Sample, references: References) -> None:
        self._sample = sample
        self._references = references
        self._rehearsal: Rehearsal | None = None
        self._scripts: Kept[Script | None] = Kept(MOST_SCRIPTS)
        self._looked_up: set[str] = set()  # findings that scripts hang on

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
        runs = dict(self._runs(checks, trial.findings))
        found = tuple([(each, trial.findings.get(each)) for each in sorted(self._looked_up)])
        key: Hashable = (shares, found, *runs)
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

    def _runs(self, checks: Checks, findings: Mapping[str, bool]) -> Iterator[tuple[str, Run]]:
        for item, place in checks:
            if place.plain:
                assert isinstance(item, pytest.Function)
                yield place.identifier, partial(self._run, item, place, findings)

    def _run(
        self, item: pytest.Function, place: Place, findings: Mapping[str, bool], student: Student
    ) -> None:
        found = _Findings(findings, self._looked_up)
        makers: Mapping[str, Callable[[Place], object]] = {
            "student": lambda place: student,
            "sample": lambda place: self._sample,
            "observe": self._observer,
            "unaided": lambda place: lambda: _SOMEBODY,
            "substitute": lambda place: _not_foreseen,
            "findings": lambda place: found,
        }
        given = arguments(place, place.asked, dict(place.given), makers)
        item.obj(
            **{name: student if value is _SOMEBODY else value for name, value in given.items()}
        )

    def _observer(self, place: Place) -> Observer:
        return Observer(
            Evidence(),
            place.catalogue,
            place.identifier,
            place.check,
            self._references,
            place.counted,
        )


class _Findings(dict[str, bool]):
    """A copy of what was found out; what is looked up in it is told."""

    def __init__(self, findings: Mapping[str, bool], looked_up: set[str]) -> None:
        super().__init__(findings)
        self._looked_up = looked_up

    def __getitem__(self, what: str) -> bool:
        self._looked_up.add(what)
        return super().__getitem__(what)

    def get(self, what: str, default: Any = None) -> Any:
        self._looked_up.add(what)
        return super().get(what, default)


def _not_foreseen(source: str) -> NoReturn:
    """In the place of what puts stand-ins into the guest."""
    raise LookupError("a check with stand-ins is not rehearsed")


#: In the place of the student while a check finds out whom it is to test: there is nobody to ask.
_SOMEBODY = object()

#: Scripts kept. Students differ in what they call the parts of their modules, and in little else.
MOST_SCRIPTS = 256
