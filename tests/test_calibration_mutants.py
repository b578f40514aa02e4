"""Small changes of the solutions, and whether a change makes another program."""

import ast
import re

import pytest

from autograder.attention import exchanged
from autograder.attention.trials import QUESTIONS, TRIALS
from autograder.calibration import operators
from autograder.calibration.cases import Part
from autograder.calibration.mutants import (
    KEEPS_EVERYTHING,
    KILLED,
    all_mutants,
    changed_sources,
    mutants,
    settled,
    sources_of,
    survivors,
)
from autograder.calibration.sameness import first_difference
from tests.conftest import ASSIGNMENT

SOURCES = sources_of(ASSIGNMENT)


def changed(source: str) -> set[str]:
    """Every mutant of a function with this body, as the body's text."""
    whole = f"def f(a, b):\n    return {source}"
    found = (ast.parse(each.source).body[0] for each in mutants("m", whole, exchanged()))
    return {
        ast.unparse(each.body[0].value)
        for each in found
        if isinstance(each, ast.FunctionDef)
        and isinstance(each.body[0], ast.Return)
        and each.body[0].value is not None
    }


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("a / b", {"a * b", "b / a", "a", "b"}),
        ("a @ b", {"b @ a"}),
        ("a > b", {"a >= b", "a < b"}),
        ("a.sum(dim=-1)", {"a.sum(dim=0)", "a.sum(dim=-2)", "a.sum()", "a"}),
        ("a.sum(-1, keepdim=True)", {"a.sum(-1, keepdim=False)", "a.sum(-1)"}),
        ("a.transpose(-2, -1)", {"a.transpose(-3, -1)", "a.transpose(-1)", "a.transpose(-1, -2)"}),
        ("a[:b, :b]", {"a[:, :b]", "a[:b, :]", "a[:a, :b]"}),
        ("a ** 0.5", {"a ** 1.0", "a * 0.5", "a ** 1.5", "a ** 0.25"}),
        ("f(b)", {"b", "f(a)"}),
        ("(a, b)", {"(a,)", "(b,)", "(b, a)"}),
        ("float('-inf')", {"float('inf')", "float('0.0')"}),
        ("self.W_query(a)", {"self.W_key(a)", "self.W_value(a)", "a"}),
    ],
)  # fmt: skip
def test_a_slip_that_a_student_could_make_is_among_the_mutants(
    source: str, wanted: set[str]
) -> None:
    assert wanted <= changed(source)


def test_a_statement_may_be_forgotten_and_a_condition_turned() -> None:
    source = "def f(a):\n    if a > 1:\n        a = 2\n    return a"
    found = {each.source for each in mutants("m", source, exchanged())}
    assert "def f(a):\n    return a" in found
    assert "def f(a):\n    if not a > 1:\n        a = 2\n    return a" in found
    assert "def f(a):\n    if a > 1:\n        pass\n    return a" in found


def test_what_a_program_says_of_itself_is_left_alone() -> None:
    source = 'def f(a: int = 3) -> int:\n    """Seven."""\n    raise ValueError(f"{a} of 3")'
    assert all('"""Seven."""' in each.source for each in mutants("m", source, exchanged()))
    raising = [each.source for each in mutants("m", source, exchanged()) if "raise" in each.source]
    assert all("ValueError(f'{a} of 3')" in each for each in raising)


@pytest.mark.proof
def test_mutants_differ_from_the_solution_and_from_one_another() -> None:
    found = list(all_mutants(ASSIGNMENT))
    assert len(found) >= 500
    assert len({(each.module, each.source) for each in found}) == len(found)
    assert len({each.label for each in found}) == len(found)
    for each in found:
        assert each.source != ast.unparse(ast.parse(SOURCES[each.module]))


def test_making_mutants_leaves_no_trace_in_those_that_follow() -> None:
    tree = ast.parse(SOURCES["causal"])
    wanted = ast.unparse(tree)
    for each in mutants("causal", SOURCES["causal"], exchanged()):
        ours = set(wanted.splitlines())
        theirs = set(each.source.splitlines())
        assert len(ours ^ theirs) <= 8, each.label


