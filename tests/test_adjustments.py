"""A teacher's changes lie over what was graded, survive new runs, and reach every export."""

import csv
from pathlib import Path

import msgspec
import pytest

from autograder.errors import UsageError
from autograder.exports.grades import grades_csv
from autograder.gradebook.adjustments import Adjustment, adjusted, adjusted_results, place_of
from autograder.gradebook.gradebook import Gradebook
from autograder.results.result import CriterionResult, Result, StageResult
from tests.conftest import ASSIGNMENT

STAGES = ASSIGNMENT.stages
READ = Adjustment("ada", "causal", "masking", 7.0, "read by me")


def graded(name: str = "ada") -> Result:
    criteria = (
        CriterionResult("masking", "No peeking", 4.0, 9.0, "failed", "Mask.", ("no-mask",), ()),
        CriterionResult("softmax", "Shares", 5.0, 5.0, "passed", "", (), ()),
    )
    stage = StageResult("causal", "Causal attention", 9.0, 14.0, criteria)
    return Result(1, name, "d", "attention", 9.0, 14.0, (stage,), ())


UNREAD = Result(1, "eve", "", "attention", 0.0, 100.0, (), (), "error", "damaged")
FAILED = Result(1, "kim", "d", "attention", None, 100.0, (), (), None, "the kit failed")


class TestAdjusted:
    def test_criterion_stage_and_score_follow(self) -> None:
        told = adjusted(graded(), [READ], STAGES)
        assert told.result.stages[0].criteria[0].score == 7.0
        assert told.result.stages[0].score == 12.0
        assert told.result.score == 12.0
        assert told.applied == ((READ, 4.0),)

    def test_what_was_graded_stays_as_it_was(self) -> None:
        told = adjusted(graded(), [READ], STAGES)
        assert told.raw == graded()
        assert told.result.stages[0].criteria[0].message == "Mask."
        assert told.result.stages[0].criteria[1] == graded().stages[0].criteria[1]

    def test_points_can_be_taken_too(self) -> None:
        less = msgspec.structs.replace(READ, points=0.0)
        assert adjusted(graded(), [less], STAGES).result.score == 5.0

    def test_others_are_left_alone(self) -> None:
        told = adjusted(graded("bob"), [READ], STAGES)
        assert told.result == graded("bob")
        assert told.applied == ()

    def test_a_criterion_that_is_gone_changes_nothing(self) -> None:
        gone = msgspec.structs.replace(READ, criterion="peeking")
        assert adjusted(graded(), [gone], STAGES).result == graded()

    def test_points_above_what_it_is_worth_now_count_as_its_most(self) -> None:
        generous = msgspec.structs.replace(READ, points=20.0)
        assert adjusted(graded(), [generous], STAGES).result.score == 14.0

    def test_work_that_could_not_be_read_can_be_given_points(self) -> None:
        told = adjusted(UNREAD, [msgspec.structs.replace(READ, student="eve")], STAGES).result
        assert told.score == 7.0
        assert [stage.id for stage in told.stages] == [stage.id for stage in STAGES]
        assert told.status == "error"

    def test_what_the_kit_failed_on_has_no_score_to_change(self) -> None:
        mine = msgspec.structs.replace(READ, student="kim")
        assert adjusted(FAILED, [mine], STAGES).result == FAILED

    def test_a_class_comes_back_in_its_order(self) -> None:
        told = adjusted_results([graded("bob"), graded()], [READ], STAGES)
        assert [(each.submission, each.score) for each in told] == [("bob", 9.0), ("ada", 12.0)]


class TestPlaces:
    def test_a_criterion_of_one_stage_needs_no_stage(self) -> None:
        stage, criterion, points = place_of(STAGES, "stacking")
        assert (stage.id, criterion, points) == ("multi_head", "stacking", 4.0)

    def test_one_of_several_stages_is_named_with_its_stage(self) -> None:
        stage, criterion, points = place_of(STAGES, "causal/masking")
        assert (stage.id, criterion, points) == ("causal", "masking", 9.0)

    def test_without_the_stage_the_choices_are_told(self) -> None:
        with pytest.raises(UsageError, match="choose one of causal/masking, multi_head/masking"):
            place_of(STAGES, "masking")

    def test_one_that_is_not_there_is_told_with_those_that_are(self) -> None:
        with pytest.raises(UsageError, match="'causal/peeking'; known are simplified/scores"):
            place_of(STAGES, "causal/peeking")


class TestInTheGradebook:
    @pytest.fixture
    def book(self, tmp_path: Path) -> Gradebook:
        return Gradebook(tmp_path / "out", create=True)

    def test_a_change_comes_back_with_its_time(self, book: Gradebook) -> None:
        book.adjust(READ)
        (found,) = book.adjustments()
        assert found.made
        assert msgspec.structs.replace(found, made="") == READ

    def test_the_last_one_of_a_criterion_counts(self, book: Gradebook) -> None:
        book.adjust(READ)
        book.adjust(msgspec.structs.replace(READ, points=8.0))
        book.adjust(msgspec.structs.replace(READ, student="bob"))
        assert [(each.student, each.points) for each in book.adjustments()] == [
            ("ada", 8.0),
            ("bob", 7.0),
        ]

    def test_one_that_was_taken_back_is_gone_and_can_be_made_again(self, book: Gradebook) -> None:
        book.adjust(READ)
        book.adjust(msgspec.structs.replace(READ, points=None))
        assert book.adjustments() == ()
        book.adjust(READ)
        assert len(book.adjustments()) == 1

    def test_a_gradebook_of_an_earlier_kit_gets_the_table(self, book: Gradebook) -> None:
        book._database.execute("drop table adjustments")
        book.close()
        with Gradebook(book.folder) as again:
            assert again.adjustments() == ()
            again.adjust(READ)
            assert len(again.adjustments()) == 1


class TestGradesCsv:
    def rows(self, *adjustments: Adjustment) -> list[list[str]]:
        told = grades_csv([graded(), graded("bob"), UNREAD], STAGES[2:3], adjustments)
        return list(csv.reader(told.splitlines()))

    def test_without_changes_the_columns_are_the_contract_s(self) -> None:
        assert self.rows()[0] == ["student", "causal", "score", "status"]

    def test_scores_are_those_that_count_and_the_change_is_told_apart(self) -> None:
        assert self.rows(READ) == [
            ["student", "causal", "score", "status", "changed by hand"],
            ["ada", "12", "12", "graded", "3"],
            ["bob", "9", "9", "graded", ""],
            ["eve", "0", "0", "error", ""],
        ]

    def test_points_that_were_taken_show_as_such(self) -> None:
        assert self.rows(msgspec.structs.replace(READ, points=1.0))[1][-1] == "-3"
