"""What each case of the proof must come to, and when a part of it holds."""

from collections.abc import Callable, Sequence

import pytest

from autograder.calibration.cases import (
    ALONE,
    BOTH_ALONE,
    BOTH_NAMED,
    CAUGHT,
    EVERY_POINT,
    NAMED_FIRST,
    NO_POINT,
    Measure,
    Mistake,
    Part,
    Shortfalls,
    everything,
    lost,
    nothing,
    one_mistake,
    two_mistakes,
)
from autograder.results.result import (
    SCHEMA,
    CriterionResult,
    Result,
    ShareResult,
    StageResult,
    Status,
)


def criterion(
    identifier: str, score: float, *named: str, status: Status | None = None
) -> CriterionResult:
    told: Status = status or ("passed" if score == 4.0 else "failed")
    share = ShareResult("CausalAttention", score, 4.0, told, ())
    return CriterionResult(identifier, "A title", score, 4.0, told, "", named, (share,))


def result(**stages: Sequence[CriterionResult]) -> Result:
    found = tuple(
        StageResult(name, "A title", sum(each.score for each in held), 4.0 * len(held), tuple(held))
        for name, held in stages.items()
    )
    score = sum(stage.score for stage in found)
    return Result(
        SCHEMA, "ada", "d1", "attention", score, sum(each.max_score for each in found), found, ()
    )


RIGHT = result(
    trainable=[criterion("scaling", 4.0)],
    causal=[criterion("masking", 4.0), criterion("softmax", 4.0)],
)
NO_MASK = Mistake("no-mask", "causal", "masking", also=("mask-forgotten",))
COLUMNS = Mistake("softmax-over-queries", "causal", "softmax")


class TestWhatEachKindMustComeTo:
    """The judges of the cases."""

    def test_a_right_program_must_have_every_point(self) -> None:
        assert everything(RIGHT) == {}
        short = result(causal=[criterion("masking", 3.0), criterion("softmax", 4.0)])
        assert everything(short) == {EVERY_POINT.title: "causal.masking failed"}

    def test_a_null_program_must_have_none(self) -> None:
        assert nothing(result(causal=[criterion("masking", 0.0)])) == {}
        kept = nothing(result(causal=[criterion("masking", 1.0), criterion("softmax", 0.0)]))
        assert kept == {NO_POINT.title: "1.0 points: causal.masking (CausalAttention) 1"}

    def test_a_program_that_the_kit_could_not_score_is_neither(self) -> None:
        unscored = Result(SCHEMA, "ada", "d1", "attention", None, 100.0, (), ())
        assert everything(unscored)
        assert nothing(unscored)

    def test_what_was_lost_is_listed_with_its_stage(self) -> None:
        short = result(
            trainable=[criterion("scaling", 1.0)],
            causal=[criterion("masking", 4.0), criterion("softmax", 0.0)],
        )
        assert [(stage, each.id) for stage, each in lost(short)] == [
            ("trainable", "scaling"),
            ("causal", "softmax"),
        ]


class TestOneMistake:
    """Its own criterion lost, its name told first, nothing else lost."""

    judge: Callable[[Result], Shortfalls] = staticmethod(one_mistake(NO_MASK))

    @pytest.mark.parametrize("named", ["no-mask", "mask-forgotten"])
    def test_the_mistake_or_one_that_no_test_can_tell_from_it_will_do(self, named: str) -> None:
        found = result(causal=[criterion("masking", 0.0, named), criterion("softmax", 4.0)])
        assert self.judge(found) == {}

    def test_further_names_after_it_do_no_harm(self) -> None:
        found = result(causal=[criterion("masking", 0.0, "no-mask", "mask-added")])
        assert self.judge(found) == {}

    def test_a_mistake_that_costs_nothing_falls_short_of_everything(self) -> None:
        measures = (CAUGHT, ALONE, NAMED_FIRST)
        assert self.judge(RIGHT) == {measure.title: "not caught" for measure in measures}

    def test_a_mistake_that_costs_a_second_criterion_falls_short(self) -> None:
        found = result(causal=[criterion("masking", 0.0, "no-mask"), criterion("softmax", 3.0)])
        assert self.judge(found) == {ALONE.title: "costs softmax as well (named: no-mask)"}

    def test_what_it_keeps_from_being_seen_is_no_charge(self) -> None:
        blocked = criterion("softmax", 0.0, status="blocked")
        assert self.judge(result(causal=[criterion("masking", 0.0, "no-mask"), blocked])) == {}

    def test_a_mistake_that_costs_another_stage_falls_short(self) -> None:
        found = result(
            trainable=[criterion("scaling", 0.0)], causal=[criterion("masking", 0.0, "no-mask")]
        )
        assert self.judge(found) == {
            ALONE.title: "costs points in another stage: trainable.scaling"
        }

    def test_a_mistake_under_another_name_falls_short(self) -> None:
        other = result(causal=[criterion("masking", 0.0, "mask-added", "no-mask")])
        assert self.judge(other) == {NAMED_FIRST.title: "named mask-added, no-mask"}
        unnamed = result(causal=[criterion("masking", 0.0)])
        assert self.judge(unnamed) == {NAMED_FIRST.title: "named nothing"}


class TestTwoMistakes:
    """Both criteria lost and no other, both named, in whatever order."""

    judge: Callable[[Result], Shortfalls] = staticmethod(two_mistakes(NO_MASK, COLUMNS))

    def test_both_named_is_all_that_is_asked(self) -> None:
        found = result(
            causal=[
                criterion("softmax", 0.0, "softmax-over-queries"),
                criterion("masking", 0.0, "mask-forgotten"),
            ]
        )
        assert self.judge(found) == {}

    def test_one_unnamed_falls_short_of_that_alone(self) -> None:
        found = result(
            causal=[criterion("masking", 0.0, "no-mask"), criterion("softmax", 0.0, "softmax-log")]
        )
        assert self.judge(found) == {
            BOTH_NAMED.title: "softmax-over-queries unnamed; named no-mask, softmax-log"
        }

    def test_a_third_criterion_falls_short(self) -> None:
        found = result(
            causal=[
                criterion("masking", 0.0, "no-mask"),
                criterion("softmax", 0.0, "softmax-over-queries"),
                criterion("form", 0.0),
            ]
        )
        assert self.judge(found) == {
            BOTH_ALONE.title: "costs form as well (named: no-mask, softmax-over-queries)"
        }

    def test_two_that_cost_nothing_are_not_caught(self) -> None:
        assert self.judge(RIGHT)[CAUGHT.title] == "not caught"


class TestPart:
    """Enough cases, and of each measure enough that came to it."""

    def part(self, good: int, bad: int, needed: float, extent: int = 1) -> Part:
        part = Part("pairs", (Measure("both named", needed),), extent=extent)
        for number in range(good):
            part.add(f"good {number}", {})
        for number in range(bad):
            part.add(f"bad {number}", {"both named": "named nothing"})
        return part

    def test_a_part_holds_at_what_is_needed_and_not_below(self) -> None:
        assert self.part(9, 1, 0.9).sound
        assert not self.part(8, 2, 0.9).sound

    def test_all_means_all(self) -> None:
        assert self.part(1000, 0, 1.0).sound
        assert not self.part(999, 1, 1.0).sound

    def test_too_few_cases_prove_nothing(self) -> None:
        assert not self.part(9, 0, 0.9, extent=10).sound
        assert not self.part(0, 0, 0.9).sound
