"""All hidden checks on one submission: who is asked what, when, and with whose functions.

First all checks of all names run side by side on the work as it was handed in; of right work no
more is asked. What did not pass is then looked at name by name: with trusted functions where
earlier stages are wrong, and with properties where outputs differ from the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

from msgspec.structs import replace

from autograder.assignment.assignment import Assignment, Stage
from autograder.assignment.subject import hook
from autograder.checks.borrowing import borrowed_in
from autograder.checks.check_spec import BuiltOn, CheckSpec, hidden_checks
from autograder.checks.evidence import Evidence, Observer, Outcome, References, outcome_of
from autograder.checks.loop import together
from autograder.checks.marks import JUDGED, LAZY
from autograder.checks.sample import Sample
from autograder.checks.session import CheckSession, right
from autograder.sandbox.host.questions import Ask

#: Stage and name of some checks, and these in the order in which they are asked.
Turn = tuple[Stage, str, tuple[CheckSpec, ...]]


class Asked(NamedTuple):
    """How a check ended, and what it compared meanwhile."""

    end: BaseException | None
    evidence: Evidence


class Checks:
    """The hidden checks of an assignment, with the inputs of a course."""

    def __init__(self, assignment: Assignment, secret: bytes) -> None:
        self.assignment = assignment
        self.sample: Sample = (hook(assignment, "sample_of") or Sample)(secret)
        self.references = References()
        hidden = hidden_checks(assignment)
        self.specs = hidden.specs
        self.declared = hidden.declared
        self._built_on = hidden.built_on
        self._turns: tuple[Turn, ...] = tuple(
            (*place, tuple(group))
            for place, group in groupby(self.specs, lambda spec: (spec.stage, spec.check.name))
        )
        self._ranks = {spec.check.name: spec.rank for spec in self.specs}

    def run(
        self,
        session: CheckSession,
        stages: frozenset[str] | None = None,
        *,
        thorough: bool = False,
        before_lending: Callable[[CheckSession], None] = lambda session: None,
    ) -> Evidence:
        """All checks on one submission.

        Args:
            session: The submission.
            stages: The stages to check; all of them, where nothing is said.
            thorough: Whether properties are asked of right names too. Where all outputs are right
                they could say nothing else.
            before_lending: Called before wrong names are tried with trusted functions, which takes
                fresh guests.

        Returns:
            Outcomes in the order of stages and names, and what was compared.

        Raises:
            InternalError: A check itself is at fault.
        """
        turns = [turn for turn in self._turns if stages is None or turn[0].id in stages]
        wrong: set[str] = set()
        faulty: set[str] = set()  # what others may have borrowed from
        evidence = session.evidence
        known = self._all_at_once(turns, session)
        for stage, name, specs in self._in_turn(turns, session):
            session.enter(stage)
            before = len(evidence.outcomes), len(evidence.recorded)
            if not self._examine(specs, session, stage, known, thorough):
                # Perhaps it is wrong through functions of earlier stages alone.
                del evidence.outcomes[before[0] :], evidence.recorded[before[1] :]
                self._examine(specs, session, stage, {}, thorough)
            lost = {
                outcome.check.kind
                for outcome in evidence.outcomes[before[0] :]
                if outcome.status != "passed"
            }
            session.findings[right(name)] = not lost
            if "values" in lost:
                wrong.add(name)
            if lost & JUDGED:
                faulty.add(name)
        evidence.outcomes.sort(key=lambda outcome: self._ranks[outcome.check.name])
        if wrong:
            self._look_with_borrowed_functions(session, faulty, before_lending)
        return evidence

    def _in_turn(self, turns: Sequence[Turn], session: CheckSession) -> Iterator[Turn]:
        """Stage, name and checks, name by name as written.

        While a stand-in is in the guest, names of the stage that need it too come first, since to
        put it there once more takes a fresh guest.
        """
        left = list(turns)
        while left:
            chosen = 0
            if session.has_stand_in:
                alike = (each[0] is left[0][0] and each[1] in self._built_on for each in left)
                chosen = next((number for number, wants in enumerate(alike) if wants), 0)
            yield left.pop(chosen)

    # Asking ---------------------------------------------------------------------------------

    def _all_at_once(self, turns: Sequence[Turn], session: CheckSession) -> dict[str, Asked]:
        """What all checks see of the work as it was handed in, by identifier.

        What names are built on is presumed to be right. Nothing is known where somebody hangs or
        crashes.
        """
        presumed = dict(session.findings)
        for built_on in self._built_on.values():
            presumed |= built_on.presumed
        specs = [
            spec
            for _, _, each in turns
            if session.absent(each[0].check) is None
            for spec in each
            if spec.check.kind not in LAZY
        ]
        asked = self._together(specs, session, presumed) or []
        return {spec.identifier: each for spec, each in zip(specs, asked, strict=False)}

    def _examine(
        self,
        specs: Sequence[CheckSpec],
        session: CheckSession,
        stage: Stage,
        known: Mapping[str, Asked],
        thorough: bool,
    ) -> bool:
        """All checks of one name; its outcomes are evidence.

        False where they ended early, because from then on trusted functions stand in the place of
        earlier stages' wrong ones: then all are to be run again.
        """
        absent = session.absent(specs[0].check)
        eager = [spec for spec in specs if spec.check.kind not in LAZY]
        lazy = [spec for spec in specs if spec.check.kind in LAZY]
        wrong = thorough
        for part in (eager, lazy):
            if part is lazy and not wrong:
                continue
            outcomes = (
                self._outcomes(part, session, stage, known)
                if absent is None
                else [replace(absent, check=spec.check, check_id=spec.identifier) for spec in part]
            )
            if outcomes is None:
                return False
            session.evidence.outcomes += outcomes
            wrong = wrong or any(
                outcome.status != "passed" and outcome.check.kind == "values"
                for outcome in outcomes
            )
        return True

    def _outcomes(
        self,
        specs: Sequence[CheckSpec],
        session: CheckSession,
        stage: Stage,
        known: Mapping[str, Asked],
    ) -> list[Outcome] | None:
        """How some checks of one name end; None where help with earlier stages was called for."""
        asked = self._taken_over(specs, session, known)
        if asked is None:
            if specs and not self._has_what_it_is_built_on(specs[0].check.name, session):
                session.bring_with(self._built_on[specs[0].check.name].source)
            else:
                session.bring()
            asked = self._together(specs, session, session.findings)
        if asked is None:
            return self._one_by_one(specs, session, stage)
        outcomes = [_outcome(spec, each) for spec, each in zip(specs, asked, strict=True)]
        if any(outcome.status != "passed" for outcome in outcomes) and session.help(stage):
            return None
        for each in asked:
            session.evidence.recorded += each.evidence.recorded
        return outcomes

    def _taken_over(
        self, specs: Sequence[CheckSpec], session: CheckSession, known: Mapping[str, Asked]
    ) -> list[Asked] | None:
        """What was seen of a name when all checks ran at once, as far as it can be relied on."""
        if not specs or not all(spec.identifier in known for spec in specs):
            return None
        built_on = self._built_on.get(specs[0].check.name)
        if built_on is not None and not session.findings.get(right(built_on.name)):
            return None
        asked = [known[spec.identifier] for spec in specs]
        if session.is_plain or all(each.end is None for each in asked):
            return asked
        return None

    def _has_what_it_is_built_on(self, name: str, session: CheckSession) -> bool:
        """Whether the student's own may serve, or there is nothing that a name is built on."""
        built_on = self._built_on.get(name)
        if built_on is None:
            return True
        if built_on.name not in session.findings:
            session.findings.update(self._findings_of(built_on, session))
        return session.findings[built_on.name]

    @staticmethod
    def _findings_of(built_on: BuiltOn, session: CheckSession) -> Mapping[str, bool]:
        if session.findings.get(right(built_on.name)):
            return built_on.presumed
        return built_on.serves(session.student(f"serves::{built_on.name}"))

    def _together(
        self,
        specs: Sequence[CheckSpec],
        session: CheckSession,
        findings: Mapping[str, bool],
    ) -> list[Asked] | None:
        """Ask checks side by side in the guest that is there; None where that does not work."""
        evidences = [Evidence() for _ in specs]
        ends = together(
            session.session,
            [
                partial(self._end_of, spec, session, evidence, findings)
                for spec, evidence in zip(specs, evidences, strict=True)
            ],
        )
        if ends is None:
            return None
        return [Asked(*each) for each in zip(ends, evidences, strict=True)]

    def _one_by_one(
        self, specs: Sequence[CheckSpec], session: CheckSession, stage: Stage
    ) -> list[Outcome] | None:
        """The same checks, each alone; ends with the first that fails where help may be had."""
        outcomes = []
        for spec in specs:
            outcome = self._alone(spec, session, session.evidence)
            if outcome.status != "passed" and session.help(stage):
                return None
            outcomes.append(outcome)
        return outcomes

    def _alone(self, spec: CheckSpec, session: CheckSession, evidence: Evidence) -> Outcome:
        """One check, each of its questions in a frame of its own."""
        end = self._end_of(spec, session, evidence, session.findings, None)
        return _outcome(spec, Asked(end, evidence))

    def _end_of(
        self,
        spec: CheckSpec,
        session: CheckSession,
        evidence: Evidence,
        findings: Mapping[str, bool],
        ask: Ask | None,
    ) -> BaseException | None:
        """Run one check; what it raised."""
        dialogue = session.session.open(spec.identifier, ask)
        given: dict[str, object] = {}
        for name in spec.asked:
            if name == "student":
                given[name] = session.session.names_of(dialogue)
            elif name == "sample":
                given[name] = self.sample
            elif name == "findings":
                given[name] = findings
            elif name == "declared":
                given[name] = self.declared[spec.check.name]
            else:
                given[name] = Observer(
                    evidence,
                    spec.catalogue,
                    spec.identifier,
                    spec.check,
                    self.references,
                    spec.counted,
                )
        try:
            spec.run(**spec.arguments, **given)
        except Exception as error:
            return error
        finally:
            dialogue.end()
        return None

    # Borrowing ------------------------------------------------------------------------------

    def _look_with_borrowed_functions(
        self,
        session: CheckSession,
        faulty: set[str],
        before_lending: Callable[[CheckSession], None],
    ) -> None:
        """Find the names that are wrong only through other functions of their stage."""
        failed = {
            outcome.check_id for outcome in session.evidence.outcomes if outcome.status != "passed"
        }

        def passes(name: str, everything: bool) -> bool:
            specs = [
                spec
                for spec in self.specs
                if spec.check.kind in JUDGED
                and spec.check.name == name
                and (everything or spec.identifier in failed)
            ]
            asked = self._together(specs, session, session.findings)
            if asked is None:
                return all(
                    self._alone(spec, session, Evidence()).status == "passed" for spec in specs
                )
            return all(
                _outcome(spec, each).status == "passed"
                for spec, each in zip(specs, asked, strict=True)
            )

        lost = {
            stage: faulty & set(stage.names)
            for stage in self.assignment.stages
            if stage.id in session.equivalents
        }
        lost = {stage: names for stage, names in lost.items() if len(names) > 1}
        if lost:
            before_lending(session)
        for stage, names in lost.items():
            session.evidence.borrowed |= borrowed_in(session, stage, names, passes)


def _outcome(spec: CheckSpec, asked: Asked) -> Outcome:
    return outcome_of(spec.identifier, spec.check, asked.end)
