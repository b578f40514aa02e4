"""The rules of scoring, one by one: whether a share is kept, and what it is lost for."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from torch import Tensor

from autograder.assignment.assignment import Criterion, Forbidden, Share
from autograder.attention.chain import Given
from autograder.attention.sample import Sample, Sizes
from autograder.checks.evidence import Outcome, Recorded
from autograder.checks.marks import Check, Kind
from autograder.diagnosis.catalogue import load_catalogue
from autograder.diagnosis.chain import run
from autograder.diagnosis.compare import same
from autograder.diagnosis.explain import Explanation, Observation
from autograder.scoring.name_status import NameStatus
from autograder.scoring.verdict import Verdict, Witness, bare
from tests.conftest import ASSIGNMENT

STAGE = ASSIGNMENT.stage("multi_head")
CATALOGUE = load_catalogue(STAGE.misconceptions)
NAME = "MultiHeadAttention"
CHAIN = CATALOGUE.chains[NAME]
SAMPLE = Sample(b"what the tests of verdicts use")
SIZES = Sizes(d_in=7, d_out=15, tokens=6, batch=2, context_length=11, heads=3)
GIVEN = Given(
    tokens=SAMPLE.tokens("seen", SIZES),
    weights=SAMPLE.weights("seen", SIZES),
    heads=3,
    context_length=11,
)


def check(kind: Kind, *criteria: str, aspect: str | None = None, name: str = NAME) -> Check:
    return Check(name, kind, criteria, aspect, "What a right program does.")


def outcome(status: Any, made: Check, identifier: str = "", **told: Any) -> Outcome:
    return Outcome(identifier or f"{made.kind} {made.criteria}", made, status, **told)


BASE = check("values")


def explanation(*identifiers: str) -> Explanation:
    entries = tuple(CATALOGUE.named(identifier) for identifier in identifiers)
    steps = {entry.step: entry.steps[0] for entry in entries if entry.steps}
    return Explanation(entries, steps)


def output_with(*identifiers: str) -> Tensor:
    """What a program with these mistakes returns."""
    found = explanation(*identifiers).expected(CHAIN, GIVEN)
    assert found is not None
    return found


def recorded(
    made: Check,
    value: Tensor | None,
    identifier: str = "",
    exception: str = "",
    operators: Sequence[str] = (),
) -> Recorded:
    expected = run(CHAIN, GIVEN)
    return Recorded(
        identifier or f"{made.kind} {made.criteria}",
        made,
        Observation(GIVEN, value, exception),
        value is not None and same(value, expected),
        None if value is None else tuple(value.shape),
        tuple(expected.shape),
        dict.fromkeys(operators, 1),
    )


def judged(
    standing: NameStatus,
    criterion_id: str,
    outcomes: Sequence[Outcome] = (),
    seen: Sequence[Recorded] = (),
    *,
    aspect: str | None = None,
    forbidden: Sequence[Forbidden] = ASSIGNMENT.forbidden,
) -> Verdict:
    criterion: Criterion = STAGE.criterion(criterion_id)
    share = next(
        each for each in criterion.shares if each.name == standing.name and each.aspect == aspect
    )
    assert isinstance(share, Share)
    return Witness(CATALOGUE, standing, outcomes, seen, forbidden).verdict(criterion, share)


def ids(verdict: Verdict) -> list[str]:
    return [entry.id for entry in verdict.mistakes]


RIGHT = NameStatus(NAME, "right")
UNEXPLAINED = NameStatus(NAME, "unexplained", status="failed")
EVERY_SHARE = [
    pytest.param(criterion.id, share.aspect, id=f"{criterion.id}-{share.aspect}")
    for criterion in STAGE.criteria
    for share in criterion.shares
    if share.name == NAME
]
STEPS = [criterion for criterion in CHAIN.names if criterion != "dropout"]


class TestRight:
    """A name whose outputs are the reference's."""

    @pytest.mark.parametrize(("criterion", "aspect"), EVERY_SHARE)
    def test_every_share_is_kept(self, criterion: str, aspect: str | None) -> None:
        verdict = judged(RIGHT, criterion, [outcome("passed", BASE)], aspect=aspect)
        assert (verdict.status, verdict.mistakes, verdict.failing) == ("passed", (), None)

    def test_a_check_of_its_own_that_fails_costs_its_share_alone(self) -> None:
        failed = outcome("failed", check("own", "dropout"), misconception="dropout-missing")
        assert judged(RIGHT, "dropout", [failed]).status == "failed"
        assert ids(judged(RIGHT, "dropout", [failed])) == ["dropout-missing"]
        assert judged(RIGHT, "softmax", [failed]).status == "passed"

    def test_a_special_setting_that_fails_costs_its_share(self) -> None:
        setting = check("values", "form")
        verdict = judged(RIGHT, "form", [outcome("failed", setting)])
        assert (verdict.status, ids(verdict)) == ("failed", [])
        assert verdict.failing is not None
        assert verdict.failing.check == setting

    def test_a_special_setting_that_raises_names_the_mistake_of_its_criterion(self) -> None:
        setting = check("values", "masking")
        text = "RuntimeError: The size of tensor a (11) must match the size of tensor b (6) at ..."
        verdict = judged(
            RIGHT,
            "masking",
            [outcome("error", setting, text=text, exception=text)],
            [recorded(setting, None, exception=text)],
        )
        assert (verdict.status, ids(verdict)) == ("error", ["mask-not-cut"])

    def test_the_worst_of_several_failures_is_the_status(self) -> None:
        own = check("own", "state")
        found = [
            outcome("failed", own, "a", misconception="mask-no-buffer"),
            outcome("timeout", own, "b"),
        ]
        verdict = judged(RIGHT, "state", found)
        assert verdict.status == "timeout"
        assert verdict.failing == found[1]
        assert ids(verdict) == ["mask-no-buffer"]

    def test_a_share_with_an_aspect_is_judged_by_checks_of_that_aspect_alone(self) -> None:
        looped = outcome(
            "failed",
            check("own", "split", aspect="no loop over heads"),
            misconception="loop-over-heads",
        )
        assert ids(judged(RIGHT, "split", [looped], aspect="no loop over heads")) == [
            "loop-over-heads"
        ]
        assert judged(RIGHT, "split", [looped]).status == "passed"
        assert judged(RIGHT, "split", [looped], aspect="divisibility").status == "passed"

    def test_every_check_that_spoke_on_a_share_is_listed_with_it(self) -> None:
        base, rows = outcome("passed", BASE), outcome("passed", check("property", "softmax"))
        other = outcome("passed", check("property", "masking"))
        assert judged(RIGHT, "softmax", [base, rows, other]).outcomes == (base, rows)
        assert judged(RIGHT, "form", [base, rows, other]).outcomes == ()


