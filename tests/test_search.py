"""The search through the settings of a chain: every prefix once, many side by side, bounded."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import pytest
import torch
from msgspec import structs
from torch import Tensor

from autograder.attention.chain import Given, Values, start
from autograder.attention.sample import Sample, Sizes
from autograder.diagnosis import search
from autograder.diagnosis.catalogue import Misconception, load_catalogue
from autograder.diagnosis.chain import Chain, Step, StepRaises, run
from autograder.diagnosis.compare import same
from autograder.diagnosis.prefixes import Crowd, Option, begun, joined, options_of, stepped
from autograder.diagnosis.search import Search
from tests.conftest import ASSIGNMENT

SAMPLE = Sample(b"what the tests of the search use")


# A chain of three steps on plain numbers ----------------------------------------------------


def adding(number: float) -> Step:
    return lambda values: structs.replace(values, scores=values.scores + number)


def times(factor: float) -> Step:
    return lambda values: structs.replace(values, scores=values.scores * factor)


def raising(values: Values) -> Values:
    raise StepRaises


def mistake(identifier: str, step: str, *ways: Step) -> Misconception:
    return Misconception(
        id=identifier,
        criterion=step,
        step=step,
        codings=ways,
    )


PLAIN = Chain(
    (("first", adding(1.0)), ("second", times(2.0)), ("third", adding(-3.0)), ("last", times(1.5))),
    lambda given: start(given, scores=torch.tensor([1.0, 5.0])),
    lambda values: values.scores,
)
ENTRIES = (
    mistake("a", "first", adding(7.0), adding(11.0)),
    mistake("b", "second", times(13.0)),
    mistake("c", "third", adding(17.0)),
    mistake("d", "last", times(19.0), raising),
)


def searched(
    replaced: dict[str, Step], entries: Sequence[Misconception] = ENTRIES, chain: Chain = PLAIN
) -> Search:
    found = run(chain, Given(), replaced)
    return Search(chain, options_of(chain, entries), Given(), found)


def told(options: Sequence[Option]) -> str:
    return "".join(each.misconception.id for each in options if each.misconception)


@pytest.mark.parametrize(
    ("replaced", "expected"),
    [
        ({}, ""),
        ({"second": times(13.0)}, "b"),
        ({"first": adding(11.0), "last": times(19.0)}, "ad"),
        ({"first": adding(7.0), "second": times(13.0), "third": adding(17.0)}, "abc"),
        ({"second": times(13.0), "third": adding(17.0), "last": times(19.0)}, "bcd"),
    ],
)
def test_the_setting_is_found_at_its_own_size(replaced: dict[str, Step], expected: str) -> None:
    search_of_it = searched(replaced)
    by_size = [
        {told(options) for options in search_of_it.settings(size)}
        for size in range(search.MOST_REPLACED + 1)
    ]
    assert expected in by_size[len(expected)]
    assert all(expected not in found for found in by_size[: len(expected)])


def test_four_replaced_steps_are_not_searched_for() -> None:
    everything = {
        "first": adding(7.0),
        "second": times(13.0),
        "third": adding(17.0),
        "last": times(19.0),
    }
    search_of_it = searched(everything)
    assert all(search_of_it.settings(size) == [] for size in range(search.MOST_REPLACED + 1))


def test_each_step_is_evaluated_once_for_each_distinct_prefix(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All prefixes with three mistakes or fewer, each of them once and no other."""
    taken: Counter[tuple[int, ...]] = Counter()
    original = stepped

    def counting(crowd: Crowd, number: int, option: Option, chain: Chain) -> Crowd | None:
        taken.update((*path, number) for path in crowd.paths.tolist())
        return original(crowd, number, option, chain)

    monkeypatch.setattr(search, "stepped", counting)
    search_of_it = searched({"first": times(0.123)})  # nothing explains it
    for size in range(search.MOST_REPLACED + 1):
        assert search_of_it.settings(size) == []
    ways = [range(3), range(2), range(2), range(3)]  # 0 is right
    expected = {
        prefix
        for length in range(1, 5)
        for prefix in product(*ways[:length])
        if sum(number > 0 for number in prefix) <= search.MOST_REPLACED
    }
    assert set(taken) == expected
    assert set(taken.values()) == {1}
    assert search_of_it.evaluations == len(expected)


def test_another_right_way_is_tried_with_one_mistake_and_not_with_two() -> None:
    varied = replace(PLAIN, realizations={"first": (adding(100.0),)})
    with_one = searched({"first": adding(100.0), "third": adding(17.0)}, chain=varied)
    assert with_one.settings(0) == []
    assert [told(options) for options in with_one.settings(1)] == ["c"]
    with_two = searched(
        {"first": adding(100.0), "third": adding(17.0), "last": times(19.0)}, chain=varied
    )
    assert [told(options) for size in range(4) for options in with_two.settings(size)] == []


def test_settings_come_in_the_catalogues_order() -> None:
    twins = (mistake("late", "third", adding(17.0)), mistake("soon", "third", adding(17.0)))
    found = searched({"third": adding(17.0)}, twins)
    assert found.settings(0) == []
    assert [told(options) for options in found.settings(1)] == ["late", "soon"]


