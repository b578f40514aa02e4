"""What a student reads: what was called, what came back, what it means, and no hidden number."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from torch import Tensor

from autograder.assignment.assignment import Assignment
from autograder.attention.chain import Given
from autograder.attention.sample import Sample, Sizes
from autograder.checks.evidence import Observer, Outcome, Recorded, outcome_of
from autograder.checks.failures import CheckFailed
from autograder.checks.marks import Check
from autograder.diagnosis.catalogue import load_catalogue
from autograder.diagnosis.chain import run
from autograder.diagnosis.explain import Explanation, Observation
from autograder.scoring.name_status import NameStatus
from autograder.scoring.student_messages import (
    call_in_words,
    criterion_message,
    heading,
)
from autograder.scoring.verdict import Verdict, Witness
from tests.conftest import ASSIGNMENT

STAGE = ASSIGNMENT.stage("multi_head")
CATALOGUE = load_catalogue(STAGE.misconceptions)
NAME = "MultiHeadAttention"
SIZES = Sizes(d_in=7, d_out=15, tokens=6, batch=2, context_length=11, heads=3)
SAMPLE = Sample(b"what the tests of messages use")
GIVEN = Given(
    tokens=SAMPLE.tokens("seen", SIZES),
    weights=SAMPLE.weights("seen", SIZES),
    heads=3,
    context_length=11,
)
CHECK = Check(NAME, "values", (), None, "The output is the reference's.")
FAILED = Outcome(
    "a",
    CHECK,
    "failed",
    found="numbers that differ by 12% of their size",
    expected="the reference's numbers (to 0.1%)",
    numbers="found [0.1234, 5], expected [0.9876, 5]",
)


def recorded(value: Tensor | None, right: bool = False) -> Recorded:
    shape = None if value is None else tuple(value.shape)
    return Recorded("a", CHECK, Observation(GIVEN, value), right, shape, (2, 6, 15), {})


def told(
    verdict: Verdict,
    standing: NameStatus | None = None,
    criterion: str = "scaling",
    seen: Sequence[Recorded] = (),
    assignment: Assignment = ASSIGNMENT,
) -> str:
    standing = standing or NameStatus(NAME, "right")
    rubric = STAGE.criterion(criterion)
    share = next(each for each in rubric.shares if each.name == NAME)
    witness = Witness(CATALOGUE, standing, (), seen, ())
    lost = [(share, verdict, standing)]
    return criterion_message(assignment, STAGE, rubric, lost, {NAME: witness})


def mistaken(*identifiers: str) -> Verdict:
    mistakes = tuple(CATALOGUE.named(each) for each in identifiers)
    return Verdict("failed", (Outcome("a", CHECK, "failed"),), mistakes=mistakes)


def test_where_nothing_was_lost_nothing_is_told() -> None:
    rubric = STAGE.criterion("scaling")
    assert criterion_message(ASSIGNMENT, STAGE, rubric, [], {}) == ""


def test_a_mistake_is_told_in_the_catalogues_words_with_the_name_and_where_to_read() -> None:
    message = told(mistaken("no-scale"))
    assert message.startswith(f"`{NAME}`: {CATALOGUE.named('no-scale').message}")
    assert message.endswith("Read 4_multi_head.md, section “Scaling”.")


def test_what_was_called_and_what_came_back_is_told_in_shapes() -> None:
    message = told(mistaken("no-scale"), seen=[recorded(torch.zeros(2, 6, 15))])
    assert (
        f"Seen when `{NAME}` was called with tokens (b, T, d_in) = (2, 6, 7), d_out = 15, "
        "num_heads = 3, context_length = 11; the shape (2, 6, 15) was right, the numbers were not."
    ) in message


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "nothing of shape (2, 6, 15) came back"),
        (torch.zeros(2, 3), "shape (2, 3) came back, (2, 6, 15) was expected"),
        (torch.zeros(2, 6, 15), "the shape (2, 6, 15) was right, the numbers were not"),
    ],
)
def test_a_call_is_told_by_what_came_back(value: Tensor | None, words: str) -> None:
    assert call_in_words(recorded(value)).endswith(words)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (Given(count=5), "num_tokens = 5"),
        (Given(scores=torch.zeros(4, 6)), "scores (4, 6)"),
        (Given(tokens=torch.zeros(6, 4)), "tokens (T, d) = (6, 4)"),
        (
            Given(tokens=torch.zeros(6, 4), query=torch.zeros(4)),
            "a query (4,), tokens (T, d) = (6, 4)",
        ),
    ],
)
def test_arguments_are_told_by_their_shapes(asked: Given, words: str) -> None:
    assert asked.in_words() == words


def test_names_that_lost_for_the_same_reason_are_told_together() -> None:
    stage = ASSIGNMENT.stage("trainable")
    catalogue = load_catalogue(stage.misconceptions)
    rubric = stage.criterion("scaling")
    verdict = Verdict("failed", (), mistakes=(catalogue.named("no-scale"),))
    standings = {share.name: NameStatus(share.name, "right") for share in rubric.shares}
    message = criterion_message(
        ASSIGNMENT,
        stage,
        rubric,
        [(share, verdict, standings[share.name]) for share in rubric.shares],
        {name: Witness(catalogue, held, (), (), ()) for name, held in standings.items()},
    )
    assert message.count(catalogue.named("no-scale").message) == 1
    assert message.startswith("`SelfAttention_v1` and `SelfAttention_v2`: ")


def test_what_fits_as_well_is_told_as_an_either_or() -> None:
    other = Explanation((CATALOGUE.named("scale-half-dk"),))
    found = Explanation((CATALOGUE.named("scale-by-dk"),), alternatives=(other,))
    message = told(mistaken("scale-by-dk"), NameStatus(NAME, "explained", found))
    either, other_title = (CATALOGUE.named(each).title for each in ("scale-by-dk", "scale-half-dk"))
    assert f"Either {either}, or {other_title}: both give these numbers." in message


def test_a_name_that_is_not_there_is_told_without_a_place_to_read() -> None:
    standing = NameStatus(
        NAME, "absent", status="missing", text="`MultiHeadAttention` was not found"
    )
    message = told(Verdict("missing", ()), standing)
    assert message == (
        f"`{NAME}`: `MultiHeadAttention` was not found, so its points could not be earned."
    )


def test_what_could_not_be_seen_is_told_with_what_ended_the_call() -> None:
    standing = NameStatus(NAME, "unseen", status="error", text="NameError: no querys")
    message = told(Verdict("blocked", (), text=standing.text), standing)
    assert message.startswith(f"`{NAME}`: not seen, since the call ended early")
    assert "NameError" in message


def test_a_null_program_is_told_as_one() -> None:
    standing = NameStatus(NAME, "null", status="failed", text="The result is zero everywhere.")
    assert "The result is zero everywhere." in told(Verdict("failed", ()), standing)


@pytest.mark.parametrize(("anchor", "title"), [("gpt-2", "Gpt 2"), ("scaling", "Scaling")])
def test_a_section_is_told_by_the_words_of_its_anchor(anchor: str, title: str) -> None:
    assert heading(anchor) == title


# Hidden numbers -----------------------------------------------------------------------------


def with_policy(shown: bool) -> Assignment:
    feedback = msgspec.structs.replace(ASSIGNMENT.feedback, show_expected_numbers=shown)
    return msgspec.structs.replace(ASSIGNMENT, feedback=feedback)


def test_expected_numbers_are_told_only_where_the_course_allows_it() -> None:
    verdict = Verdict("failed", (FAILED,), failing=FAILED)
    hidden, shown = (told(verdict, assignment=with_policy(policy)) for policy in (False, True))
    assert FAILED.numbers not in hidden
    assert "0.9876" not in hidden
    assert FAILED.numbers in shown
    for message in (hidden, shown):
        assert f"{CHECK.rationale} Expected: {FAILED.expected}; found: {FAILED.found}." in message


def hidden_numbers(*tensors: Tensor | None) -> set[str]:
    """Numbers as anybody would write them, but for those so short that percentages have them."""
    found: set[str] = set()
    for tensor in tensors:
        if tensor is not None:
            for number in tensor.double().flatten().tolist():
                size = abs(number)
                found |= {f"{size:.4g}", f"{size:.3f}", f"{size:.4f}", repr(size)}
    return {text for text in found if len(text) > 4}


@given(scale=st.floats(0.5, 20.0), seed=st.integers(0, 50))
def test_no_message_holds_a_number_of_the_inputs_the_reference_or_the_output(
    scale: float, seed: int
) -> None:
    expected = run(CATALOGUE.chains[NAME], GIVEN)
    noise = torch.randn(expected.shape, generator=torch.Generator().manual_seed(seed))
    value = expected * scale + noise
    with pytest.raises(CheckFailed) as caught:
        raise Observer._difference(value, expected)
    failing = outcome_of("a", CHECK, caught.value)
    message = told(
        Verdict("failed", (failing,), failing=failing),
        seen=[recorded(value)],
        assignment=with_policy(False),
    )
    shown = set(re.findall(r"\d+\.\d+", message))
    assert not shown & hidden_numbers(GIVEN.tokens, *GIVEN.weights.values(), expected, value)


@pytest.mark.parametrize("kind", ["right", "explained", "unexplained"])
def test_a_students_own_text_is_handed_on_as_it_is_and_escaped_where_it_is_shown(kind: Any) -> None:
    hostile = "ValueError: <script>alert('1')</script> [bold]=cmd|' /C calc'!A0"
    failing = replace(FAILED, status="error", text=hostile)
    message = told(Verdict("error", (failing,), failing=failing), NameStatus(NAME, kind))
    assert hostile in message


def test_sizes_in_an_exception_are_told_by_what_they_are() -> None:
    text = "The size of tensor a (6) must match the size of tensor b (3) at dimension 2"
    seen = replace(recorded(None), observation=Observation(GIVEN, None, f"RuntimeError: {text}"))
    message = f"RuntimeError: {text} (attention/multi_head.py, line 31)"
    standing = NameStatus(NAME, "unseen", status="error", text=message)
    found = told(Verdict("error", (), text=message), standing, seen=[seen])
    assert "tensor a (6: tokens) must match the size of tensor b (3: heads)" in found
    assert "(attention/multi_head.py, line 31)" in found