class TestExplained:
    """A name whose outputs a mistake reproduces: one mistake costs one criterion."""

    standing = NameStatus(NAME, "explained", explanation("no-scale"))
    base = outcome("failed", BASE)

    def test_the_mistakes_criterion_is_lost_and_names_it(self) -> None:
        verdict = judged(self.standing, "scaling", [self.base])
        assert (verdict.status, ids(verdict)) == ("failed", ["no-scale"])

    @pytest.mark.parametrize("step", [step for step in STEPS if step != "scaling"])
    def test_every_other_step_was_shown_to_be_right(self, step: str) -> None:
        assert judged(self.standing, step, [self.base]).status == "passed"

    @pytest.mark.parametrize("criterion", ["form", "state", "dropout"])
    def test_what_is_no_step_is_judged_for_itself(self, criterion: str) -> None:
        assert judged(self.standing, criterion, [self.base]).status == "passed"
        failed = outcome("failed", check("own", criterion))
        assert judged(self.standing, criterion, [self.base, failed]).status == "failed"

    def test_two_mistakes_cost_both_their_criteria(self) -> None:
        both = NameStatus(NAME, "explained", explanation("no-scale", "merged-without-transpose"))
        lost = {step for step in STEPS if judged(both, step, [self.base]).status != "passed"}
        assert lost == {"scaling", "merge"}
        assert ids(judged(both, "merge")) == ["merged-without-transpose"]

    def test_a_property_is_overruled(self) -> None:
        failed = outcome("failed", check("property", "softmax"))
        assert judged(self.standing, "softmax", [self.base, failed]).status == "passed"

    def test_a_setting_that_shows_the_same_mistake_costs_nothing_more(self) -> None:
        setting = check("values", "form")
        seen = recorded(setting, output_with("no-scale"))
        assert (
            judged(self.standing, "form", [outcome("failed", setting)], [seen]).status == "passed"
        )

    def test_a_setting_that_shows_something_else_costs_its_share(self) -> None:
        setting = check("values", "form")
        seen = recorded(setting, output_with("no-mask"))
        verdict = judged(self.standing, "form", [outcome("failed", setting)], [seen])
        assert verdict.status == "failed"

    def test_a_setting_in_which_nothing_was_compared_costs_its_share(self) -> None:
        verdict = judged(self.standing, "form", [outcome("timeout", check("values", "form"))])
        assert verdict.status == "timeout"

    def test_a_mistake_of_one_aspect_does_not_cost_the_others(self) -> None:
        uneven = NameStatus(NAME, "explained", explanation("divisibility-unchecked"))
        assert judged(uneven, "split", aspect="divisibility").status == "failed"
        assert judged(uneven, "split").status == "passed"
        assert judged(uneven, "split", aspect="no loop over heads").status == "passed"


