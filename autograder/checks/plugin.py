"""The pytest plugin of the hidden checks: fixtures, what a check's end means, the run.

The worker registers one `Checks` and lets it run submission after submission in one session; a
teacher who calls pytest by hand gets the same object from `conftest.py`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

import pytest
from msgspec.structs import replace

from autograder.assignment.assignment import Assignment, Stage
from autograder.attention.checks.seeing import look_ahead
from autograder.checks.borrowing import borrowed_in
from autograder.checks.by_pytest import end_by_pytest
from autograder.checks.check_spec import Place, arguments, place_of, stands_in
from autograder.checks.evidence import Evidence, Observer, Outcome, References, outcome_of
from autograder.checks.marks import JUDGED, LAZY
from autograder.checks.rehearsing import Rehearsed
from autograder.checks.sample import Sample
from autograder.checks.trial import Trial, right
from autograder.errors import InternalError
from autograder.sandbox.host.student import Student


def check_files(assignment: Assignment) -> list[Path]:
    """The files of hidden checks in the stages' order; a stage may have several."""
    files: list[Path] = []
    for stage in assignment.stages:
        module = importlib.import_module(stage.checks)
        assert module.__file__ is not None
        main = Path(module.__file__)
        files += [main, *sorted(main.parent.glob(f"{main.stem}_*.py"))]
    return files


def equivalents_of(assignment: Assignment) -> dict[str, str]:
    """The trusted functions of each stage that has some, as source."""
    found = {}
    for stage in assignment.stages:
        source = getattr(importlib.import_module(stage.checks), "EQUIVALENTS", None)
        if source is not None:
            found[stage.id] = str(source)
    return found


Substitute = Callable[[str], Student]
Unaided = Callable[[], Student]
#: Stage and name of some checks, and these in the order in which they are asked.
Turn = tuple[Stage, str, list[pytest.Item]]


