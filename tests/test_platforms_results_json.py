"""`results.json`: a file that Gradescope takes, whatever became of the submission."""

import json

import msgspec
import pytest

from autograder.assignment.assignment import Assignment
from autograder.errors import InternalError
from autograder.platforms.results_json import check, encode, failed, results_of
from autograder.platforms.warm import unreadable
from autograder.results.result import Result, decode_result
from tests.conftest import ASSIGNMENT, ROOT

EXAMPLES = {
    path.stem: decode_result(path.read_bytes())
    for path in sorted((ROOT / "tests" / "golden").glob("*.json"))
}


def with_policy(explanations: str, online: str) -> Assignment:
    feedback = msgspec.structs.replace(
        ASSIGNMENT.feedback, explanations=explanations, explanations_online=online
    )
    return msgspec.structs.replace(ASSIGNMENT, feedback=feedback)


class TestEveryExample:
    @pytest.mark.parametrize("result", EXAMPLES.values(), ids=EXAMPLES)
    def test_it_gives_a_file_that_the_platform_takes(self, result: Result) -> None:
        results = check(encode(results_of(result, ASSIGNMENT, leaderboard=True)))
        assert results.score == result.score
        stages = [test for test in results.tests if "." not in (test.number or "")]
        criteria = [test for test in results.tests if "." in (test.number or "")]
        assert sum(test.score or 0.0 for test in stages) == result.score
        assert sum(test.score or 0.0 for test in criteria) == result.score
        assert [test.number for test in stages] == [
            str(number) for number, _ in enumerate(result.stages, 1)
        ]

    def test_there_are_some_of_every_kind(self) -> None:
        assert len(EXAMPLES) >= 15
        assert {result.status for result in EXAMPLES.values()} == {None, "error"}


class TestWhatIsShownWhen:
    def test_by_default_stages_at_once_and_reasons_after_the_due_date(self) -> None:
        results = results_of(EXAMPLES["rosa"], ASSIGNMENT)
        for test in results.tests:
            is_stage = "." not in (test.number or "")
            assert test.visibility == ("visible" if is_stage else "after_due_date")
        lost = next(test for test in results.tests if test.tags and test.status == "failed")
        for test in results.tests:  # no reason where all is visible at once
            if test.visibility == "visible":
                assert (lost.output or "") not in (test.output or "")

    @pytest.mark.parametrize(
        ("explanations", "online", "visibility"),
        [
            ("always", "always", "visible"),
            ("after_due", "always", "after_due_date"),
            ("always", "after_due", "after_due_date"),
        ],
    )
    def test_the_stricter_of_two_policies_counts(
        self, explanations: str, online: str, visibility: str
    ) -> None:
        results = results_of(EXAMPLES["rosa"], with_policy(explanations, online))
        assert {test.visibility for test in results.tests if test.tags} == {visibility}

    def test_never_means_points_without_reasons(self) -> None:
        results = results_of(EXAMPLES["rosa"], with_policy("always", "never"))
        said = {test.output for test in results.tests if test.tags}
        assert said <= {"All points.", "wrong", "raised an error", "not found", "could not be seen"}

    def test_there_is_no_leaderboard_unless_asked_for(self) -> None:
        assert results_of(EXAMPLES["ada"], ASSIGNMENT).leaderboard == ()
        (leader,) = results_of(EXAMPLES["ada"], ASSIGNMENT, leaderboard=True).leaderboard
        assert leader.value == EXAMPLES["ada"].score


class TestWorkThatHasNoResult:
    def test_unreadable_work_gets_no_points_and_the_reason(self) -> None:
        results = check(encode(results_of(unreadable(ASSIGNMENT, "x", "no .py in it"), ASSIGNMENT)))
        assert results.score == 0.0
        assert "no \\.py in it" in (results.output or "")

    def test_a_fault_of_the_kit_says_that_the_zero_does_not_count(self) -> None:
        results = check(encode(failed("a `process` <ended>")))
        assert "no fault of yours" in (results.output or "")
        assert "`process` \\<ended\\>" in (results.output or "")
        assert results.extra_data == {"kit_failed": True}


class TestTheCheck:
    @pytest.mark.parametrize(
        ("change", "told"),
        [
            ({"score": None}, "score"),
            ({"score": "12"}, "score"),
            ({"score": -1.0}, "score"),
            ({"grade": 1.0}, "grade"),
            ({"visibility": "sometimes"}, "visibility"),
            ({"tests": [{"score": 3.0, "max_score": 2.0}]}, "more than its maximum"),
            ({"tests": [{"number": 3}]}, "number"),
            ({"tests": [{"status": "ok"}]}, "status"),
            ({"output_format": "markdown"}, "output_format"),
            ({"leaderboard": [{"name": "x"}]}, "value"),
        ],
    )
    def test_it_refuses_what_the_platform_does_not_know(
        self, change: dict[str, object], told: str
    ) -> None:
        good: dict[str, object] = json.loads(encode(results_of(EXAMPLES["ada"], ASSIGNMENT)))
        good["tests"] = []
        check(json.dumps(good).encode())
        with pytest.raises(InternalError, match=told):
            check(json.dumps(good | change).encode())
