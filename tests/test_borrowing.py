"""Who made a mistake and who only calls whoever did; and how few guests it takes to tell."""

from collections.abc import Collection, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from autograder.checks.borrowing import borrowed_in
from autograder.checks.check_spec import equivalents_of
from autograder.checks.evidence import Evidence, Outcome
from autograder.checks.marks import Check
from autograder.checks.session import CheckSession, functions_in, only_functions
from autograder.results.result import Status
from autograder.sandbox.host.loaded import LoadReport
from tests.conftest import ASSIGNMENT

EQUIVALENTS = equivalents_of(ASSIGNMENT)
FIRST = ASSIGNMENT.stage("simplified")
CAUSAL = ASSIGNMENT.stage("causal")
LAST = ASSIGNMENT.stage("multi_head")


class Guests:
    """A session without guests that tells what stands in the student's place."""

    def __init__(self) -> None:
        self.report = LoadReport()
        self.there: frozenset[str] = frozenset()
        self.called = True
        self.begun = 1

    def substitute(self, source: str, called: bool = True) -> None:
        self.there, self.called = functions_in(source), called
        self.begun += 1

    def restart(self) -> None:
        self.there, self.called = frozenset(), True
        self.begun += 1

    def begin_check(self, check: str) -> None:
        pass

    def student(self, check: str) -> object:
        return SimpleNamespace(check=check)


def trial_of(**statuses: Status) -> tuple[CheckSession, Guests]:
    """A trial in which checks of these names ended so."""
    guests = Guests()
    trial = CheckSession(ASSIGNMENT, cast(Any, guests), EQUIVALENTS)
    trial.evidence.outcomes += [
        Outcome(f"a check of {name}", Check(name, "values"), status)
        for name, status in statuses.items()
    ]
    return trial, guests


class Code:
    """Functions that are wrong by themselves, or through others that they call."""

    def __init__(self, guests: Guests, wrong: Collection[str], calls: Mapping[str, str]) -> None:
        self.guests = guests
        self.wrong = wrong
        self.calls = calls
        self.asked: list[tuple[str, bool]] = []

    def passes(self, name: str, everything: bool) -> bool:
        self.asked.append((name, everything))
        assert not self.guests.called
        return self.is_right(name, ())

    def is_right(self, name: str, above: tuple[str, ...]) -> bool:
        if name in self.wrong or name in above:
            return False
        called = self.calls.get(name)
        if called is None or called in self.guests.there:
            return True
        return self.is_right(called, (*above, name))


@pytest.mark.parametrize(
    ("wrong", "calls", "borrowed", "guests"),
    [
        ({"softmax"}, {"attention_weights": "softmax", "context_vectors": "softmax"}, 2, 2),
        (
            {"softmax"},
            {"context_vectors": "attention_weights", "attention_weights": "softmax"},
            2,
            2,
        ),
        ({"softmax", "attention_weights"}, {"context_vectors": "softmax"}, 1, 2),
        ({"softmax", "attention_weights", "context_vectors"}, {}, 0, 1),
        ((), {"softmax": "attention_weights", "attention_weights": "softmax"}, 0, 1),
    ],
    ids=["directly", "through another", "two culprits", "all by themselves", "each other"],
)
def test_a_mistake_is_borrowed_by_those_that_are_right_without_the_culprits(
    wrong: Collection[str], calls: dict[str, str], borrowed: int, guests: int
) -> None:
    lost = {*wrong, *calls}
    trial, session = trial_of()
    code = Code(session, wrong, calls)
    found = borrowed_in(trial, FIRST, lost, code.passes)
    assert len(found) == borrowed
    assert found == (lost - set(wrong) if borrowed else set())
    assert session.begun == 1 + guests
    assert {name for name, everything in code.asked if everything} == found  # all their checks


def test_what_no_library_function_can_stand_in_for_is_lent_to_nobody() -> None:
    trial, session = trial_of()
    code = Code(session, {"CausalAttention"}, {"masked_weights": "CausalAttention"})
    assert not borrowed_in(trial, CAUSAL, {"CausalAttention", "masked_weights"}, code.passes)


def test_evidence_is_not_touched_by_what_is_tried() -> None:
    trial, _ = trial_of(softmax="failed")
    evidence = trial.evidence

    def passes(name: str, everything: bool) -> bool:
        assert trial.evidence is not evidence
        return False

    borrowed_in(trial, FIRST, {"softmax", "attention_weights"}, passes)
    assert trial.evidence is evidence
    assert trial.evidence != Evidence()
    assert not trial.lending


# Later stages -------------------------------------------------------------------------------


def test_a_later_stage_begins_in_the_same_guest_whatever_failed_before() -> None:
    trial, session = trial_of(causal_mask="failed", CausalAttention="failed")
    trial.enter(LAST)
    trial.student("a check")
    assert (session.begun, session.there) == (1, frozenset())


def test_a_stage_that_is_not_right_gets_library_functions_once() -> None:
    trial, session = trial_of(causal_mask="failed", softmax="failed")
    trial.findings["something"] = True
    trial.enter(LAST)
    assert trial.help(LAST)
    assert not trial.findings
    for check in ("one", "other"):
        trial.student(check)
    assert session.there == {
        name for source in EQUIVALENTS.values() for name in functions_in(source)
    }
    assert session.called
    assert session.begun == 2
    assert not trial.help(LAST)  # they are there


def test_no_function_is_lent_for_a_class_that_is_wrong() -> None:
    trial, session = trial_of(CausalAttention="failed", causal_mask="passed")
    trial.enter(LAST)
    assert not trial.help(LAST)
    trial.student("a check")
    assert session.begun == 1


@pytest.mark.parametrize("status", ["timeout", "killed"])
def test_what_hung_is_replaced_before_a_later_stage_calls_it(status: Status) -> None:
    trial, session = trial_of(causal_mask=status)
    trial.enter(LAST)
    trial.student("a check")
    assert "causal_mask" in session.there


def test_a_stage_is_entered_again_as_it_was_left() -> None:
    trial, session = trial_of(causal_mask="failed")
    trial.enter(LAST)
    trial.help(LAST)
    trial.student("of the last stage")
    trial.enter(CAUSAL)
    trial.student("of the one before")
    assert session.there == frozenset()
    assert not trial.is_there(LAST)
    trial.student("of the last stage again")
    assert "causal_mask" in session.there
    assert trial.is_there(LAST)


def test_a_stand_in_stays_from_name_to_name_and_goes_with_the_first_that_wants_none() -> None:
    trial, session = trial_of()
    trial.enter(LAST)
    for _ in ("one name", "another"):
        trial.bring_with("def head():\n    pass\n")
    assert (session.begun, session.there) == (2, {"head"})
    trial.student("third")
    assert (session.begun, session.there) == (3, frozenset())


def test_source_is_cut_to_the_functions_that_are_named() -> None:
    source = EQUIVALENTS["simplified"]
    cut = only_functions(source, frozenset({"softmax"}))
    assert functions_in(cut) == {"softmax"}
    assert "import torch" in cut


def test_stages_after_one_that_was_not_right_begin_with_library_functions() -> None:
    trial, session = trial_of(softmax="failed")
    trial.enter(ASSIGNMENT.stage("trainable"))
    trial.help(ASSIGNMENT.stage("trainable"))
    for stage in (CAUSAL, LAST):
        trial.enter(stage)
        trial.student(stage.id)
    assert session.there == functions_in(EQUIVALENTS["simplified"])
    assert session.begun == 2
