"""The hidden checks of an assignment are found, each with a stable name and what it asks for."""

from types import ModuleType

import pytest
from msgspec import structs

from autograder.checks import check_spec
from autograder.checks.check_spec import checks_in, equivalents_of, hidden_checks, specs_of
from autograder.checks.marks import values
from autograder.errors import UsageError
from tests.conftest import ASSIGNMENT

SOURCE = '''
from autograder.checks.marks import cases, values

@values(of=("masked_weights", "renormalized_weights"))
@cases("count", [5, 8])
def test_of_two_names(count, name, student):
    """Both."""

@values(of="causal_mask")
def test_of_one_name(student, observe):
    """One."""

def helper():
    """No check."""
'''


def written(source: str) -> ModuleType:
    module = ModuleType("written_checks")
    exec(compile(source, "written_checks.py", "exec"), module.__dict__)
    return module


def test_a_check_of_several_names_and_cases_is_one_for_each() -> None:
    specs = [spec for check in checks_in(written(SOURCE)) for spec in specs_of(check, ASSIGNMENT)]
    assert [(spec.identifier, spec.check.name, spec.arguments) for spec in specs] == [
        (
            f"causal::test_of_two_names[{count}-{name}]",
            name,
            {"count": count, "name": name},
        )
        for count in (5, 8)
        for name in ("masked_weights", "renormalized_weights")
    ] + [("causal::test_of_one_name", "causal_mask", {})]
    assert specs[0].asked == ("student",)
    assert specs[-1].asked == ("student", "observe")


def test_a_check_that_says_nothing_is_the_assignments_fault() -> None:
    with pytest.raises(UsageError, match="test_silent does not say which criterion"):
        list(checks_in(written("def test_silent(student): ...")))


def test_a_check_that_asks_for_what_nobody_gives_is_the_assignments_fault() -> None:
    @values(of="softmax")
    def test_something(student: object, tmp_path: object) -> None:
        """Something."""

    with pytest.raises(UsageError, match="asks for tmp_path; a check may ask for declared"):
        list(specs_of(test_something, ASSIGNMENT))


def test_all_hidden_checks_have_names_of_their_own_and_stand_in_the_order_of_names() -> None:
    specs = hidden_checks(ASSIGNMENT).specs
    assert len({spec.identifier for spec in specs}) == len(specs) > 150
    ranks = [spec.rank for spec in specs]
    assert ranks == sorted(ranks)
    names = [name for stage in ASSIGNMENT.stages for name in stage.names]
    assert list(dict.fromkeys(spec.check.name for spec in specs)) == names


def test_what_imports_a_check_does_not_have_it_twice() -> None:
    module = written("from autograder.attention.checks.causal import *")
    assert list(checks_in(module)) == []


def test_equivalents_define_functions_of_their_stage_and_nothing_else() -> None:
    for stage, source in equivalents_of(ASSIGNMENT).items():
        defined: dict[str, object] = {}
        exec(compile(source, stage, "exec"), defined)
        functions = {name for name, held in defined.items() if callable(held)}
        assert functions
        assert functions <= set(ASSIGNMENT.stage(stage).names)


def test_names_are_built_on_names_of_the_same_assignment() -> None:
    built_on = hidden_checks(ASSIGNMENT).built_on
    names = {name for stage in ASSIGNMENT.stages for name in stage.names}
    assert set(built_on) == {"MultiHeadAttentionWrapper", "merge_heads"}
    assert {each.name for each in built_on.values()} <= names
    for each in built_on.values():
        compile(each.source, "<stand-in>", "exec")
        assert each.presumed[each.name]
    assert {"student", "sample", "observe", "findings"} <= check_spec.GIVEN


def test_a_comparison_without_a_reference_is_told_where_to_write_one() -> None:
    stage = structs.replace(
        ASSIGNMENT.stage("causal"), misconceptions=ASSIGNMENT.stage("simplified").misconceptions
    )
    stages = tuple(stage if each.id == "causal" else each for each in ASSIGNMENT.stages)
    with pytest.raises(UsageError, match="misconceptions.simplified: CHAINS has no causal_mask"):
        hidden_checks(structs.replace(ASSIGNMENT, stages=stages))


def test_a_name_without_any_check_is_told_where_to_write_one() -> None:
    stage = ASSIGNMENT.stage("trainable")
    stage = structs.replace(stage, names=(*stage.names, "SelfAttention_v3"))
    stages = tuple(stage if each.id == "trainable" else each for each in ASSIGNMENT.stages)
    with pytest.raises(UsageError, match="checks.trainable: no check of SelfAttention_v3"):
        hidden_checks(structs.replace(ASSIGNMENT, stages=stages))
