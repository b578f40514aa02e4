"""What is remembered from one submission to the next, and that nobody's result depends on it."""

import pytest
import torch

from autograder.attention.chain import Given
from autograder.attention.sample import Sample, Sizes
from autograder.diagnosis import explain
from autograder.diagnosis.catalogue import NullProgram, load_catalogue
from autograder.diagnosis.chain import run
from autograder.diagnosis.memory import Memory, numbers_of
from autograder.diagnosis.prefixes import options_of
from autograder.diagnosis.search import MOST_REPLACED, Level, Search
from tests.conftest import ASSIGNMENT

CATALOGUE = load_catalogue(ASSIGNMENT.stage("trainable").misconceptions)
NAME = "SelfAttention_v1"
CHAIN = CATALOGUE.chains[NAME]
SIZES = Sizes(d_in=4, d_out=3, tokens=5)


def given(label: str = "strong") -> Given:
    sample = Sample(b"memory")
    return Given(tokens=sample.tokens(label, SIZES), weights=sample.weights(label, SIZES))


def search_for(found: torch.Tensor, memory: Memory[Level] | None, asked: Given) -> Search:
    return Search(CHAIN, options_of(CHAIN, CATALOGUE.of(NAME)), asked, found, memory)


def everything(search: Search) -> list[object]:
    told: list[object] = []
    for size in range(MOST_REPLACED + 1):
        settings = search.settings(size)
        told += [[[each.rank for each in chosen] for chosen in settings], search.evaluations]
    return [*told, search.exhausted]


def outputs() -> list[torch.Tensor]:
    """Of right and wrong programs of one mistake and of two, of nobody, and of no number."""
    right = run(CHAIN, given())
    steps = {
        entry.step: entry.steps[0]
        for entry in (CATALOGUE.named("query-key-swapped"), CATALOGUE.named("no-scale"))
    }
    one = run(CHAIN, given(), {"scaling": steps["scaling"]})
    two = run(CHAIN, given(), steps)
    return [right, one, two, right * 1.5 + 3.0, torch.full_like(right, torch.nan)]


def test_a_search_finds_the_same_whatever_was_searched_before() -> None:
    alone = [everything(search_for(found, None, given())) for found in outputs()]
    assert len({str(told) for told in alone}) == 4  # no number is as little as nobody's
    for order in (range(5), reversed(range(5))):
        memory: Memory[Level] = Memory(1 << 24)
        for number in order:
            assert everything(search_for(outputs()[number], memory, given())) == alone[number]


def test_what_was_forgotten_is_computed_again() -> None:
    found = outputs()[2]
    alone = everything(search_for(found, None, given()))
    memory: Memory[Level] = Memory(1 << 24)
    search_for(outputs()[0], memory, given()).settings(0)  # and no further
    assert everything(search_for(found, memory, given())) == alone


def test_ends_on_another_input_are_not_taken_for_these() -> None:
    memory: Memory[Level] = Memory(1 << 24)
    everything(search_for(outputs()[0], memory, given()))
    other = given("other")
    assert not search_for(run(CHAIN, given()), memory, other).settings(0)
    assert search_for(run(CHAIN, other), memory, other).settings(0)


def test_inputs_are_the_same_to_the_bit_or_not_at_all() -> None:
    tokens = torch.zeros(2, 3)
    assert numbers_of(Given(tokens=tokens)) == numbers_of(Given(tokens=tokens.clone()))
    for other in (-tokens, tokens.double(), tokens.T):
        assert numbers_of(Given(tokens=other)) != numbers_of(Given(tokens=tokens))
    assert numbers_of(Given(scores=tokens)) != numbers_of(Given(tokens=tokens))
    assert numbers_of(Given(tokens=tokens, heads=2)) != numbers_of(Given(tokens=tokens))


@pytest.mark.parametrize("null", CATALOGUE.nulls, ids=lambda null: null.id)
def test_null_programs_are_known_again_and_nobody_else_is(
    null: NullProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explain, "NULLS", Memory[explain.Expected](1 << 20))
    output = null.outputs[NAME]
    for _ in range(2):
        seen = [explain.Observation(given(), output(given()))]
        found = explain.null_program(NAME, CATALOGUE, seen)
        assert found is not None
        assert found.outputs[NAME](given()).equal(output(given()))
        right = [explain.Observation(given(), run(CHAIN, given()))]
        assert explain.null_program(NAME, CATALOGUE, right) is None


@pytest.mark.parametrize("mistake", ["query-key-swapped", "no-scale"])
def test_what_a_program_with_a_mistake_gives_is_known_again(
    mistake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the same numbers, whatever tensors hold them; other numbers are another question."""
    monkeypatch.setattr(explain, "OUTPUTS", Memory[tuple[torch.Tensor | None]](1 << 20))
    entry = CATALOGUE.named(mistake)
    explanation = explain.Explanation((entry,), {entry.step: entry.steps[0]})
    first, again = (explanation.expected(CHAIN, given()) for _ in range(2))
    assert first is again
    for asked in (given(), given("other")):
        found = explanation.expected(CHAIN, asked)
        assert found is not None
        assert found.equal(run(CHAIN, asked, explanation.replaced))


class TestRoom:
    """So many bytes and no more."""

    def test_what_was_wanted_last_stays(self) -> None:
        memory: Memory[str] = Memory(10)
        memory.keep("a", "first", 4)
        memory.keep("b", "second", 4)
        assert memory.get("a") == "first"
        memory.keep("c", "third", 4)
        assert [memory.get(key) for key in "abc"] == ["first", None, "third"]

    def test_what_is_too_large_is_not_kept_and_drives_nothing_out(self) -> None:
        memory: Memory[str] = Memory(10)
        memory.keep("a", "first", 4)
        memory.keep("b", "second", 11)
        assert (memory.get("a"), memory.get("b")) == ("first", None)

    def test_keeping_the_same_again_takes_no_more_room(self) -> None:
        memory: Memory[str] = Memory(10)
        for _ in range(5):
            memory.keep("a", "first", 4)
        memory.keep("b", "second", 6)
        assert (memory.get("a"), memory.get("b")) == ("first", "second")
