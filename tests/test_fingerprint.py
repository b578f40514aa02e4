"""Students who share an unknown mistake are found, whatever their last digits and their order."""

import math
import random
from dataclasses import dataclass

import msgspec
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from autograder.diagnosis.fingerprint import (
    NEAR,
    Fingerprint,
    Shared,
    distance,
    fingerprints_in,
    groups,
    plain,
    shared_mistakes,
    trace_of,
)

seeds = st.integers(0, 10_000)
shapes = st.lists(st.integers(1, 5), min_size=1, max_size=3)
sizes = st.floats(1e-4, 1e4)


def numbers(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def fingerprint(*values: Tensor) -> Fingerprint:
    return tuple(trace_of(value) for value in values)


# One fingerprint ----------------------------------------------------------------------------


@given(seed=seeds, shape=shapes, size=sizes)
def test_an_output_is_at_no_distance_from_itself(seed: int, shape: list[int], size: float) -> None:
    seen = fingerprint(numbers(seed, *shape) * size)
    assert distance(seen, seen) == 0.0


@given(seed=seeds, other=seeds, shape=shapes)
def test_distance_is_the_same_both_ways(seed: int, other: int, shape: list[int]) -> None:
    one, two = fingerprint(numbers(seed, *shape)), fingerprint(numbers(other, *shape))
    assert distance(one, two) == distance(two, one)


@given(seed=seeds, shape=shapes, size=sizes)
def test_last_digits_do_not_matter(seed: int, shape: list[int], size: float) -> None:
    """Another order of operations, or another processor, leaves the fingerprint near."""
    seen = numbers(seed, *shape) * size
    shaken = seen + 1e-3 * seen.abs().max() * numbers(seed + 1, *shape).clamp(-1, 1)
    assert distance(fingerprint(seen), fingerprint(shaken)) <= NEAR


@given(seed=seeds, shape=shapes, size=sizes)
def test_other_numbers_are_far(seed: int, shape: list[int], size: float) -> None:
    seen = numbers(seed, *shape) * size
    moved = seen.clone().flatten()
    moved[0] += 0.05 * seen.abs().max()
    assert distance(fingerprint(seen), fingerprint(moved.reshape(seen.shape))) > NEAR


@given(seed=seeds, shape=shapes, factor=st.sampled_from([0.5, 0.9, 1.1, 2.0]))
def test_an_output_of_another_size_is_far(seed: int, shape: list[int], factor: float) -> None:
    seen = numbers(seed, *shape)
    assert distance(fingerprint(seen), fingerprint(seen * factor)) > NEAR


def test_another_shape_another_exception_or_another_count_is_no_match() -> None:
    seen = numbers(1, 2, 3)
    assert distance(fingerprint(seen), fingerprint(seen.T)) == math.inf
    raised = (trace_of(None, "RuntimeError: shapes"),)
    assert distance(raised, (trace_of(None, "TypeError: shapes"),)) == math.inf
    assert distance(raised, (trace_of(None, "RuntimeError: sizes"),)) == 0.0
    assert distance(raised, fingerprint(seen)) == math.inf
    assert distance(fingerprint(seen), fingerprint(seen, seen)) == math.inf


def test_numbers_that_are_none_match_where_they_stand_in_the_same_place() -> None:
    one = torch.tensor([1.0, math.nan, 3.0])
    assert distance(fingerprint(one), fingerprint(one.clone())) == 0.0
    assert distance(fingerprint(one), fingerprint(torch.tensor([math.nan, 1.0, 3.0]))) == math.inf
    nowhere = torch.full((4,), math.nan)
    assert distance(fingerprint(nowhere), fingerprint(nowhere)) == 0.0
    assert distance(fingerprint(nowhere), fingerprint(torch.zeros(4))) == math.inf


@given(seed=seeds, shape=shapes, size=sizes)
def test_it_holds_few_and_rounded_numbers_and_comes_back_from_json(
    seed: int, shape: list[int], size: float
) -> None:
    seen = fingerprint(numbers(seed, *shape) * size)
    details = msgspec.json.encode({"standings": {}, "fingerprints": {"a_name": plain(seen)}})
    assert dict(fingerprints_in(details)) == {"a_name": seen}
    for trace in seen:
        assert len(trace.numbers) <= 12
        for number in trace.numbers:
            assert number is not None
            assert abs(number) <= 1.001
            assert number == round(number, 4)


# A class ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Class:
    """Students by the mistake that they share, and what their programs gave."""

    mistakes: dict[str, int]
    fingerprints: dict[str, Fingerprint]


@st.composite
def classes(draw: st.DrawFn) -> Class:
    """Up to 9 students, each with one of four mistakes, each output shaken in its last digits."""
    mistakes = draw(st.lists(st.integers(0, 3), min_size=1, max_size=9))
    names = {f"student {place}": mistake for place, mistake in enumerate(mistakes)}
    seen = {}
    for place, (student, mistake) in enumerate(names.items()):
        outputs = [numbers(10 * mistake + turn, 2, 3, 4) for turn in range(3)]
        shaken = [each * (1 + 1e-4 * numbers(place, 2, 3, 4).clamp(-1, 1)) for each in outputs]
        seen[student] = fingerprint(*shaken)
    return Class(names, seen)


@given(classes())
def test_who_shares_a_mistake_is_in_one_group_and_nobody_else(drawn: Class) -> None:
    expected = {
        tuple(sorted(name for name, held in drawn.mistakes.items() if held == mistake))
        for mistake in set(drawn.mistakes.values())
    }
    assert set(groups(drawn.fingerprints)) == {group for group in expected if len(group) > 1}


@given(classes(), st.randoms())
def test_groups_do_not_depend_on_the_order_of_the_students(
    drawn: Class, chance: random.Random
) -> None:
    turned = list(drawn.fingerprints.items())
    chance.shuffle(turned)
    assert groups(dict(turned)) == groups(drawn.fingerprints)


@given(classes(), st.floats(0, 1), st.floats(0, 1))
def test_a_wider_reach_only_joins_groups(drawn: Class, one: float, other: float) -> None:
    narrow, wide = sorted((one, other))
    wider = [set(group) for group in groups(drawn.fingerprints, wide)]
    for group in groups(drawn.fingerprints, narrow):
        assert any(set(group) <= each for each in wider)


def test_the_largest_group_is_told_first() -> None:
    one, two = fingerprint(numbers(1, 4)), fingerprint(numbers(2, 4))
    held = {"ada": one, "ben": one, "cleo": two, "dan": two, "eva": two, "fay": ()}
    assert groups(held) == (("cleo", "dan", "eva"), ("ada", "ben"))


def test_a_class_is_grouped_by_name_from_its_details() -> None:
    one, two = fingerprint(numbers(1, 4)), fingerprint(numbers(2, 4))

    def details(**held: Fingerprint) -> bytes:
        kept = {name: plain(each) for name, each in held.items()}
        return msgspec.json.encode({"standings": {}, "failures": [], "fingerprints": kept})

    found = shared_mistakes(
        {
            "ada": details(softmax=one, CausalAttention=two),
            "ben": details(softmax=one),
            "cleo": details(CausalAttention=two),
            "dan": details(softmax=two),
            "eva": b"",
            "fay": msgspec.json.encode({"standings": {}}),
        }
    )
    assert found == (Shared("CausalAttention", ("ada", "cleo")), Shared("softmax", ("ada", "ben")))


def test_details_that_are_no_json_are_not_passed_over() -> None:
    with pytest.raises(msgspec.DecodeError):
        shared_mistakes({"ada": b"{"})
