"""How a name stands as a whole, from what its checks saw."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from autograder.attention.chain import Given
from autograder.attention.sample import Sample, Sizes
from autograder.checks.evidence import Outcome, Recorded
from autograder.checks.marks import Check
from autograder.diagnosis.catalogue import Catalogue, NullProgram, load_catalogue
from autograder.diagnosis.chain import run
from autograder.diagnosis.compare import same
from autograder.diagnosis.explain import Observation
from autograder.results.result import Status
from autograder.scoring.name_status import NameStatus, is_base, name_status_of
from tests.conftest import ASSIGNMENT

SAMPLE = Sample(b"what the tests of standings use")
NAME = "CausalAttention"
BASE = Check(NAME, "values", rationale="The output is the reference's.")
FORM = Check(NAME, "values", ("form",), rationale="Any length works.")
DEPENDENCE = Check(NAME, "dependence", told="The result depends on no score.")
SHORT = Sizes(d_in=7, d_out=5, tokens=6, batch=2, context_length=8)
WHOLE = Sizes(d_in=4, d_out=10, tokens=8, batch=3, context_length=8)

Program = Callable[[Given], Tensor]


#: Enough of the catalogue for what is tested here; all of it takes seconds to search.
FEW = {"no-scale", "query-key-swapped", "no-mask", "mask-not-cut", "transposed-batch", "no-softmax"}


def catalogue() -> Catalogue:
    whole = load_catalogue(ASSIGNMENT.stage_of(NAME).misconceptions)
    few = tuple(entry for entry in whole.misconceptions if entry.id in FEW)
    assert len(few) == len(FEW)
    return replace(whole, misconceptions=few)


def given(sizes: Sizes) -> Given:
    return Given(
        tokens=SAMPLE.tokens("seen", sizes),
        weights=SAMPLE.weights("seen", sizes),
        context_length=sizes.context_length,
    )


def reference(asked: Given) -> Tensor:
    return run(catalogue().chains[NAME], asked)


def compared(program: Program, check: Check = BASE) -> tuple[list[Outcome], list[Recorded]]:
    """What the base checks of a program leave behind."""
    outcomes, recorded = [], []
    for number, sizes in enumerate((SHORT, WHOLE)):
        asked = given(sizes)
        expected = reference(asked)
        try:
            value = program(asked)
            observed, status, text = Observation(asked, value), "passed", ""
            if not same(value, expected):
                status = "failed"
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            observed, status = Observation(asked, None, text), "error"
        identifier = f"causal::test_outputs[{number}]"
        shape = None if observed.value is None else tuple(observed.value.shape)
        right = status == "passed"
        outcomes.append(outcome(status, check, identifier, text=text, exception=text))
        recorded.append(
            Recorded(identifier, check, observed, right, shape, tuple(expected.shape), {})
        )
    return outcomes, recorded


def outcome(status: Any, check: Check = BASE, identifier: str = "a", **told: Any) -> Outcome:
    found: Status = status
    return Outcome(identifier, check, found, **told)


def standing(
    program: Program, more: Sequence[Outcome] = (), held: Catalogue | None = None
) -> NameStatus:
    outcomes, recorded = compared(program)
    return name_status_of(NAME, held or catalogue(), [*outcomes, *more], recorded)


# Programs -----------------------------------------------------------------------------------


def attention(asked: Given, hidden: Callable[[int], Tensor], scale: bool = True) -> Tensor:
    assert asked.tokens is not None
    queries, keys, values = (asked.tokens @ asked.weights[r] for r in ("query", "key", "value"))
    scores = queries @ keys.mT / (keys.shape[-1] ** 0.5 if scale else 1.0)
    scores = scores.masked_fill(hidden(scores.shape[-1]), -math.inf)
    return torch.softmax(scores, dim=-1) @ values


def later(size: int) -> Tensor:
    return torch.ones(size, size).triu(1) == 1


def right(asked: Given) -> Tensor:
    return attention(asked, later)


def no_scale(asked: Given) -> Tensor:
    return attention(asked, later, scale=False)


def mask_not_cut(asked: Given) -> Tensor:
    return attention(asked, lambda _: later(asked.context_length))


def only_for_eight_tokens(asked: Given) -> Tensor:
    assert asked.tokens is not None
    if asked.tokens.shape[1] != 8:
        raise ValueError("eight tokens, please")
    return right(asked)


def no_scale_and_only_for_eight_tokens(asked: Given) -> Tensor:
    only_for_eight_tokens(asked)
    return no_scale(asked)


def typing_error(asked: Given) -> Tensor:
    raise NameError("name 'querys' is not defined")


def wrong_transpose(asked: Given) -> Tensor:
    assert asked.tokens is not None
    keys = asked.tokens @ asked.weights["key"]
    return keys @ keys.transpose(0, 1)


def zeros(asked: Given) -> Tensor:
    return torch.zeros_like(reference(asked))


def nonsense(asked: Given) -> Tensor:
    return reference(asked).sin() * 3


# How they stand -----------------------------------------------------------------------------


def test_a_name_whose_base_checks_all_passed_is_right() -> None:
    found = standing(right)
    assert (found.kind, found.mistakes, found.status) == ("right", (), "passed")


def test_a_name_that_was_not_found_is_absent() -> None:
    missing = outcome("missing", text="`CausalAttention` was not found")
    found = name_status_of(NAME, catalogue(), [missing], [])
    assert (found.kind, found.status) == ("absent", "missing")
    assert found.text == "`CausalAttention` was not found"


def test_a_name_without_comparisons_of_its_own_is_right_until_a_check_says_otherwise() -> None:
    own = Check("merge_heads", "own", ("equivalence",))
    held = load_catalogue(ASSIGNMENT.stage("multi_head").misconceptions)
    found = name_status_of("merge_heads", held, [outcome("failed", own)], [])
    assert found.kind == "right"


def test_wrong_outputs_that_a_mistake_reproduces_are_explained_by_it() -> None:
    found = standing(no_scale)
    assert found.kind == "explained"
    assert [entry.id for entry in found.mistakes] == ["no-scale"]
    assert not found.partial


def test_outputs_that_nothing_reproduces_are_unexplained() -> None:
    found = standing(nonsense)
    assert (found.kind, found.mistakes, found.status) == ("unexplained", (), "failed")


def test_unexplained_outputs_that_do_not_depend_on_scores_are_no_attention() -> None:
    found = standing(nonsense, [outcome("failed", DEPENDENCE)])
    assert (found.kind, found.status) == ("null", "failed")
    assert found.text == "The result depends on no score."


def test_where_an_explanation_fits_it_decides_and_not_the_lack_of_dependence() -> None:
    assert standing(no_scale, [outcome("failed", DEPENDENCE)]).kind == "explained"


def test_a_null_program_is_told_with_its_own_message() -> None:
    found = standing(zeros)
    assert found.kind == "null"
    assert found.null is not None
    assert (found.null.id, found.text, found.status) == ("zeros", found.null.message, "failed")


def test_a_null_program_that_passes_the_comparisons_is_still_one() -> None:
    idle = NullProgram("idle", "Nothing is computed.", {NAME: reference})
    held = replace(catalogue(), nulls=(idle,))
    assert standing(right, held=held).kind == "null"


def test_special_settings_have_no_say_in_how_a_name_stands() -> None:
    outcomes, recorded = compared(right)
    more, odd = compared(nonsense, FORM)
    found = name_status_of(NAME, catalogue(), [*outcomes, *more], [*recorded, *odd])
    assert found.kind == "right"
    assert [is_base(entry) for entry in (*outcomes, *more)] == [True, True, False, False]


# Exceptions ---------------------------------------------------------------------------------


def test_an_exception_that_the_catalogue_knows_is_named() -> None:
    found = standing(wrong_transpose)
    assert (found.kind, found.status) == ("unseen", "error")
    assert [entry.id for entry in found.mistakes] == ["transposed-batch"]


def test_an_exception_that_nobody_knows_is_told_as_it_is() -> None:
    found = standing(typing_error)
    assert (found.kind, found.status, found.mistakes) == ("unseen", "error", ())
    assert found.text == "NameError: name 'querys' is not defined"


def test_a_mistake_that_would_not_raise_on_every_input_is_not_named_for_one_that_does() -> None:
    def always(asked: Given) -> Tensor:
        raise RuntimeError("The size of tensor a (6) must match the size of tensor b (11) at ...")

    named = [entry.id for entry in standing(always).mistakes]
    assert "mask-not-cut" not in named  # it runs where the text fills the mask


def test_a_mistake_that_raises_on_some_inputs_explains_both() -> None:
    found = standing(mask_not_cut)
    assert (found.kind, found.partial) == ("explained", False)
    assert [entry.id for entry in found.mistakes] == ["mask-not-cut"]


def test_right_outputs_beside_an_unknown_exception_are_right_in_part() -> None:
    found = standing(only_for_eight_tokens)
    assert (found.kind, found.partial, found.mistakes) == ("explained", True, ())
    assert found.text == "ValueError: eight tokens, please"


def test_wrong_outputs_beside_an_unknown_exception_are_explained_by_themselves() -> None:
    found = standing(no_scale_and_only_for_eight_tokens)
    assert (found.kind, found.partial) == ("explained", True)
    assert [entry.id for entry in found.mistakes] == ["no-scale"]


@pytest.mark.parametrize(
    ("statuses", "worst"),
    [
        (("timeout", "timeout"), "timeout"),
        (("error", "timeout"), "timeout"),
        (("killed", "timeout"), "killed"),
        (("failed", "failed"), "failed"),
    ],
)
def test_a_name_that_never_returned_has_its_worst_status(
    statuses: tuple[str, str], worst: str
) -> None:
    outcomes = [
        outcome(status, identifier=str(place), text=f"it was {status}")
        for place, status in enumerate(statuses)
    ]
    found = name_status_of(NAME, catalogue(), outcomes, [])
    assert (found.kind, found.status, found.text) == ("unseen", worst, f"it was {worst}")


def test_a_module_without_the_weights_that_are_asked_for_is_told_by_what_was_found() -> None:
    failed = outcome("failed", found="`layer_1`", expected="weights called W_query")
    found = name_status_of(NAME, catalogue(), [failed], [])
    assert found.kind == "unseen"
    assert found.text == "expected weights called W_query; found `layer_1`"


MISTAKES: Mapping[str, Program] = {"no-scale": no_scale, "mask-not-cut": mask_not_cut}


@pytest.mark.parametrize("identifier", MISTAKES)
def test_the_same_evidence_gives_the_same_standing(identifier: str) -> None:
    first, second = (standing(MISTAKES[identifier]) for _ in range(2))
    assert [entry.id for entry in first.mistakes] == [entry.id for entry in second.mistakes]
    assert first.kind == second.kind


def cut_to_eight_tokens(asked: Given) -> Tensor:
    """Right for eight tokens, and of eight rows for any other number."""
    output = right(asked)
    return torch.cat([output, output], dim=1)[:, :8]


def test_right_outputs_beside_others_of_the_wrong_shape_are_right_in_part() -> None:
    found = standing(cut_to_eight_tokens)
    assert (found.kind, found.partial, found.mistakes) == ("explained", True, ())


def test_right_outputs_beside_wrong_numbers_are_not_right_in_part() -> None:
    def odd_for_others(asked: Given) -> Tensor:
        assert asked.tokens is not None
        output = right(asked)
        return output if asked.tokens.shape[1] == 8 else output.sin()

    found = standing(odd_for_others)
    assert (found.kind, found.partial) == ("unexplained", False)