class TestUnexplained:
    """Wrong outputs that nothing reproduces fall back on properties."""

    base = outcome("failed", BASE)
    masked = outcome("passed", check("property", "masking"))
    rows = outcome("failed", check("property", "softmax"))

    def test_a_step_whose_property_fails_is_lost(self) -> None:
        verdict = judged(UNEXPLAINED, "softmax", [self.base, self.masked, self.rows])
        assert verdict.status == "failed"
        assert verdict.failing == self.rows

    def test_a_step_whose_property_holds_is_kept_where_another_fails(self) -> None:
        found = [self.base, self.masked, self.rows]
        assert judged(UNEXPLAINED, "masking", found).status == "passed"

    def test_a_step_without_a_property_of_its_own_is_lost(self) -> None:
        verdict = judged(UNEXPLAINED, "merge", [self.base, self.masked, self.rows])
        assert verdict.status == "failed"
        assert verdict.failing == self.base

    @pytest.mark.parametrize("step", STEPS)
    def test_where_no_property_fails_no_step_has_evidence(self, step: str) -> None:
        found = [self.base, *(outcome("passed", check("property", each)) for each in STEPS)]
        assert judged(UNEXPLAINED, step, found).status == "failed"

    @pytest.mark.parametrize("criterion", ["form", "state"])
    def test_what_is_no_step_is_kept_unless_a_check_of_its_own_fails(self, criterion: str) -> None:
        found = [self.base, outcome("passed", check("own", criterion))]
        assert judged(UNEXPLAINED, criterion, found).status == "passed"
        failed = [self.base, outcome("failed", check("own", criterion))]
        assert judged(UNEXPLAINED, criterion, failed).status == "failed"

    def test_other_numbers_in_a_special_setting_say_nothing_new(self) -> None:
        setting = check("values", "form")
        numbers = recorded(setting, output_with("no-mask") * 1.5)
        other = recorded(setting, output_with("no-mask")[:, :3])
        found = [self.base, outcome("failed", setting)]
        assert judged(UNEXPLAINED, "form", found, [numbers]).status == "passed"
        assert judged(UNEXPLAINED, "form", found, [other]).status == "failed"

    def test_outputs_that_change_from_call_to_call_are_evidence_of_nothing(self) -> None:
        unsteady = outcome(
            "failed", check("own", "state"), misconception="weights-made-anew", unsteady=True
        )
        found = [self.base, self.masked, self.rows, unsteady]
        assert ids(judged(UNEXPLAINED, "state", found)) == ["weights-made-anew"]
        for criterion in ("masking", "form"):
            assert judged(UNEXPLAINED, criterion, found).status != "passed"


class TestNothing:
    """Null programs and absent names."""

    @pytest.mark.parametrize(("criterion", "aspect"), EVERY_SHARE)
    @pytest.mark.parametrize(("kind", "status"), [("null", "failed"), ("absent", "missing")])
    def test_they_earn_nothing_state_and_form_included(
        self, kind: Any, status: Any, criterion: str, aspect: str | None
    ) -> None:
        standing = NameStatus(NAME, kind, status=status, text="Nothing is computed.")
        passed = outcome("passed", check("own", criterion, aspect=aspect))
        verdict = judged(standing, criterion, [passed], aspect=aspect)
        assert (verdict.status, verdict.text) == (status, "Nothing is computed.")


