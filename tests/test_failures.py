"""What a check says when something is not as it should be."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autograder.checks.failures import CheckFailed, require, rows, told_shape

shapes = st.lists(st.integers(0, 99), max_size=5)


def test_a_failure_says_what_was_expected_and_what_was_found() -> None:
    failed = CheckFailed("shape (2, 3)", "shape (3, 2)")
    assert str(failed) == "expected shape (3, 2); found shape (2, 3)"
    assert (failed.found, failed.expected) == ("shape (2, 3)", "shape (3, 2)")
    assert failed.misconception is None


def test_a_failure_is_an_assertion_so_that_pytest_shows_it_as_one() -> None:
    assert issubclass(CheckFailed, AssertionError)


def test_numbers_are_kept_apart_from_what_a_student_reads() -> None:
    failed = CheckFailed("other numbers", "the reference's", numbers="found [1], expected [2]")
    assert failed.numbers == "found [1], expected [2]"
    assert "[" not in failed.found + failed.expected
    assert str(failed).endswith("(found [1], expected [2])")


def test_what_is_required_and_holds_passes() -> None:
    require(True, "this", "that")


def test_what_is_required_and_does_not_hold_fails_with_its_misconception() -> None:
    with pytest.raises(CheckFailed, match="expected that; found this") as caught:
        require(False, "this", "that", misconception="no-mask")
    assert caught.value.misconception == "no-mask"


@pytest.mark.parametrize(
    ("shape", "told"), [((), "()"), ((7,), "(7,)"), ((2, 6, 15), "(2, 6, 15)")]
)
def test_a_shape_is_told_as_python_writes_it(shape: tuple[int, ...], told: str) -> None:
    assert told_shape(shape) == told


@given(shape=shapes)
def test_every_shape_is_told_like_a_tuple(shape: list[int]) -> None:
    assert told_shape(shape) == str(tuple(shape))
    assert told_shape(torch.Size(shape)) == str(tuple(shape))


def test_a_teacher_sees_a_few_rounded_numbers() -> None:
    assert rows(torch.tensor([[1 / 3, 2.0], [1e-9, -5.0]])) == "[0.3333, 2, 1e-09, -5]"
    assert rows(torch.arange(7.0)) == "[0, 1, 2, 3, 4, 5, ...]"


@given(count=st.integers(0, 40))
def test_never_more_than_six_numbers_are_shown(count: int) -> None:
    shown = rows(torch.ones(count)).strip("[]")
    assert shown.count("1") == min(count, 6)
    assert shown.endswith("...") == (count > 6)
