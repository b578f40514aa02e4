"""Hidden checks as a whole: each says what it judges, and together they judge everything."""

from collections.abc import Iterator

import pytest

from autograder.assignment.assignment import Share, Stage
from autograder.checks import marks
from autograder.checks.check_spec import checks_in, modules_of
from autograder.checks.marks import ATTRIBUTE, Check, criterion, own, setting, values
from autograder.diagnosis.catalogue import load_catalogue
from tests.conftest import ASSIGNMENT


def marked_checks(stage: Stage) -> Iterator[tuple[str, dict[str, Check]]]:
    """The checks that call names of a stage, wherever they are written."""
    for written in ASSIGNMENT.stages:
        for module in modules_of(ASSIGNMENT, written):
            for function in checks_in(module):
                checks: dict[str, Check] = getattr(function, ATTRIBUTE)
                own = {name: each for name, each in checks.items() if name in stage.names}
                if own:
                    yield function.__name__, own


def all_checks(stage: Stage) -> list[Check]:
    return [check for _, checks in marked_checks(stage) for check in checks.values()]


def steps_of(stage: Stage, name: str) -> tuple[str, ...]:
    chain = load_catalogue(stage.misconceptions).chains.get(name)
    return () if chain is None else chain.names


def evidence(stage: Stage, criterion_id: str, share: Share) -> set[str]:
    """The kinds of check that speak on a share."""
    step = criterion_id in steps_of(stage, share.name) and share.aspect is None
    return {
        check.kind
        for check in all_checks(stage)
        if check.name == share.name
        and (
            (criterion_id in check.criteria and check.aspect == share.aspect)
            or (step and check.kind == "values" and not check.criteria)
        )
    }


SHARES = [
    pytest.param(stage, criterion.id, share, id=f"{criterion.id}-{share.name}-{share.aspect}")
    for stage in ASSIGNMENT.stages
    for criterion in stage.criteria
    for share in criterion.shares
]
every_stage = pytest.mark.parametrize("stage", ASSIGNMENT.stages, ids=lambda stage: stage.id)


@pytest.mark.parametrize(("stage", "criterion_id", "share"), SHARES)
def test_every_share_can_be_lost_without_an_explanation(
    stage: Stage, criterion_id: str, share: Share
) -> None:
    """By a property that needs no reference, or by evidence of its own."""
    assert evidence(stage, criterion_id, share) & {"property", "own"}


@pytest.mark.parametrize(("stage", "criterion_id", "share"), SHARES)
def test_every_step_is_compared_with_the_reference(
    stage: Stage, criterion_id: str, share: Share
) -> None:
    """So is the form; state, aspects and the exercises are judged by what the modules hold."""
    steps = steps_of(stage, share.name)
    if share.aspect is None and (criterion_id in steps or (criterion_id == "form" and steps)):
        assert "values" in evidence(stage, criterion_id, share)
    else:
        assert "own" in evidence(stage, criterion_id, share)


@every_stage
def test_every_stage_has_a_good_number_of_checks(stage: Stage) -> None:
    assert len(all_checks(stage)) >= 10


@every_stage
def test_every_check_judges_a_name_and_criteria_that_the_stage_has(stage: Stage) -> None:
    for check in all_checks(stage):
        assert check.name in stage.names
        for identifier in check.criteria:
            shares = stage.criterion(identifier).shares
            assert (check.name, check.aspect) in {(each.name, each.aspect) for each in shares}


@every_stage
def test_every_rationale_is_a_sentence_for_the_student(stage: Stage) -> None:
    for check in all_checks(stage):
        assert not check.rationale[:1].islower(), check
        assert check.rationale.endswith("."), check
        assert 10 < len(check.rationale) < 140, check


@every_stage
def test_names_of_checks_read_as_sentences(stage: Stage) -> None:
    for name, _ in marked_checks(stage):
        assert name.count("_") >= 2, name


@every_stage
def test_a_name_whose_outputs_are_compared_is_asked_whether_it_attends_at_all(
    stage: Stage,
) -> None:
    kinds = {
        name: {each.kind for each in all_checks(stage) if each.name == name} for name in stage.names
    }
    chains = load_catalogue(stage.misconceptions).chains
    # A mask and a join of heads depend on no scores.
    exempt = {"causal_mask", "MultiHeadAttentionWrapper"}
    missing = {name for name in chains if "dependence" not in kinds[name]} - exempt
    assert missing == set()


@every_stage
def test_no_two_checks_of_a_stage_have_one_name(stage: Stage) -> None:
    found = [name for name, _ in marked_checks(stage)]
    assert len(found) == len(set(found))


# The marks themselves -----------------------------------------------------------------------


def test_a_mark_keeps_the_test_and_takes_its_docstring() -> None:
    @criterion("masking", "softmax", of="CausalAttention")
    def test_something() -> str:
        """A later token
        changes nothing."""
        return "ran"

    assert test_something() == "ran"
    check = getattr(test_something, ATTRIBUTE)["CausalAttention"]
    rationale = "A later token changes nothing."
    assert check == Check("CausalAttention", "property", ("masking", "softmax"), None, rationale)


def test_each_mark_makes_its_own_kind_of_check() -> None:
    def plain() -> None:
        """Something."""

    def kind(mark: marks.Mark) -> Check:
        check: Check = getattr(mark(plain), ATTRIBUTE)["softmax"]
        return check

    assert kind(values("softmax")).criteria == ()
    assert kind(values("softmax")).kind == "values"
    assert kind(setting("form", "softmax")) == Check(
        "softmax", "values", ("form",), None, "Something."
    )
    assert kind(own("form", "softmax", aspect="bias")).aspect == "bias"
    assert kind(own("form", "softmax")).kind == "own"
    assert kind(marks.dependence("softmax", told="Nothing.")).told == "Nothing."


def test_cases_multiply_the_first_given_first() -> None:
    @marks.cases("name", ["masked_weights", "renormalized_weights"])
    @marks.cases("count", [5, 8])
    def test_something() -> None:
        """Something."""

    assert [case.label for case in getattr(test_something, marks.CASES)] == [
        "5-masked_weights",
        "5-renormalized_weights",
        "8-masked_weights",
        "8-renormalized_weights",
    ]


def test_labels_are_made_by_a_function_or_given_one_for_each_value() -> None:
    @marks.cases("size", [(1,), (2, 3)], labels=len)
    def by_function() -> None: ...

    @marks.cases("size", [1.0, 2.0], labels=["small", "large"])
    def given() -> None: ...

    assert [case.label for case in getattr(by_function, marks.CASES)] == ["1", "2"]
    assert [case.label for case in getattr(given, marks.CASES)] == ["small", "large"]