class TestUnseen:
    """A name that never returned anything to compare."""

    standing = NameStatus(NAME, "unseen", status="error", text="NameError: no")

    @pytest.mark.parametrize("criterion", [*STEPS, "dropout", "form"])
    def test_what_could_not_be_seen_is_blocked(self, criterion: str) -> None:
        failed = outcome("error", check("own", criterion))
        verdict = judged(self.standing, criterion, [outcome("error", BASE), failed])
        assert (verdict.status, verdict.text) == ("blocked", "NameError: no")

    def test_state_counts_where_the_constructor_ran(self) -> None:
        own = check("own", "state")
        found = [outcome("passed", own, "a"), outcome("error", own, "b")]
        assert judged(self.standing, "state", found).status == "passed"

    def test_state_is_blocked_where_the_constructor_raised(self) -> None:
        assert judged(self.standing, "state", [outcome("error", check("own", "state"))]).status == (
            "blocked"
        )

    def test_state_that_was_seen_to_be_wrong_is_lost_for_that(self) -> None:
        own = check("own", "state")
        found = [
            outcome("failed", own, "a", misconception="mask-no-buffer"),
            outcome("passed", own, "b"),
        ]
        verdict = judged(self.standing, "state", found)
        assert (verdict.status, ids(verdict)) == ("failed", ["mask-no-buffer"])

    def test_a_refusal_counts_where_it_was_seen(self) -> None:
        refused = outcome("passed", check("own", "split", aspect="divisibility"))
        assert judged(self.standing, "split", [refused], aspect="divisibility").status == "passed"
        assert judged(self.standing, "split", [refused]).status == "blocked"

    def test_the_criterion_of_a_known_exception_is_charged_and_the_rest_is_blocked(self) -> None:
        mistake = CATALOGUE.named("view-without-contiguous")
        standing = replace(self.standing, mistake=mistake)
        charged = judged(standing, "merge")
        assert (charged.status, ids(charged)) == ("error", ["view-without-contiguous"])
        assert judged(standing, "softmax").status == "blocked"

    @pytest.mark.parametrize("status", ["timeout", "killed"])
    def test_a_name_that_was_ended_says_so_everywhere(self, status: Any) -> None:
        standing = replace(self.standing, status=status)
        assert judged(standing, "softmax").status == status


class TestInPart:
    """A name that returns right outputs for some sizes and raises for others."""

    standing = NameStatus(NAME, "explained", partial=True, text="ValueError: six tokens")

    def test_the_sizes_cost_the_form(self) -> None:
        verdict = judged(self.standing, "form", [outcome("error", BASE)])
        assert (verdict.status, verdict.text) == ("error", "ValueError: six tokens")

    @pytest.mark.parametrize("step", STEPS)
    def test_the_steps_are_kept(self, step: str) -> None:
        assert judged(self.standing, step, [outcome("error", BASE)]).status == "passed"

    def test_a_setting_that_raises_in_the_same_way_costs_nothing_more(self) -> None:
        raising = outcome("error", check("values", "softmax"))
        assert judged(self.standing, "softmax", [raising]).status == "passed"


class TestForbidden:
    """A library's operator that did a step's work, as it was dispatched."""

    def lost(self, operator: str, **options: Any) -> set[str]:
        seen = [recorded(BASE, run(CHAIN, GIVEN), operators=["aten.mm.default", operator])]
        found = [outcome("passed", BASE)]
        return {
            step for step in STEPS if judged(RIGHT, step, found, seen, **options).status != "passed"
        }

    def test_scaled_dot_product_attention_costs_all_that_it_replaces(self) -> None:
        expected = {"scores", "scaling", "masking", "softmax", "context"}
        assert self.lost("aten._scaled_dot_product_flash_attention_for_cpu.default") == expected

    def test_the_librarys_module_costs_nearly_everything(self) -> None:
        assert self.lost("aten._native_multi_head_attention.default") == set(STEPS)

    def test_library_softmax_counts_within_softmax_alone(self) -> None:
        assert self.lost("aten._softmax.default") == set()
        stage = ASSIGNMENT.stage("simplified")
        softmax = Check("softmax", "values")
        criterion = stage.criterion("softmax")
        witness = Witness(
            load_catalogue(stage.misconceptions),
            NameStatus("softmax", "right"),
            [outcome("passed", softmax)],
            [recorded(softmax, run(CHAIN, GIVEN), operators=["aten._softmax.default"])],
            ASSIGNMENT.forbidden,
        )
        verdict = witness.verdict(criterion, criterion.shares[0])
        assert verdict.status == "failed"
        assert "`_softmax`" in verdict.text

    @pytest.mark.parametrize("operator", ["aten.logsumexp.default", "aten.bmm.default"])
    def test_other_operators_are_fine(self, operator: str) -> None:
        assert self.lost(operator) == set()

    def test_nothing_is_forbidden_where_the_assignment_forbids_nothing(self) -> None:
        assert self.lost("aten._native_multi_head_attention.default", forbidden=()) == set()

    def test_a_share_with_an_aspect_is_not_touched(self) -> None:
        operator = "aten._native_multi_head_attention.default"
        seen = [recorded(BASE, run(CHAIN, GIVEN), operators=[operator])]
        verdict = judged(RIGHT, "split", [], seen, aspect="divisibility")
        assert verdict.status == "passed"

    @pytest.mark.parametrize(
        ("operator", "name"),
        [
            ("aten._softmax.default", "_softmax"),
            ("aten::_softmax", "_softmax"),
            ("aten::_softmax.out", "_softmax"),
            ("_softmax", "_softmax"),
        ],
    )
    def test_an_operators_name_is_read_in_every_spelling(self, operator: str, name: str) -> None:
        assert bare(operator) == name