# The bound ----------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [1, 5, 20, 40])
def test_the_search_ends_at_its_bound(bound: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST_EVALUATIONS", bound)
    asked = 0
    original = stepped

    def counting(crowd: Crowd, number: int, option: Option, chain: Chain) -> Crowd | None:
        nonlocal asked
        asked += len(crowd)
        return original(crowd, number, option, chain)

    monkeypatch.setattr(search, "stepped", counting)
    search_of_it = searched({"first": times(0.123)})
    for size in range(search.MOST_REPLACED + 1):
        assert search_of_it.settings(size) == []
    assert search_of_it.exhausted
    assert 0 < asked <= bound


def test_a_bound_that_is_too_small_leaves_two_mistakes_unexplained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "MOST_EVALUATIONS", 20)
    search_of_it = searched({"third": adding(17.0), "last": times(19.0)})
    assert [search_of_it.settings(size) for size in range(3)] == [[], [], []]
    assert search_of_it.exhausted


# The catalogue ------------------------------------------------------------------------------

SIZES = {
    "SelfAttention_v1": Sizes(d_in=7, d_out=5, tokens=6),
    "CausalAttention": Sizes(d_in=7, d_out=5, tokens=6, batch=2, context_length=11),
    "MultiHeadAttention": Sizes(d_in=7, d_out=15, tokens=6, batch=2, context_length=11, heads=3),
}
SQUARE = {
    "SelfAttention_v1": Sizes(d_in=8, d_out=8, tokens=5),
    "CausalAttention": Sizes(d_in=8, d_out=8, tokens=5, batch=3, context_length=5),
    "MultiHeadAttention": Sizes(d_in=12, d_out=12, tokens=5, batch=2, context_length=5, heads=3),
}


def givens(name: str) -> list[Given]:
    if name in SIZES:
        return [
            Given(
                tokens=SAMPLE.tokens("searched", sizes),
                weights=SAMPLE.weights("searched", sizes),
                heads=max(sizes.heads, 1),
                context_length=sizes.context_length,
            )
            for sizes in (SIZES[name], SQUARE[name])
        ]
    tokens = SAMPLE.numbers("plain", 5, 5, reach=2.0)
    return {
        "attention_scores": [Given(tokens=tokens, query=tokens[1] * 0.75)],
        "context_vector": [Given(tokens=tokens, query=tokens[1] * 0.75)],
        "attention_weights": [Given(tokens=tokens)],
        "context_vectors": [Given(tokens=tokens)],
        "softmax": [Given(scores=tokens), Given(scores=tokens[0])],
        "renormalized_weights": [Given(scores=tokens)],
        "masked_weights": [Given(scores=tokens)],
        "causal_mask": [Given(count=5)],
        "MultiHeadAttentionWrapper": [Given(tokens=tokens, parts=tuple(tokens.expand(3, 2, 5, 5)))],
    }[name]


CHAINS = [
    pytest.param(stage.id, name, given, id=f"{name}-{number}")
    for stage in ASSIGNMENT.stages
    for name in load_catalogue(stage.misconceptions).chains
    if name != "SelfAttention_v2"  # the same chain as v1
    for number, given in enumerate(givens(name))
]


def walked(chain: Chain, given: Given, place: int, option: Option) -> Tensor | None:
    """The output with one step done in some way, evaluated step by step, alone."""
    name = chain.names[place]
    try:
        with torch.no_grad():
            return run(chain, given, {name: option.step})
    except (StepRaises, RuntimeError, IndexError):
        return None


@pytest.mark.parametrize(("stage", "name", "given"), CHAINS)
def test_a_step_gives_the_same_to_many_prefixes_at_once_as_to_one_alone(
    stage: str, name: str, given: Given
) -> None:
    """Every way of every step of every name, two prefixes side by side."""
    catalogue = load_catalogue(ASSIGNMENT.stage(stage).misconceptions)
    chain = catalogue.chains[name]
    options = options_of(chain, catalogue.of(name))
    for place, ways in enumerate(options):
        for number, way in enumerate(ways):
            alone = walked(chain, given, place, way)
            crowd: Crowd | None = joined([begun(chain, given)] * 2)
            for step in range(len(options)):
                chosen = number if step == place else 0
                crowd = stepped(crowd, chosen, options[step][chosen], chain) if crowd else None
            if alone is None:
                assert crowd is None, (place, number)
                continue
            assert crowd is not None, (place, number)
            for together in chain.result(crowd.values):
                assert same(together, alone.to(together.dtype)), (place, number)


def test_the_bound_is_never_met_by_the_longest_chain() -> None:
    catalogue = load_catalogue(ASSIGNMENT.stage("multi_head").misconceptions)
    name = "MultiHeadAttention"
    chain = catalogue.chains[name]
    given = givens(name)[0]
    noise = SAMPLE.numbers("noise", *run(chain, given).shape)
    search_of_it = Search(chain, options_of(chain, catalogue.of(name)), given, noise)
    for size in range(search.MOST_REPLACED + 1):
        assert search_of_it.settings(size) == []
    assert not search_of_it.exhausted
    assert search_of_it.evaluations < search.MOST_EVALUATIONS


def test_prefixes_that_are_no_numbers_are_left_out_where_the_output_is_finite() -> None:
    catalogue = load_catalogue(ASSIGNMENT.stage("causal").misconceptions)
    chain = catalogue.chains["masked_weights"]
    entries = tuple(each for each in catalogue.of("masked_weights") if each.id == "plus-infinity")
    given = givens("masked_weights")[0]
    whole = run(chain, given)
    finite = Search(chain, options_of(chain, entries), given, whole * 2)
    odd = Search(chain, options_of(chain, entries), given, torch.full_like(whole, torch.nan))
    assert finite.settings(0) == odd.settings(0) == []
    assert finite.settings(1) == []
    assert [told(options) for options in odd.settings(1)] == []
    seen = run(chain, given, {"masking": entries[0].steps[0]})
    found = Search(chain, options_of(chain, entries), given, seen)
    found.settings(0)
    assert [told(options) for options in found.settings(1)] == ["plus-infinity"]
