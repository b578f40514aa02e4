"""`selfcheck.mistakes`: a mistake is named by what it gives on public inputs."""

import json
import re
import sys
import tomllib
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from autograder.assignment.secret import PRACTICE
from autograder.attention.sample import Sample, Sizes
from autograder.checks.check_spec import hidden_checks
from autograder.release import stubs
from autograder.release.mistakes import PUBLIC
from autograder.release.template import solution_lines
from selfcheck.course import course
from selfcheck.mistakes import Seen, explain, find_mistakes, known, mistake_in
from tests.conftest import ASSIGNMENT, ROOT

SELFCHECK = ROOT / "student_template" / "selfcheck"
DECLARED = hidden_checks(ASSIGNMENT).declared
VARIANTS = ROOT / "tests" / "variants"
WRONG = tomllib.loads((VARIANTS / "wrong" / "manifest.toml").read_text("utf-8"))["variant"]

#: What no public input shows: where in training something is dropped, how often an operator runs,
#: where a mask is kept, sizes that a module does not tell.
HIDDEN = {
    "dropout-not-rescaled",
    "dropout-on-context",
    "dropout-on-scores",
    "dropout-on-values",
    "dropout-renormalised",
    "dropout-shared-by-batch",
    "dropout-wrong-rate",
    "gpt2-sizes",
    "library-attention",
    "loop-over-heads",
    "mask-no-buffer",
    "mask-sized-by-embedding",
}
VISIBLE = [each for each in WRONG if each["id"] not in HIDDEN]


@pytest.fixture(autouse=True)
def _what_was_there_before() -> Iterator[None]:
    """Whatever was called `attention` before is put back."""
    before = {name: module for name, module in sys.modules.items() if _is_attention(name)}
    yield
    for name in [name for name in sys.modules if _is_attention(name)]:
        del sys.modules[name]
    sys.modules.update(before)


def _is_attention(name: str) -> bool:
    return name.partition(".")[0] == "attention"


def module_of(stage_id: str, file: Path) -> types.ModuleType:
    """A stage's module as `file` has it, among right ones of the other stages."""
    root = types.ModuleType("attention")
    root.__path__ = []
    sys.modules["attention"] = root
    for stage in course().stages:
        right = VARIANTS / "right" / "book_style" / "attention" / f"{stage.module}.py"
        source = file if stage.id == stage_id else right
        module = types.ModuleType(f"attention.{stage.module}")
        module.__package__ = "attention"
        sys.modules[module.__name__] = module
        exec(compile(source.read_text("utf-8"), str(source), "exec"), module.__dict__)
        if stage.id == stage_id:
            return module
    raise AssertionError(stage_id)


@pytest.mark.parametrize("variant", VISIBLE, ids=lambda each: each["file"])
@pytest.mark.filterwarnings("ignore:The use of `x.T` on tensors:UserWarning")
def test_a_wrong_program_has_its_mistake_named(variant: dict[str, Any]) -> None:
    stage = course().stage(variant["stage"])
    module = module_of(stage.id, VARIANTS / "wrong" / variant["file"])
    wrong = {name: ["a check that is not seeded"] for name in variant["names"]}
    named = {mistake["id"] for mistake in find_mistakes(stage, module, wrong)}
    assert named & {variant["id"], *variant.get("also", ())}


def test_three_quarters_of_all_known_mistakes_are_visible_in_public() -> None:
    assert len({each["id"] for each in VISIBLE}) > 3 * len({each["id"] for each in WRONG}) / 4
    assert len({each["id"] for each in VISIBLE}) >= 15


@pytest.mark.parametrize("stage", course().stages, ids=lambda stage: stage.id)
@pytest.mark.parametrize("style", ["book_style", "einsum"])
def test_right_code_has_no_mistake_named(stage: Any, style: str) -> None:
    module = module_of(stage.id, VARIANTS / "right" / style / "attention" / f"{stage.module}.py")
    assert {name.name: mistake_in(stage, module, name.name) for name in stage.names} == {
        name.name: None for name in stage.names
    }


def test_of_equal_programs_the_one_is_named_that_a_right_name_does_not_rule_out() -> None:
    stage = course().stage("simplified")
    file = VARIANTS / "wrong" / "simplified" / "weights-transposed.py"
    module = module_of(stage.id, file)
    right = {"attention_weights"}
    assert mistake_in(stage, module, "context_vectors", right) == "weights-transposed"
    assert mistake_in(stage, module, "context_vectors") == "softmax-over-queries"