class Checks:
    """The hidden checks as one pytest session sees them."""

    def __init__(self, assignment: Assignment, secret: bytes) -> None:
        self.assignment = assignment
        self.sample = Sample(secret)
        self.trial: Trial | None = None
        self.references = References()
        self._rehearsed = Rehearsed(self.sample, self.references)
        self._places: dict[int, Place] = {}  # by the id of its item, which it holds
        self._makers = {name: partial(maker, self) for name, maker in MAKERS.items()}
        self._turns: tuple[Sequence[pytest.Item], tuple[Turn, ...]] = ((), ())
        self._ranks: dict[str, tuple[int, int]] = {}  # of names

    @property
    def now(self) -> Trial:
        """The submission that is being checked."""
        if self.trial is None:
            raise InternalError("a check ran without a submission")
        return self.trial

    # What a check may ask for ---------------------------------------------------------------

    @pytest.fixture
    def student(self, request: pytest.FixtureRequest) -> Student:
        """The submission's names, good for this check alone."""
        return self._student(self.place(request.node))

    @pytest.fixture(name="sample")
    def given_sample(self) -> Sample:
        """Inputs and weights by label."""
        return self.sample

    @pytest.fixture
    def observe(self, request: pytest.FixtureRequest) -> Observer:
        """Compares with the reference and records what was seen."""
        return self._observer(self.place(request.node))

    @pytest.fixture
    def substitute(self, request: pytest.FixtureRequest) -> Substitute:
        """Puts trusted stand-ins in the place of names that the student has not got."""
        return self._substitute(self.place(request.node))

    @pytest.fixture
    def unaided(self, request: pytest.FixtureRequest) -> Unaided:
        """Gives the student's names once they are wanted without stand-ins."""
        return self._unaided(self.place(request.node))

    @pytest.fixture
    def findings(self) -> dict[str, bool]:
        """What checks found out about this submission and need not find out again."""
        return self.now.findings

    def _student(self, place: Place) -> Student:
        return self.now.student(place.identifier)

    def _observer(self, place: Place) -> Observer:
        return Observer(
            self.now.evidence,
            place.catalogue,
            place.identifier,
            place.check,
            self.references,
            place.counted,
        )

    def _substitute(self, place: Place) -> Substitute:
        return lambda source: self.now.substitute(place.identifier, source)

    def _unaided(self, place: Place) -> Unaided:
        return lambda: self.now.student(place.identifier)

    # How a check ends -----------------------------------------------------------------------

    def place(self, item: pytest.Item) -> Place:
        """Where a check belongs, and how it is called."""
        found = self._places.get(id(item))
        if found is None:
            found = self._places[id(item)] = place_of(item, self.assignment, MAKERS)
        return found

    def run(
        self,
        items: Sequence[pytest.Item],
        trial: Trial,
        stages: frozenset[str] | None,
        thorough: bool = False,
    ) -> Evidence:
        """All checks on one submission. Raises `InternalError` where a check itself is at fault.

        Properties are asked only of names whose outputs differ from the reference somewhere,
        unless `thorough`: where all outputs are right they could say nothing else.
        """
        wrong: set[str] = set()
        faulty: set[str] = set()  # what others may have borrowed from
        self.trial = trial
        evidence = trial.evidence
        try:
            for stage, name, asked in self._in_turn(items, trial):
                if stages is not None and stage.id not in stages:
                    continue
                trial.enter(stage)
                before = len(evidence.outcomes), len(evidence.recorded)
                if not self._ask(asked, trial, stage, thorough):
                    # Perhaps it is wrong through functions of earlier stages alone.
                    del evidence.outcomes[before[0] :], evidence.recorded[before[1] :]
                    self._ask(asked, trial, stage, thorough)
                lost = {
                    outcome.check.kind
                    for outcome in evidence.outcomes[before[0] :]
                    if outcome.status != "passed"
                }
                trial.findings[right(name)] = not lost
                if "values" in lost:
                    wrong.add(name)
                if lost & JUDGED:
                    faulty.add(name)
            evidence.outcomes.sort(key=lambda outcome: self._ranks[outcome.check.name])
            if wrong:
                self._look_with_borrowed_functions(items, trial, faulty)
        finally:
            # No fixture of one submission may serve another.
            items[0].session._setupstate.teardown_exact(None)
            self.trial = None
        return evidence

    def _in_turn(self, items: Sequence[pytest.Item], trial: Trial) -> Iterator[Turn]:
        """Stage, name and checks, name by name as written.

        While a stand-in is in the guest, names of the stage that need it too come first, since to
        put it there once more takes a fresh guest.
        """
        left = list(self._all_turns(items))
        while left:
            chosen = 0
            if trial.has_stand_in:
                alike = (each[0] is left[0][0] and stands_in(each[2]) for each in left)
                chosen = next((number for number, wants in enumerate(alike) if wants), 0)
            yield left.pop(chosen)

    def _all_turns(self, items: Sequence[pytest.Item]) -> tuple[Turn, ...]:
        """The checks name by name: the same for every submission."""
        if self._turns[0] is not items:
            ordered = sorted(items, key=self._order)
            groups = groupby(ordered, self._name_of)
            self._turns = items, tuple([(*place, list(group)) for place, group in groups])
            self._ranks = {place.check.name: place.rank for place in map(self.place, items)}
        return self._turns[1]

    def _ask(
        self, items: Sequence[pytest.Item], trial: Trial, stage: Stage, thorough: bool
    ) -> bool:
        """All checks of one name; its outcomes are evidence.

        False where they ended early, as soon as one did not pass, because from then on a library's
        functions stand in the place of earlier stages' wrong ones: then all are to be run again.
        """
        placed = [(item, self.place(item)) for item in items]
        self._rehearsed.foresee(placed, trial)
        wrong, sound = thorough, True
        for number, (item, place) in enumerate(placed, 1):
            if place.check.kind in LAZY and not wrong:
                continue
            absent = trial.absent(place.check)
            if absent is None:
                outcome = self._outcome(item, trial, taking_over=sound)
                if outcome.status != "passed" and trial.help(stage):
                    return False
            else:
                outcome = replace(absent, check_id=place.identifier)
            trial.evidence.outcomes.append(outcome)
            if outcome.status == "passed":
                continue
            before = sound, wrong
            sound, wrong = False, wrong or place.check.kind == "values"
            if before != (sound, wrong) and absent is None:
                left = [each for each in placed[number:] if wrong or each[1].check.kind not in LAZY]
                self._rehearsed.foresee_alone(left, trial)
        return True

    def _look_with_borrowed_functions(
        self, items: Sequence[pytest.Item], trial: Trial, faulty: set[str]
    ) -> None:
        """Find the names that are wrong only through other functions of their stage."""
        failed = {
            outcome.check_id for outcome in trial.evidence.outcomes if outcome.status != "passed"
        }

        def passes(name: str, everything: bool) -> bool:
            asked = [
                (item, place)
                for item, place in zip(items, map(self.place, items), strict=True)
                if place.check.kind in JUDGED
                and place.check.name == name
                and (everything or place.identifier in failed)
            ]
            if asked and not self._passes(asked[0][0]):
                return False  # as a culprit does at once
            self._rehearsed.foresee_alone(asked[1:], trial)
            return all(self._passes(item) for item, _ in asked[1:])

        lost = {
            stage: faulty & set(stage.names)
            for stage in self.assignment.stages
            if stage.id in trial.equivalents
        }
        lost = {stage: names for stage, names in lost.items() if len(names) > 1}
        if lost:
            look_ahead(trial, self.sample, self.assignment)
        for stage, names in lost.items():
            trial.evidence.borrowed |= borrowed_in(trial, stage, names, passes)

    def _outcome(self, item: pytest.Item, trial: Trial, taking_over: bool) -> Outcome:
        """How a check ends.

        As long as all is well with a name, its checks take modules over from one another. What is
        not well then is asked again of new modules, so that no point is lost to what an earlier
        check left behind.
        """
        place = self.place(item)
        recorded = len(trial.evidence.recorded)
        shelf = trial.session.shelf
        shelf.open, shelf.touched = taking_over, False
        try:
            outcome = outcome_of(place.identifier, place.check, self.end_of(item))
        finally:
            shelf.open = False
        if not shelf.touched or outcome.status in ("passed", "timeout", "killed"):
            return outcome
        del trial.evidence.recorded[recorded:]
        return outcome_of(place.identifier, place.check, self.end_of(item))

    def _passes(self, item: pytest.Item) -> bool:
        """Whether a check passes. Raises `InternalError` where it fails by itself."""
        place = self.place(item)
        return outcome_of(place.identifier, place.check, self.end_of(item)).status == "passed"

    def end_of(self, item: pytest.Item) -> BaseException | None:
        """Run one test; what it raised.

        Where a test asks for nothing but what this class gives and plain functions of its module,
        it is called at once: pytest's own setting up costs more than the check. Everything else
        goes pytest's way.
        """
        assert isinstance(item, pytest.Function)
        place = self.place(item)
        if not place.plain:
            return end_by_pytest(item)
        try:
            item.obj(**arguments(place, place.asked, dict(place.given), self._makers))
        except Exception as error:
            return error
        return None

    def _name_of(self, item: pytest.Item) -> tuple[Stage, str]:
        """The name that a check calls, and its stage."""
        place = self.place(item)
        return place.stage, place.check.name

    def _order(self, item: pytest.Item) -> tuple[tuple[int, int], bool]:
        """Stage by stage, name by name, properties after everything else; else as written."""
        place = self.place(item)
        return place.rank, place.check.kind in LAZY


#: How what a test may ask for is made without pytest, by its name.
MAKERS: Mapping[str, Callable[[Checks, Place], object]] = {
    "student": Checks._student,
    "sample": lambda checks, place: checks.sample,
    "observe": Checks._observer,
    "substitute": Checks._substitute,
    "unaided": Checks._unaided,
    "findings": lambda checks, place: checks.now.findings,
}
