"""What is taken from what a student's code returned, and what is made of how a check ended."""

import pytest
import torch

from autograder.checks.evidence import outcome_of, tensor_among
from autograder.checks.failures import CheckFailed, NotSeen
from autograder.checks.marks import Check
from autograder.errors import InternalError
from autograder.sandbox.host.student import Opaque

CHECK = Check("softmax", "values")
CONTEXT, WEIGHTS = torch.ones(2, 6, 5), torch.ones(2, 6, 6)


def test_a_tensor_is_taken_as_it_is_whatever_its_shape() -> None:
    assert tensor_among(WEIGHTS, (1, 2)) is WEIGHTS


@pytest.mark.parametrize("order", [(CONTEXT, WEIGHTS), (WEIGHTS, CONTEXT)])
def test_of_several_the_one_with_the_expected_shape_is_taken(
    order: tuple[torch.Tensor, ...],
) -> None:
    assert tensor_among(list(order), (2, 6, 5)) is CONTEXT
    assert tensor_among(Opaque("Output", parts=dict(enumerate(order))), (2, 6, 5)) is CONTEXT  # type: ignore[arg-type]


def test_of_several_with_that_shape_the_first_is_taken_whatever_its_numbers() -> None:
    guesses = [torch.full((3,), float(number)) for number in range(4)]
    assert tensor_among(guesses, (3,)) is guesses[0]


def test_where_none_has_the_shape_the_first_tensor_tells_which_shape_came_back() -> None:
    assert tensor_among(["words", WEIGHTS, CONTEXT], (3,)) is WEIGHTS


@pytest.mark.parametrize("value", [None, 3, "words", [], [None, 2]])
def test_where_there_is_no_tensor_nothing_is_taken(value: object) -> None:
    assert tensor_among(value, (3,)) is None


def test_what_a_check_raises_by_itself_is_the_kits_fault() -> None:
    with pytest.raises(InternalError, match="a check failed by itself: ZeroDivisionError"):
        outcome_of("a check", CHECK, ZeroDivisionError("division by zero"))


def test_what_could_not_be_seen_is_blocked_and_what_is_wrong_has_failed() -> None:
    assert outcome_of("a check", CHECK, NotSeen("nothing", "something")).status == "blocked"
    assert outcome_of("a check", CHECK, CheckFailed("three", "four")).status == "failed"
    assert outcome_of("a check", CHECK, None).status == "passed"