def test_every_operator_finds_something_in_the_solutions() -> None:
    nodes = [node for source in SOURCES.values() for node in ast.walk(ast.parse(source))]
    for operator in operators.OPERATORS:
        assert any(next(operator(node), None) is not None for node in nodes), operator.__name__


class TestSameness:
    """Values, exceptions, state, training and gradients, on random configurations."""

    def differs(self, module: str, before: str, after: str, configurations: int = 6) -> str | None:
        source = SOURCES[module]
        assert before in source
        mutant = {**SOURCES, module: source.replace(before, after, 1)}
        above = source[: source.index(before)]
        name = re.findall(r"^(?:def|class) (\w+)", above, re.MULTILINE)[-1]
        return first_difference(SOURCES, mutant, name, TRIALS, configurations)

    def test_the_solution_is_the_same_as_itself_written_anew(self) -> None:
        anew = {module: ast.unparse(ast.parse(source)) for module, source in SOURCES.items()}
        assert first_difference(SOURCES, anew, "softmax", TRIALS, 6) is None

    @pytest.mark.parametrize(
        ("module", "before", "after"),
        [
            ("simplified", "inputs @ query", "inputs @ query * 1.01"),
            ("simplified", "scores - largest", "scores"),
            ("trainable", "target.W_key.copy_(source.W_key", "target.W_key.copy_(source.W_query"),
            ("causal", "bias=qkv_bias", "bias=True"),
            ("causal", 'self.register_buffer("later", causal_mask(context_length))',
             "self.later = causal_mask(context_length)"),
            ("causal", "nn.Dropout(dropout)", "nn.Dropout(dropout / 2)"),
            ("causal", "self.W_value(tokens)", "self.W_value(tokens).detach()"),
            ("multi_head", "if d_out % num_heads != 0", "if False"),
            ("multi_head", "merged.out_proj.bias.zero_()", "pass"),
            ("multi_head", "first.dropout.p", "0.0"),
            ("multi_head", "num_heads=12", "num_heads=16"),
        ],
    )  # fmt: skip
    def test_another_program_is_told_apart(self, module: str, before: str, after: str) -> None:
        assert self.differs(module, before, after, 40) is not None

    @pytest.mark.parametrize(
        ("module", "before", "after"),
        [
            ("simplified", "inputs @ query", "torch.mv(inputs, query)"),
            ("causal", "num_tokens = tokens.shape[-2]", "num_tokens = tokens.shape[1]"),
            ("multi_head", "raise ValueError(", "raise AssertionError("),
            ("multi_head", "merged.train(wrapper.training)", "merged.eval()"),
        ],
    )
    def test_the_same_program_in_other_words_is_not(
        self, module: str, before: str, after: str
    ) -> None:
        assert self.differs(module, before, after) is None

    def test_every_name_of_the_contract_is_asked(self) -> None:
        assert set(QUESTIONS) == {name for stage in ASSIGNMENT.stages for name in stage.names}


def test_a_mutant_that_keeps_every_point_falls_short_unless_it_is_the_solution() -> None:
    part = Part("mutants", (KILLED,))
    part.add("first", {})
    for label in ("second", "third"):
        part.add(label, {KILLED.title: KEEPS_EVERYTHING})
    assert survivors(part) == ("second", "third")
    assert not part.sound
    settled(part, {"second": None, "third": "softmax in configuration 3"})
    assert part.remarks == ["equal to the solution: second"]
    assert part.short[KILLED.title] == [
        ("third", "keeps every point, yet differs: softmax in configuration 3")
    ]
    settled(part, {"third": None})
    assert part.sound


def test_a_mutants_package_differs_in_its_own_module_alone() -> None:
    mutant = next(each for each in all_mutants(ASSIGNMENT) if each.module == "causal")
    found = changed_sources(ASSIGNMENT, mutant)
    assert [module for module in found if found[module] != SOURCES[module]] == ["causal"]
