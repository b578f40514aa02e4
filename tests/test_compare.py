"""Outputs count as the same within a tolerance of their scale, whatever numbers they hold."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from autograder.diagnosis.compare import (
    DOUBLE,
    SINGLE,
    difference,
    same,
    same_each,
    scale_of,
    tolerance,
)
from autograder.sandbox.protocol.tensors import DTYPES

PRECISIONS = [torch.float32, torch.float64]
sizes = st.lists(st.integers(0, 4), max_size=3)
scales = st.floats(1e-3, 1e3)
seeds = st.integers(0, 1000)


def numbers(seed: int, shape: list[int], dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@given(seed=seeds, shape=sizes, dtype=st.sampled_from(PRECISIONS))
def test_everything_is_the_same_as_itself(seed: int, shape: list[int], dtype: torch.dtype) -> None:
    found = numbers(seed, shape, dtype)
    assert difference(found, found.clone()) == 0.0
    assert same(found, found.clone())


@given(seed=seeds, shape=sizes, dtype=st.sampled_from(PRECISIONS))
def test_a_scale_that_is_known_makes_no_difference(
    seed: int, shape: list[int], dtype: torch.dtype
) -> None:
    expected, found = numbers(seed, shape, dtype), numbers(seed + 1, shape, dtype)
    assert difference(found, expected, scale_of(expected)) == difference(found, expected)


@given(seed=seeds, scale=scales)
def test_the_difference_does_not_change_when_both_are_scaled(seed: int, scale: float) -> None:
    expected, found = numbers(seed, [3, 4]), numbers(seed + 1, [3, 4])
    assert math.isclose(
        difference(found * scale, expected * scale), difference(found, expected), rel_tol=1e-9
    )


@given(seed=seeds, scale=scales, dtype=st.sampled_from(PRECISIONS), place=st.integers(0, 11))
def test_the_tolerance_is_a_share_of_the_outputs_scale(
    seed: int, scale: float, dtype: torch.dtype, place: int
) -> None:
    expected = numbers(seed, [12], dtype) * scale
    step = tolerance(expected) * float(expected.abs().max())
    near, far = expected.clone(), expected.clone()
    near[place] += 0.5 * step
    far[place] += 2.0 * step
    assert same(near, expected)
    assert not same(far, expected)


def test_double_precision_is_held_to_more() -> None:
    expected = torch.ones(4, dtype=torch.float64)
    off = expected * (1 + 1e-4)
    assert same(off.float(), expected)
    assert not same(off, expected)
    assert (tolerance(off.float()), tolerance(off)) == (SINGLE, DOUBLE)


@given(first=sizes, second=sizes)
def test_other_shapes_are_never_the_same(first: list[int], second: list[int]) -> None:
    apart = difference(torch.zeros(first), torch.zeros(second))
    assert apart == (0.0 if first == second else math.inf)


@given(
    seed=seeds,
    places=st.lists(st.integers(0, 11), min_size=1, max_size=12, unique=True),
    odd=st.sampled_from([math.nan, math.inf, -math.inf]),
)
def test_what_is_no_number_must_stand_where_it_is_expected(
    seed: int, places: list[int], odd: float
) -> None:
    plain = numbers(seed, [12])
    strange = plain.clone()
    strange[places] = odd
    assert same(strange, strange.clone())
    assert difference(strange, plain) == math.inf
    assert difference(plain, strange) == math.inf


@pytest.mark.parametrize("first", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("second", [math.nan, math.inf, -math.inf])
def test_nan_and_both_infinities_are_three_things(first: float, second: float) -> None:
    alike = str(first) == str(second)
    assert same(torch.tensor([1.0, first]), torch.tensor([1.0, second])) == alike


def test_numbers_beside_an_expected_nan_are_still_compared() -> None:
    expected = torch.tensor([math.nan, 2.0])
    assert same(torch.tensor([math.nan, 2.0]), expected)
    assert not same(torch.tensor([math.nan, 2.1]), expected)


def test_an_expected_zero_does_not_forgive_everything() -> None:
    assert not same(torch.full((3,), 1e-4), torch.zeros(3))
    assert same(torch.zeros(3), torch.zeros(3))


def test_a_mask_is_compared_as_zeros_and_ones() -> None:
    mask = torch.ones(3, 3, dtype=torch.bool).triu(1)
    assert same(mask.float(), mask)
    assert not same((~mask).float(), mask)


def test_an_empty_output_is_the_same_as_an_empty_one() -> None:
    assert same(torch.empty(0, 3), torch.empty(0, 3))
    assert not same(torch.empty(0, 3), torch.empty(3, 0))


@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.parametrize("expected", [torch.float32, torch.float64, torch.bool])
@pytest.mark.parametrize("found", [dtype for dtype, _ in DTYPES.values()], ids=str)
def test_whatever_type_a_student_sends_can_be_compared(
    found: torch.dtype, expected: torch.dtype
) -> None:
    """A type that cannot be subtracted would fail the kit, and the student goes ungraded."""
    assert difference(torch.ones(2, 2).to(found), torch.ones(2, 2).to(expected)) == 0.0
    assert difference(torch.zeros(2, 2).to(found), torch.ones(2, 2).to(expected)) == 1.0


# Many at once -------------------------------------------------------------------------------

ODD = [0.0, 1.0, -3.0, float("nan"), float("inf"), float("-inf"), 1e-7]


@given(
    st.lists(st.sampled_from(ODD), min_size=3, max_size=3),
    st.lists(st.lists(st.sampled_from(ODD), min_size=3, max_size=3), min_size=1, max_size=6),
    st.sampled_from([0.0, 5e-4, 2e-3]),
)
def test_many_at_once_are_judged_as_each_alone(
    found: list[float], expected: list[list[float]], shift: float
) -> None:
    seen = torch.tensor(found) * (1 + shift)
    many = torch.tensor([found, *expected])
    assert same_each(seen, many).tolist() == [same(seen, one) for one in many]
