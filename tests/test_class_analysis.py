"""Which mistakes a class made, who shares an unknown one, and whose code did not come to an end."""

import pytest

from autograder.diagnosis.fingerprint import Trace
from autograder.gradebook.class_analysis import (
    Ended,
    Graded,
    analysed,
    by_status,
    ended,
    groups,
    mistakes,
)
from autograder.results.details import Details
from autograder.results.result import CriterionResult, Result, ShareResult, StageResult, Status


def graded(name: str, *named: str, titles: dict[str, str] | None = None) -> Graded:
    criteria = tuple(
        CriterionResult("masking", "No peeking", 0.0, 9.0, "failed", "", (each,), ())
        for each in named
    )
    stages = tuple(
        StageResult(stage, stage, 0.0, 9.0, criteria) for stage in ("causal", "multi_head")
    )
    result = Result(1, name, "d", "attention", 0.0, 18.0, stages, ())
    return Graded(result, Details(titles=titles or {}))


class TestMistakes:
    def test_the_most_common_come_first_and_equals_by_name(self) -> None:
        found = mistakes([graded("ada", "b"), graded("bob", "b", "c"), graded("eve", "a")])
        assert [(each.id, each.students) for each in found] == [
            ("b", ("ada", "bob")),
            ("a", ("eve",)),
            ("c", ("bob",)),
        ]

    def test_a_student_counts_once_however_often_it_shows(self) -> None:
        (found,) = mistakes([graded("ada", "a", "a")])
        assert (found.students, found.stages) == (("ada",), ("causal", "multi_head"))

    def test_a_title_is_the_catalogue_s_or_made_of_the_id(self) -> None:
        first, second = mistakes([graded("ada", "no-mask", "no-scale", titles={"no-mask": "bare"})])
        assert (first.title, second.title) == ("bare", "no scale")


def prints(*numbers: float | None) -> Details:
    """Details with a fingerprint of one output."""
    trace = Trace((len(numbers),), numbers, 1.0)
    return Details(fingerprints={"softmax": (trace,)})


class TestGroups:
    def of(self, **details: Details) -> list[tuple[str, ...]]:
        return [group.students for group in groups(details)]

    def test_the_same_outputs_are_a_group(self) -> None:
        assert self.of(ada=prints(1, 0.5), bob=prints(1, 0.5), eve=prints(0.5, 1)) == [
            ("ada", "bob")
        ]

    def test_a_last_digit_makes_no_difference(self) -> None:
        assert self.of(ada=prints(1, 0.5), bob=prints(1, 0.501)) == [("ada", "bob")]

    @pytest.mark.parametrize("other", [(1.0,), (1.0, None), (1.0, 0.6), (None, None)])
    def test_other_numbers_are_none(self, other: tuple[float | None, ...]) -> None:
        assert self.of(ada=prints(1, 0.5), bob=prints(*other)) == []

    def test_the_largest_group_comes_first(self) -> None:
        few, many = prints(1, 0.5), prints(0.25, 1)
        assert self.of(a=few, b=many, c=few, d=many, e=many) == [("b", "d", "e"), ("a", "c")]

    def test_names_are_kept_apart(self) -> None:
        trace = Trace((1,), (1.0,), 1.0)
        details = {
            "ada": Details(fingerprints={"softmax": (trace,)}),
            "bob": Details(fingerprints={"causal_mask": (trace,)}),
        }
        assert groups(details) == ()


def shares(name: str, **statuses: Status) -> Result:
    held = tuple(ShareResult(each, 0.0, 1.0, status, ()) for each, status in statuses.items())
    criterion = CriterionResult("masking", "", 0.0, 1.0, "failed", "", (), held)
    return Result(
        1,
        name,
        "d",
        "attention",
        0.0,
        1.0,
        (StageResult("causal", "", 0.0, 1.0, (criterion, criterion)),),
        (),
    )


class TestEnded:
    def test_only_what_did_not_end_by_itself_is_told(self) -> None:
        found = ended(
            [shares("ada", a="timeout", b="failed", c="missing"), shares("bob", a="passed")]
        )
        assert found == (Ended("ada", (("a", "timeout"),)),)

    def test_the_worst_of_a_name_counts(self) -> None:
        both = shares("ada", a="error")
        worse = shares("ada", a="killed")
        result = Result(1, "ada", "d", "attention", 0.0, 1.0, (*both.stages, *worse.stages), ())
        assert ended([result]) == (Ended("ada", (("a", "killed"),)),)

    def test_students_are_counted_by_what_happened(self) -> None:
        found = ended([shares("ada", a="timeout", b="error"), shares("bob", a="timeout")])
        assert by_status(found) == {"timeout": 2, "error": 1}


def test_a_class_of_nobody_has_nothing_to_tell() -> None:
    found = analysed([], [("causal", "Causal", 30.0)])
    assert found.total.scores is None
    assert found.items.items == ()
    assert (found.mistakes, found.unexplained, found.ended) == ((), (), ())


def test_unreadable_work_counts_as_zero_and_what_the_kit_failed_on_not_at_all() -> None:
    unread = Graded(Result(1, "eve", "", "attention", 0.0, 9.0, (), (), "error", "damaged"))
    failed = Graded(Result(1, "kim", "d", "attention", None, 9.0, (), ()))
    found = analysed([unread, failed], [("causal", "Causal", 9.0)])
    assert found.total.scores is not None
    assert (found.total.scores.count, found.total.scores.mean) == (1, 0.0)
    assert (found.unread, found.ungraded) == (("eve",), ("kim",))
