"""Two runs side by side: whose score changed, in which criterion, and why."""

import msgspec
import pytest

from autograder.gradebook.history import PARTS, difference, parts_in_words
from autograder.results.grading_key import GradingKey
from autograder.results.result import (
    CheckOutcome,
    CriterionResult,
    Result,
    ShareResult,
    StageResult,
    Status,
)


def result(
    name: str = "ada",
    score: float = 9.0,
    status: Status = "passed",
    most: float = 9.0,
    named: tuple[str, ...] = (),
    checks: tuple[CheckOutcome, ...] = (),
    digest: str = "d",
) -> Result:
    share = ShareResult("CausalAttention", score, most, status, checks)
    criterion = CriterionResult("masking", "No peeking", score, most, status, "", named, (share,))
    stage = StageResult("causal", "Causal attention", score, most, (criterion,))
    return Result(1, name, digest, "attention", score, most, (stage,), ())


LOST = result(score=4.0, status="failed", named=("no-mask",))


def test_what_is_the_same_is_only_counted() -> None:
    found = difference([result(), result("bob")], [result(), result("bob")])
    assert (found.changes, found.same) == ((), 2)


def test_a_change_tells_criterion_scores_and_the_mistake() -> None:
    (change,) = difference([result()], [LOST]).changes
    assert (change.student, change.before, change.after) == ("ada", 9.0, 4.0)
    (criterion,) = change.criteria
    assert (criterion.stage, criterion.criterion) == ("causal", "masking")
    assert (criterion.before, criterion.after) == (9.0, 4.0)
    assert criterion.why == "passed before, failed (no-mask) now"
    assert not change.handed_in_anew


def test_new_work_is_told_as_such() -> None:
    (change,) = difference([result()], [msgspec.structs.replace(LOST, digest="e")]).changes
    assert change.handed_in_anew


def test_other_points_are_told_with_both() -> None:
    (change,) = difference([result()], [result(score=12.0, most=12.0)]).changes
    assert change.criteria[0].why == "worth 9 before and 12 now"


def test_checks_that_changed_are_named_and_many_are_counted() -> None:
    names = [f"causal::{letter}" for letter in "abcde"]
    before = result(checks=tuple(CheckOutcome(name, "passed") for name in names))
    after = result(
        score=0.0,
        status="failed",
        checks=tuple(CheckOutcome(name, "failed") for name in names[1:]),
    )
    why = difference([before], [after]).changes[0].criteria[0].why
    assert "causal::a: passed → not run, causal::b: passed → failed" in why
    assert why.endswith("and 2 more")


def test_a_criterion_that_one_run_lacks_is_told() -> None:
    bare = msgspec.structs.replace(result(), stages=(), score=0.0, message="ada.zip: damaged")
    (change,) = difference([result()], [bare]).changes
    assert change.criteria[0].why == "only the earlier run has it"
    assert change.note == "ada.zip: damaged"
    (back,) = difference([bare], [result()]).changes
    assert back.criteria[0].why == "only the later run has it"


def test_who_came_and_who_went_is_told() -> None:
    found = difference([result(), result("bob")], [result(), result("zoë")])
    assert (found.joined, found.left, found.same) == (("zoë",), ("bob",), 1)


def test_every_part_of_the_key_has_words() -> None:
    assert set(PARTS) == set(GradingKey.__struct_fields__)


@pytest.mark.parametrize(
    ("parts", "told"),
    [(("checks",), "the hidden checks"), (("limits", "new"), "the limits, new"), ((), "")],
)
def test_parts_are_told_in_words(parts: tuple[str, ...], told: str) -> None:
    assert parts_in_words(parts) == told
