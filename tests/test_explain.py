"""Programs with mistakes, written here as a student writes them, are explained by their mistakes.

Each program is plain PyTorch and knows nothing of the chain or the catalogue.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest
import torch
from msgspec import structs
from torch import Tensor

from autograder.attention.chain import Given, scaling
from autograder.attention.sample import Sample, Sizes
from autograder.diagnosis.catalogue import Catalogue, Misconception, load_catalogue
from autograder.diagnosis.chain import Chain, Step, StepRaises, run
from autograder.diagnosis.compare import same
from autograder.diagnosis.explain import (
    Explanation,
    Observation,
    borne_out,
    explain,
    explanations,
    null_program,
    separated,
)
from autograder.diagnosis.texts import Text
from tests.conftest import ASSIGNMENT

SAMPLE = Sample(b"what the tests of explanations use")
SMALL = (Sizes(d_in=7, d_out=5, tokens=6), Sizes(d_in=4, d_out=11, tokens=9))
BATCHED = (
    Sizes(d_in=7, d_out=5, tokens=6, batch=2, context_length=11),
    Sizes(d_in=4, d_out=10, tokens=8, batch=3, context_length=8),
)
HEADS = (
    Sizes(d_in=7, d_out=15, tokens=6, batch=2, context_length=11, heads=3),
    Sizes(d_in=10, d_out=14, tokens=8, batch=3, context_length=9, heads=2),
)

Weights = Mapping[str, Tensor]
Program = Callable[[Given], Tensor]


def catalogue(stage: str) -> Catalogue:
    return load_catalogue(ASSIGNMENT.stage(stage).misconceptions)


def attention_inputs(sizes: Sequence[Sizes]) -> list[Given]:
    return [
        Given(
            tokens=SAMPLE.tokens("explained", each),
            weights=SAMPLE.weights("explained", each),
            heads=max(each.heads, 1),
            context_length=each.context_length,
        )
        for each in sizes
    ]


def inputs_of(name: str) -> list[Given]:
    tokens = [SAMPLE.numbers("plain", *shape, reach=2.0) for shape in ((6, 4), (9, 5), (5, 5))]
    scores = [SAMPLE.numbers("scores", size, size, reach=4.0) for size in (5, 8)]
    parts = [
        tuple(SAMPLE.numbers(f"head {place}", 2, 6, width) for place in range(heads))
        for heads, width in ((3, 5), (2, 4))
    ]
    return {
        "attention_scores": [Given(tokens=each, query=each[1] * 0.75 + 0.125) for each in tokens],
        "softmax": [
            Given(scores=SAMPLE.numbers("any", *shape, reach=4.0))
            for shape in ((7,), (4, 6), (5, 5))
        ],
        "context_vector": [Given(tokens=each, query=each[1] * 0.75 + 0.125) for each in tokens],
        "attention_weights": [Given(tokens=each) for each in tokens],
        "context_vectors": [Given(tokens=each) for each in tokens],
        "causal_mask": [Given(count=5), Given(count=8)],
        "renormalized_weights": [Given(scores=each) for each in scores],
        "masked_weights": [Given(scores=each) for each in scores],
        "MultiHeadAttentionWrapper": [
            Given(tokens=SAMPLE.numbers("plain", 2, 6, 7), parts=each) for each in parts
        ],
        "SelfAttention_v1": attention_inputs(SMALL),
        "SelfAttention_v2": attention_inputs(SMALL),
        "CausalAttention": attention_inputs(BATCHED),
        "MultiHeadAttention": attention_inputs(HEADS),
    }[name]


def seen(program: Program, given: Given) -> Observation:
    """What the judge sees of one call."""
    try:
        found = program(given)
    except (RuntimeError, IndexError) as error:
        return Observation(given, None, f"{type(error).__name__}: {error}")
    return Observation(given, found.float())


def explained(name: str, program: Program) -> Explanation | None:
    observations = [seen(program, given) for given in inputs_of(name)]
    return explain(name, catalogue(ASSIGNMENT.stage_of(name).id), observations)


def ids(explanation: Explanation | None) -> list[str]:
    assert explanation is not None
    assert explanation.null is None
    return [entry.id for entry in explanation.misconceptions]


def settings_of(explanation: Explanation) -> list[list[str]]:
    """All sets of mistakes that fit, in the order in which they are told."""
    return [
        [entry.id for entry in each.misconceptions]
        for each in (explanation, *explanation.alternatives)
    ]


# Programs as students write them ------------------------------------------------------------


def roles(given: Given) -> tuple[Tensor, Tensor, Tensor]:
    assert given.tokens is not None
    return tuple(given.tokens @ given.weights[role] for role in ("query", "key", "value"))  # type: ignore[return-value]


def without_scaling(given: Given) -> Tensor:
    queries, keys, values = roles(given)
    return torch.softmax(queries @ keys.T, dim=-1) @ values


def divided_by_the_key_size(given: Given) -> Tensor:
    queries, keys, values = roles(given)
    return torch.softmax(queries @ keys.T / keys.shape[1], dim=-1) @ values


def softmax_down_the_columns(given: Given) -> Tensor:
    queries, keys, values = roles(given)
    return torch.softmax(queries @ keys.T / keys.shape[1] ** 0.5, dim=0) @ values


def swapped(given: Given) -> Tensor:
    queries, keys, values = roles(given)
    return torch.softmax((keys @ queries.T) / math.sqrt(keys.shape[-1]), dim=-1) @ values


def weights_times_keys(given: Given) -> Tensor:
    queries, keys, _ = roles(given)
    return torch.softmax(queries @ keys.T / keys.shape[1] ** 0.5, dim=1) @ keys


def one_layer_for_all(given: Given) -> Tensor:
    assert given.tokens is not None
    x = given.tokens @ given.weights["query"]
    return torch.softmax(x @ x.T / x.shape[1] ** 0.5, dim=1) @ x


def divides_without_exp(given: Given) -> Tensor:
    assert given.scores is not None
    return given.scores / given.scores.sum(dim=-1, keepdim=True)


def sums_one_dimension_too_few(given: Given) -> Tensor:
    assert given.tokens is not None
    powers = torch.exp(given.tokens @ given.tokens.T)
    return powers / powers.sum(dim=0)


def scaled_too_early(given: Given) -> Tensor:
    assert given.tokens is not None
    assert given.query is not None
    return torch.stack([torch.dot(row, given.query) for row in given.tokens]) / math.sqrt(
        given.tokens.shape[1]
    )


def cosines(given: Given) -> Tensor:
    assert given.tokens is not None
    assert given.query is not None
    return torch.cosine_similarity(given.tokens, given.query.unsqueeze(0), dim=-1)


def mask_one_late(given: Given) -> Tensor:
    return torch.triu(torch.ones(given.count, given.count), diagonal=2).bool()


def mask_the_wrong_way_round(given: Given) -> Tensor:
    return torch.tril(torch.ones(given.count, given.count)) == 1


def result_of_masked_fill_thrown_away(given: Given) -> Tensor:
    queries, keys, values = roles(given)
    scores = queries @ keys.mT
    later = torch.triu(torch.ones(scores.shape[-1], scores.shape[-1]), diagonal=1).bool()
    scores.masked_fill(later, -math.inf)
    return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1) @ values


def masked_with_zero(given: Given) -> Tensor:
    queries, keys, values = roles(given)
    scores = torch.tril(queries @ keys.mT / keys.shape[-1] ** 0.5)
    return torch.softmax(scores, dim=-1) @ values


def masked_afterwards_and_left_so(given: Given) -> Tensor:
    assert given.scores is not None
    return torch.tril(torch.softmax(given.scores, dim=-1))


def columns_divided(given: Given) -> Tensor:
    assert given.scores is not None
    kept = torch.tril(torch.softmax(given.scores, dim=-1))
    return kept / kept.sum(dim=0)


def heads_in_a_new_dimension(given: Given) -> Tensor:
    return torch.stack(list(given.parts))


def mean_of_heads(given: Given) -> Tensor:
    return sum(given.parts[1:], given.parts[0]) / len(given.parts)


def several_heads(
    given: Given,
    *,
    divide_by: Callable[[Tensor], float] = lambda keys: keys.shape[-1] ** 0.5,
    interleave: bool = False,
    transpose_back: bool = True,
    project: bool = True,
) -> Tensor:
    """Multi-head attention by views, with places in which to go wrong."""
    heads = given.heads

    def cut(whole: Tensor) -> Tensor:
        b, t, width = whole.shape
        if interleave:
            return whole.view(b, t, width // heads, heads).permute(0, 3, 1, 2)
        return whole.view(b, t, heads, width // heads).transpose(1, 2)

    queries, keys, values = map(cut, roles(given))
    b, _, t, _ = queries.shape
    scores = queries @ keys.transpose(2, 3)
    scores = scores + torch.full((t, t), -math.inf).triu(1)
    context = torch.softmax(scores / divide_by(keys), dim=-1) @ values
    if transpose_back:
        context = context.transpose(1, 2)
    joined = context.reshape(b, t, -1)
    if not project:
        return joined
    return torch.addmm(
        given.weights["output_bias"], joined.flatten(0, 1), given.weights["output"]
    ).view(b, t, -1)


def heads_interleaved(given: Given) -> Tensor:
    return several_heads(given, interleave=True)


def merged_at_once(given: Given) -> Tensor:
    return several_heads(given, transpose_back=False)


def projection_never_called(given: Given) -> Tensor:
    return several_heads(given, project=False)


def divided_by_the_models_width(given: Given) -> Tensor:
    width = given.weights["query"].shape[1]
    return several_heads(given, divide_by=lambda keys: width**0.5)


ONE_STEP = [
    ("SelfAttention_v1", without_scaling, "no-scale"),
    ("SelfAttention_v2", divided_by_the_key_size, "scale-by-dk"),
    ("SelfAttention_v1", softmax_down_the_columns, "softmax-over-queries"),
    ("SelfAttention_v2", swapped, "query-key-swapped"),
    ("SelfAttention_v1", weights_times_keys, "keys-as-values"),
    ("SelfAttention_v2", one_layer_for_all, "one-projection-shared"),
    ("softmax", divides_without_exp, "softmax-no-exp"),
    ("attention_weights", sums_one_dimension_too_few, "softmax-over-queries"),
    ("attention_scores", scaled_too_early, "scaled-already"),
    ("attention_scores", cosines, "cosine-similarity"),
    ("causal_mask", mask_one_late, "mask-starts-late"),
    ("causal_mask", mask_the_wrong_way_round, "past-masked-with-diagonal"),
    ("CausalAttention", result_of_masked_fill_thrown_away, "no-mask"),
    ("CausalAttention", masked_with_zero, "filled-with-zero"),
    ("masked_weights", masked_afterwards_and_left_so, "mask-after-softmax"),
    ("renormalized_weights", columns_divided, "renormalised-by-columns"),
    ("MultiHeadAttentionWrapper", heads_in_a_new_dimension, "heads-stacked-4d"),
    ("MultiHeadAttentionWrapper", mean_of_heads, "heads-averaged"),
    ("MultiHeadAttention", heads_interleaved, "heads-interleaved"),
    ("MultiHeadAttention", merged_at_once, "merged-without-transpose"),
    ("MultiHeadAttention", projection_never_called, "no-output-projection"),
    ("MultiHeadAttention", divided_by_the_models_width, "scale-by-model-width"),
]


@pytest.mark.parametrize(
    ("name", "program", "identifier"),
    ONE_STEP,
    ids=[program.__name__ for _, program, _ in ONE_STEP],
)
def test_a_program_with_one_mistake_is_explained_by_it(
    name: str, program: Program, identifier: str
) -> None:
    assert ids(explained(name, program)) == [identifier]


def test_a_right_program_is_explained_by_no_mistake() -> None:
    assert ids(explained("MultiHeadAttention", several_heads)) == []


def without_scaling_and_not_merged(given: Given) -> Tensor:
    return several_heads(given, divide_by=lambda keys: 1.0, transpose_back=False)


def interleaved_and_not_projected(given: Given) -> Tensor:
    return several_heads(given, interleave=True, project=False)


def transposed_weights_down_the_columns(given: Given) -> Tensor:
    queries, keys, values = roles(given)
    return torch.softmax(queries @ keys.T, dim=-1).T @ values


TWO_STEPS = [
    (
        "MultiHeadAttention",
        without_scaling_and_not_merged,
        {"no-scale", "merged-without-transpose"},
    ),
    (
        "MultiHeadAttention",
        interleaved_and_not_projected,
        {"heads-interleaved", "no-output-projection"},
    ),
    ("SelfAttention_v1", transposed_weights_down_the_columns, {"no-scale", "weights-transposed"}),
]


@pytest.mark.parametrize(
    ("name", "program", "both"), TWO_STEPS, ids=[program.__name__ for _, program, _ in TWO_STEPS]
)
def test_two_mistakes_are_both_found(name: str, program: Program, both: set[str]) -> None:
    explanation = explained(name, program)
    assert set(ids(explanation)) == both


def three_mistakes(given: Given) -> Tensor:
    return several_heads(
        given, divide_by=lambda keys: keys.shape[-1], transpose_back=False, interleave=True
    )


def three_mistakes_of_one_head(given: Given) -> Tensor:
    queries, keys, _ = roles(given)
    weights = torch.softmax(torch.einsum("id,jd->ij", queries, queries), dim=-1)
    return torch.einsum("ij,jd->id", weights, keys)


THREE_STEPS = [
    (
        "MultiHeadAttention",
        three_mistakes,
        {"scale-by-dk", "merged-without-transpose", "heads-interleaved"},
    ),
    (
        "SelfAttention_v2",
        three_mistakes_of_one_head,
        {"no-scale", "queries-with-queries", "keys-as-values"},
    ),
]


@pytest.mark.parametrize(
    ("name", "program", "all_three"),
    THREE_STEPS,
    ids=[program.__name__ for _, program, _ in THREE_STEPS],
)
def test_three_mistakes_are_all_found(name: str, program: Program, all_three: set[str]) -> None:
    explanation = explained(name, program)
    assert explanation is not None
    assert all_three in map(set, settings_of(explanation))


def four_mistakes(given: Given) -> Tensor:
    return several_heads(
        given, divide_by=lambda keys: 1.0, transpose_back=False, project=False, interleave=True
    )


def test_four_mistakes_stay_unexplained() -> None:
    assert explained("MultiHeadAttention", four_mistakes) is None


def test_something_else_altogether_stays_unexplained() -> None:
    assert explained("SelfAttention_v1", lambda given: roles(given)[2].sin()) is None


# The catalogue against itself ---------------------------------------------------------------

OWN = [
    pytest.param(stage.id, name, entry, id=f"{name}-{entry.id}")
    for stage in ASSIGNMENT.stages
    for name in load_catalogue(stage.misconceptions).chains
    for entry in load_catalogue(stage.misconceptions).of(name)
    if entry.steps
]


def as_seen(chain: Chain, given: Given, entry: Misconception, step: Step) -> Observation | None:
    """What a program with this mistake shows; None where only its exception would tell."""
    try:
        with torch.no_grad():
            return Observation(given, run(chain, given, {entry.step: step}).float())
    except (StepRaises, RuntimeError, IndexError):
        return None


@pytest.mark.parametrize(("stage", "name", "entry"), OWN)
def test_every_mistake_of_one_step_is_found_again_or_is_no_mistake_here(
    stage: str, name: str, entry: Misconception
) -> None:
    chain = catalogue(stage).chains[name]
    for step in entry.steps:
        given = [(each, as_seen(chain, each, entry, step)) for each in inputs_of(name)]
        observations = [observed for _, observed in given if observed is not None]
        explanation = explain(name, catalogue(stage), observations)
        if not observations:
            assert explanation is None  # it raises everywhere: told by its exception
            continue
        assert explanation is not None
        right = all(
            same(observed.value, run(chain, observed.given).float())
            for observed in observations
            if observed.value is not None
        )
        told = settings_of(explanation)
        assert right == (told[0] == [] and explanation.null is None)
        assert right or explanation.null is not None or [entry.id] in told


# Other right ways ---------------------------------------------------------------------------


def with_a_large_negative_number(given: Given) -> Tensor:
    queries, keys, values = roles(given)
    later = torch.ones(keys.shape[-2], keys.shape[-2]).triu(1) == 1
    scores = (queries @ keys.mT).masked_fill(later, -1e9) / keys.shape[-1] ** 0.5
    return torch.softmax(scores, dim=-1) @ values


def large_negative_number_and_no_softmax(given: Given) -> Tensor:
    queries, keys, values = roles(given)
    later = torch.ones(keys.shape[-2], keys.shape[-2]).triu(1) == 1
    hidden: Tensor = (queries @ keys.mT / keys.shape[-1] ** 0.5).masked_fill(later, -1e9)
    return hidden @ values


def test_another_right_way_to_mask_is_no_mistake() -> None:
    assert ids(explained("CausalAttention", with_a_large_negative_number)) == []


def test_another_right_way_before_a_mistake_is_not_told_with_it() -> None:
    found = ids(explained("CausalAttention", large_negative_number_and_no_softmax))
    assert found == ["no-softmax"]


# The order of what is tried -----------------------------------------------------------------


def values_alone(given: Given) -> Tensor:
    return roles(given)[2]


def mean_value(given: Given) -> Tensor:
    values = roles(given)[2]
    return torch.stack([values.mean(dim=0)] * len(values))


@pytest.mark.parametrize(
    ("program", "identifier"), [(values_alone, "values-alone"), (mean_value, "uniform-weights")]
)
def test_a_program_that_does_nothing_is_told_before_any_mistake(
    program: Program, identifier: str
) -> None:
    explanation = explained("SelfAttention_v1", program)
    assert explanation is not None
    assert explanation.null is not None
    assert explanation.null.id == identifier
    assert explanation.misconceptions == ()


def test_null_programs_come_before_the_mistake_that_is_the_same_program() -> None:
    explanation = explained("softmax", lambda given: given.scores)  # type: ignore[arg-type,return-value]
    assert explanation is not None
    assert explanation.null is not None


def test_a_null_program_must_fit_every_output() -> None:
    stage = catalogue("trainable")
    first, second = inputs_of("SelfAttention_v1")
    zeros = Observation(first, torch.zeros(6, 5))
    other = Observation(second, torch.ones(9, 11) * 0.5)
    assert null_program("SelfAttention_v1", stage, [zeros]) is not None
    assert null_program("SelfAttention_v1", stage, [zeros, other]) is None
    raised = Observation(second, None, "ValueError: no")
    assert null_program("SelfAttention_v1", stage, [zeros, raised]) is None


SCALED_TWICE = Misconception(
    id="scaled-twice",
    criterion="scaling",
    step="scaling",
    replace=lambda values: scaling(scaling(values)),
    text=Text(
        "scaled twice",
        "The scores are divided by the root of the key size twice.",
        "They are divided by it once.",
        "Look at all lines that divide.",
    ),
)


def with_a_twin() -> Catalogue:
    """A catalogue in which two mistakes are one and the same program."""
    whole = catalogue("trainable")
    return replace(whole, misconceptions=(*whole.misconceptions, SCALED_TWICE))


def divided_by_the_key_size_with_a_twin() -> Explanation:
    observations = [seen(divided_by_the_key_size, each) for each in inputs_of("SelfAttention_v1")]
    explanation = explain("SelfAttention_v1", with_a_twin(), observations)
    assert explanation is not None
    return explanation


def test_what_fits_as_well_is_kept_as_an_alternative() -> None:
    explanation = divided_by_the_key_size_with_a_twin()
    assert settings_of(explanation) == [["scale-by-dk"], ["scaled-twice"]]


def test_the_order_of_the_catalogue_decides_between_two_that_fit() -> None:
    ordered = with_a_twin()
    turned = replace(ordered, misconceptions=ordered.misconceptions[::-1])
    observations = [seen(divided_by_the_key_size, each) for each in inputs_of("SelfAttention_v1")]
    assert ids(explain("SelfAttention_v1", ordered, observations)) == ["scale-by-dk"]
    assert ids(explain("SelfAttention_v1", turned, observations)) == ["scaled-twice"]


def test_one_mistake_that_fits_is_told_before_two() -> None:
    explanation = explained("SelfAttention_v1", swapped)
    assert explanation is not None
    assert settings_of(explanation) == [["query-key-swapped"]]


def test_one_input_on_which_it_differs_is_enough_to_reject_an_explanation() -> None:
    first, second = inputs_of("SelfAttention_v1")
    observations = [seen(without_scaling, first), seen(swapped, second)]
    assert explain("SelfAttention_v1", catalogue("trainable"), observations) is None


# Exceptions ---------------------------------------------------------------------------------


def mask_not_cut(given: Given) -> Tensor:
    queries, keys, values = roles(given)
    scores = queries @ keys.mT / keys.shape[-1] ** 0.5
    later = torch.ones(given.context_length, given.context_length).triu(1).bool()
    return torch.softmax(scores.masked_fill(later, -math.inf), dim=-1) @ values


def test_a_mistake_that_raises_on_one_input_and_not_on_another_is_found() -> None:
    observations = [seen(mask_not_cut, given) for given in inputs_of("CausalAttention")]
    assert [entry.value is None for entry in observations] == [True, False]
    assert ids(explain("CausalAttention", catalogue("causal"), observations)) == ["mask-not-cut"]


def test_an_exception_that_the_mistake_does_not_raise_rejects_it() -> None:
    observations = [seen(mask_not_cut, given) for given in inputs_of("CausalAttention")]
    observations[0] = structs.replace(
        observations[0], exception="NameError: name 'maks' is not defined"
    )
    assert explain("CausalAttention", catalogue("causal"), observations) is None


def test_outputs_beside_an_exception_that_nobody_knows_are_explained_alone() -> None:
    stage = catalogue("causal")
    short, whole = (seen(masked_with_zero, given) for given in inputs_of("CausalAttention"))
    typo = structs.replace(short, value=None, exception="NameError: name 'maks' is not defined")
    found, returned = explanations("CausalAttention", stage, [typo, whole])
    assert found is None
    assert ids(returned) == ["filled-with-zero"]
    found, returned = explanations("CausalAttention", stage, [short, whole])
    assert ids(found) == ids(returned) == ["filled-with-zero"]


def test_an_output_where_the_mistake_would_raise_rejects_it() -> None:
    short, whole = inputs_of("CausalAttention")
    observations = [seen(masked_with_zero, short), seen(mask_not_cut, whole)]
    assert explain("CausalAttention", catalogue("causal"), observations) is None


def test_where_everything_raised_there_is_nothing_to_explain() -> None:
    raised = [Observation(given, None, "RuntimeError: no") for given in inputs_of("softmax")]
    assert explain("softmax", catalogue("simplified"), raised) is None


def test_a_name_without_a_chain_is_not_explained() -> None:
    assert explain("merge_heads", catalogue("multi_head"), [Observation(Given(), None)]) is None


def test_what_a_mistake_gives_can_be_foretold_for_another_input() -> None:
    short, whole = inputs_of("CausalAttention")
    entry = catalogue("causal").named("mask-not-cut")
    chain = catalogue("causal").chains["CausalAttention"]
    explanation = Explanation((entry,), {entry.step: entry.steps[0]})
    assert explanation.expected(chain, short) is None
    expected = explanation.expected(chain, whole)
    assert expected is not None
    assert same(expected, mask_not_cut(whole))


# Explanations that fit equally well ---------------------------------------------------------

AS_WIDE_AS_LONG = Sizes(d_in=6, d_out=5, tokens=6)
ELSEWHERE = (
    Sizes(d_in=9, d_out=5, tokens=9),  # tells as little
    Sizes(d_in=8, d_out=4, tokens=5),
)


def divided_by_the_number_of_tokens(given: Given) -> Tensor:
    queries, keys, values = roles(given)
    return torch.softmax(queries @ keys.T / len(keys) ** 0.5, dim=-1) @ values


def two_that_fit() -> Explanation:
    """Where there are as many tokens as features, their roots are the same divisor."""
    (given,) = attention_inputs([AS_WIDE_AS_LONG])
    observation = seen(divided_by_the_number_of_tokens, given)
    explanation = explain("SelfAttention_v1", catalogue("trainable"), [observation])
    assert explanation is not None
    assert settings_of(explanation) == [["scale-by-input-width"], ["scale-by-tokens"]]
    return explanation


CHAIN = catalogue("trainable").chains["SelfAttention_v1"]


def test_a_program_is_asked_where_its_explanations_differ_most() -> None:
    inputs = attention_inputs(ELSEWHERE)
    asked: list[int] = []

    def ask(number: int) -> Observation:
        asked.append(number)
        return seen(divided_by_the_number_of_tokens, inputs[number])

    found = separated(CHAIN, two_that_fit(), inputs, ask)
    assert asked == [1]
    assert settings_of(found) == [["scale-by-tokens"]]


def test_mistakes_that_are_one_program_are_told_together_and_nothing_is_asked() -> None:
    explanation = divided_by_the_key_size_with_a_twin()

    def ask(number: int) -> Observation:
        raise AssertionError("nothing can be learned")

    found = separated(CHAIN, explanation, attention_inputs(ELSEWHERE), ask)
    assert settings_of(found) == [["scale-by-dk"], ["scaled-twice"]]


def test_where_no_answer_comes_both_are_told() -> None:
    inputs = attention_inputs(ELSEWHERE)
    both = [["scale-by-input-width"], ["scale-by-tokens"]]
    assert settings_of(separated(CHAIN, two_that_fit(), inputs, lambda number: None)) == both
    assert settings_of(separated(CHAIN, two_that_fit(), (), lambda number: None)) == both


def test_an_answer_that_bears_out_neither_leaves_both() -> None:
    inputs = attention_inputs(ELSEWHERE)
    found = separated(
        CHAIN, two_that_fit(), inputs, lambda number: seen(without_scaling, inputs[number])
    )
    assert settings_of(found) == [["scale-by-input-width"], ["scale-by-tokens"]]


def test_what_was_seen_in_special_settings_decides_without_a_question() -> None:
    (other,) = attention_inputs(ELSEWHERE[1:])
    observation = seen(divided_by_the_number_of_tokens, other)
    assert settings_of(borne_out(CHAIN, two_that_fit(), [observation])) == [["scale-by-tokens"]]
