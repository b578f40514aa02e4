"""Item statistics equal those of numpy, and small classes are told what they cannot know."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.gradebook.item_analysis import (
    BINS,
    Item,
    analyse,
    cronbach_alpha,
    distribution,
    point_biserial,
    quartiles,
    remark,
    uncertainty,
)
from autograder.results.result import CriterionResult, Result, StageResult

MOST = (2.0, 5.0, 3.0)


def result(name: str, scores: tuple[float, ...]) -> Result:
    """A submission with one stage of three criteria."""
    criteria = tuple(
        CriterionResult(f"c{number}", f"Number {number}", score, most, "passed", "", (), ())
        for number, (score, most) in enumerate(zip(scores, MOST, strict=True))
    )
    stage = StageResult("causal", "Causal", sum(scores), sum(MOST), criteria)
    return Result(1, name, "d", "attention", sum(scores), sum(MOST), (stage,), ())


rows = st.lists(
    st.tuples(*(st.integers(0, int(most)).map(float) for most in MOST)), min_size=2, max_size=40
)


class TestDistribution:
    def test_of_nobody_there_is_none(self) -> None:
        assert distribution([], 100.0) is None

    def test_of_one_all_is_that_one(self) -> None:
        found = distribution([7.0], 10.0)
        assert found is not None
        assert (found.mean, found.median, found.lowest, found.highest) == (7.0, 7.0, 7.0, 7.0)
        assert found.deviation == 0.0
        assert found.bins == (0, 0, 0, 0, 0, 0, 0, 1, 0, 0)

    def test_full_points_are_in_the_last_tenth_and_none_in_the_first(self) -> None:
        found = distribution([0.0, 10.0, 9.0, 8.9], 10.0)
        assert found is not None
        assert found.bins == (1, 0, 0, 0, 0, 0, 0, 0, 1, 2)

    @given(st.lists(st.integers(0, 100).map(float), min_size=1, max_size=60))
    def test_it_equals_numpy(self, scores: list[float]) -> None:
        found = distribution(scores, 100.0)
        assert found is not None
        assert found.mean == pytest.approx(np.mean(scores))
        if len(scores) > 1:
            assert found.deviation == pytest.approx(np.std(scores, ddof=1))
        assert quartiles(scores) == pytest.approx(np.percentile(scores, [25, 50, 75]))
        assert list(found.bins) == np.histogram(scores, BINS, (0, 100))[0].tolist()


class TestPointBiserial:
    def test_it_is_high_where_the_stronger_pass(self) -> None:
        assert point_biserial([True, True, False, False], [9, 8, 2, 1]) == pytest.approx(0.98995)

    def test_it_is_negative_where_the_weaker_pass(self) -> None:
        found = point_biserial([False, False, True, True], [9, 8, 2, 1])
        assert found is not None
        assert found < -0.9

    @pytest.mark.parametrize(
        ("passed", "scores"),
        [([], []), ([True], [3.0]), ([True, True], [1.0, 2.0]), ([True, False], [2.0, 2.0])],
    )
    def test_where_nothing_varies_there_is_none(
        self, passed: list[bool], scores: list[float]
    ) -> None:
        assert point_biserial(passed, scores) is None


class TestAlpha:
    def test_items_that_say_the_same_have_one(self) -> None:
        assert cronbach_alpha([(1, 1), (2, 2), (5, 5)]) == pytest.approx(1.0)

    def test_a_known_table(self) -> None:
        # Variances 1, 1, 1 and of the sum 7: 3 / 2 * (1 - 3 / 7).
        assert cronbach_alpha([(1, 2, 1), (2, 1, 2), (3, 3, 3)]) == pytest.approx(6 / 7)

    @pytest.mark.parametrize("table", [[], [(1, 2)], [(1,), (2,)], [(1, 2), (1, 2)]])
    def test_where_nothing_varies_there_is_none(self, table: list[tuple[float, ...]]) -> None:
        assert cronbach_alpha(table) is None


class TestItems:
    @given(rows)
    def test_they_equal_numpy(self, table: list[tuple[float, ...]]) -> None:
        found = analyse([result(f"s{number}", row) for number, row in enumerate(table)])
        scores = np.array(table)
        for number, item in enumerate(found.items):
            passed = scores[:, number] >= MOST[number]
            assert item.passed == pytest.approx(passed.mean())
            assert item.difficulty == pytest.approx(scores[:, number].mean() / MOST[number])
            rest = scores.sum(1) - scores[:, number]
            varies = passed.std() > 0 and rest.std() > 0
            if found.students < 10 or not varies:
                assert item.discrimination is None
            else:
                expected = np.corrcoef(passed.astype(float), rest)[0, 1]
                assert item.discrimination == pytest.approx(expected)
        if found.students >= 10 and scores.sum(1).var() > 0:
            parts = scores.var(axis=0, ddof=1).sum()
            expected = 3 / 2 * (1 - parts / scores.sum(1).var(ddof=1))
            assert found.alpha == pytest.approx(expected)
        else:
            assert found.alpha is None

    def test_work_that_could_not_be_read_says_nothing_of_an_item(self) -> None:
        read = result("ada", (2.0, 5.0, 3.0))
        unread = msgspec.structs.replace(result("eve", (0.0, 0.0, 0.0)), status="error")
        failed = Result(1, "kim", "d", "attention", None, 10.0, (), ())
        found = analyse([read, unread, failed])
        assert found.students == 1
        assert [item.passed for item in found.items] == [1.0, 1.0, 1.0]

    def test_of_nobody_there_are_none(self) -> None:
        assert analyse([]).items == ()


class TestWarnings:
    def of(self, count: int) -> str:
        table = [(float(number % 3), float(number % 6), 0.0) for number in range(count)]
        return analyse([result(f"s{n}", row) for n, row in enumerate(table)]).warning

    def test_a_tiny_class_is_told_nothing_of_discrimination(self) -> None:
        assert self.of(1).startswith("With 1 graded submission neither")
        assert self.of(9).startswith("With 9 graded submissions neither")

    def test_a_small_class_is_told_how_uncertain_it_is(self) -> None:
        assert "uncertain by about ±0.65" in self.of(10)
        assert "uncertain by about ±0.37" in self.of(29)

    def test_a_large_class_is_not_warned(self) -> None:
        assert self.of(30) == ""

    def test_uncertainty_shrinks_with_the_class(self) -> None:
        assert uncertainty(401) == pytest.approx(0.098)


@pytest.mark.parametrize(
    ("passed", "difficulty", "discrimination", "told"),
    [
        (0.8, 0.9, -0.2, "is its check fair"),
        (1.0, 1.0, None, "everybody passes"),
        (0.0, 0.1, None, "was it taught"),
        (0.3, 0.4, 0.5, "explaining again"),
        (0.8, 0.9, 0.05, "hardly separates"),
        (0.8, 0.9, 0.5, ""),
    ],
)
def test_what_is_worth_a_look_is_said(
    passed: float, difficulty: float, discrimination: float | None, told: str
) -> None:
    found = remark(Item("causal", "masking", "", 3.0, passed, difficulty, discrimination))
    assert told in found
    assert bool(found) == bool(told)