def test_every_mistake_that_can_be_named_has_words_and_a_section_that_exists() -> None:
    for stage in ASSIGNMENT.stages:
        headings = re.findall(r"^## (.+)$", stage.handout.read_text("utf-8"), re.MULTILINE)
        anchors = {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings}
        words = known()["mistakes"][stage.id]
        for name in stage.names:
            for entry in known()["names"].get(name, {"entries": ()})["entries"]:
                assert {*entry["ids"]} <= {*words, "right"}
        for identifier, told in words.items():
            assert told["title"], identifier
            assert told["message"].endswith((".", ")", "?")), identifier
            assert told["section"] in {*anchors, ""}, identifier


def test_numbers_that_nobody_knows_are_not_explained() -> None:
    table = known()["names"]["softmax"]
    assert explain(table, [Seen(torch.full((4, 4), 7.0)), Seen(torch.full((2, 3, 5), 7.0))]) == []
    assert explain(table, [Seen(None, "KeyError: 3"), Seen(None, "KeyError: 3")]) == []


class TestWhatIsReleased:
    def strings(self, value: object) -> Iterator[str]:
        """Every text within what a JSON file says."""
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            for key, each in value.items():
                yield from (key, *self.strings(each))
        elif isinstance(value, list):
            for each in value:
                yield from self.strings(each)

    @pytest.mark.parametrize("name", ["course.json", "mistakes.json"])
    def test_no_text_in_it_gives_a_line_of_a_solution_away(self, name: str) -> None:
        told = json.loads((SELFCHECK / name).read_text("utf-8"))
        texts = [*self.strings(told)]
        secrets = solution_lines(ASSIGNMENT)
        assert len(texts) > 50
        assert {
            text: stubs.leaks(text, secrets) for text in texts if stubs.leaks(text, secrets)
        } == {}

    def test_hints_give_no_line_of_a_solution_away(self) -> None:
        hints = (SELFCHECK / "hints.toml").read_text("utf-8")
        assert stubs.leaks(hints, solution_lines(ASSIGNMENT)) == ()

    def test_public_inputs_are_drawn_from_another_seed_than_hidden_ones(self) -> None:
        assert PUBLIC != PRACTICE
        sizes = Sizes(d_in=4, d_out=3, tokens=5)
        public, hidden = (Sample(seed).tokens("any", sizes) for seed in (PUBLIC, PRACTICE))
        assert not torch.isclose(public, hidden, atol=1e-4).any()

    def test_no_number_of_a_hidden_input_is_among_the_public_ones(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Draw what the hidden checks draw, under every label, and look for it."""
        labels = {
            (label, shape)
            for name in ASSIGNMENT.names
            for label, shape in drawn_labels(name, monkeypatch)
        }
        public = {
            round(number, 5)
            for name in ASSIGNMENT.names
            for probe in DECLARED[name].probes(Sample(PUBLIC))
            for number in numbers_in(probe.told["arguments"])
            if number != int(number)
        }
        hidden = Sample(PRACTICE)
        drawn = [hidden.numbers(label, *shape, reach=2.0) for label, shape in labels]
        rows = [tuple(round(each, 5) for each in t.flatten().tolist()[:3]) for t in drawn]
        assert len(rows) > 20
        assert [row for row in rows if {*row} <= public] == []


def drawn_labels(name: str, monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, tuple[int, ...]]]:
    """Under which labels, and of which shapes, the public inputs of a name are drawn."""
    asked: set[tuple[str, tuple[int, ...]]] = set()
    numbers = Sample.numbers

    def noting(self: Sample, label: str, *shape: int, reach: float = 1.0) -> torch.Tensor:
        asked.add((label, shape))
        return numbers(self, label, *shape, reach=reach)

    with monkeypatch.context() as patched:
        patched.setattr(Sample, "numbers", noting)
        DECLARED[name].probes(Sample(PUBLIC))
    return asked


def numbers_in(value: object) -> Iterator[float]:
    """Every number within nested lists."""
    if isinstance(value, list):
        for each in value:
            yield from numbers_in(each)
    elif isinstance(value, float):
        yield value
