"""Stage 3: causal attention, masked, with dropout, in batches (chapter 3, section 3.5)."""

from __future__ import annotations

import torch
from msgspec.structs import replace
from torch import Tensor

from autograder.attention.checks import attention, dropout, state
from autograder.attention.checks.attention import matches
from autograder.attention.checks.functions import a_tensor, moves, rows_sum_to_one, untouched
from autograder.attention.checks.subject import build, make
from autograder.checks.evidence import Observer
from autograder.checks.failures import require
from autograder.checks.marks import cases, criterion, dependence, own, setting, values
from autograder.checks.sample import Sample, Sizes, doubled
from autograder.diagnosis.chain import Given, future
from autograder.diagnosis.compare import same
from autograder.sandbox.host.student import Student

#: Library functions that take the place of a student's wrong ones in later stages.
EQUIVALENTS = """
import torch


def causal_mask(num_tokens):
    return torch.ones(num_tokens, num_tokens, dtype=torch.bool).triu(1)


def masked_weights(scores):
    hidden = torch.ones(scores.shape[-1], scores.shape[-1], dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1)


def renormalized_weights(scores):
    hidden = torch.ones(scores.shape[-1], scores.shape[-1], dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1)
"""

CAUSAL = "CausalAttention"
BY_WEIGHTS = ("renormalized_weights", "masked_weights")

USUAL = Sizes(d_in=7, d_out=5, tokens=6, batch=2, context_length=11)
OTHER = Sizes(d_in=4, d_out=10, tokens=8, batch=3, context_length=9)
WHOLE = Sizes(d_in=9, d_out=2, tokens=10, batch=5, context_length=10)
SQUARE = Sizes(d_in=8, d_out=8, tokens=5, batch=3, context_length=6)
EASY = Sizes(d_in=8, d_out=8, tokens=6, batch=3, context_length=6)  # runs wherever anything does
BIASED = replace(USUAL, bias=True)
STRONG = [USUAL, OTHER, WHOLE, SQUARE]
STRONG_IDS = ["usual", "other", "whole", "square"]


# causal_mask --------------------------------------------------------------------------------


@values(of="causal_mask")
@cases("count", [5, 8])
def test_mask_is_true_exactly_above_the_diagonal(
    count: int, student: Student, observe: Observer
) -> None:
    """True where a token must not look: at every later token, not at itself."""
    observe(Given(count=count), lambda: student.causal_mask.ask(count))


@own("masking", of="causal_mask")
def test_mask_is_of_type_bool_and_hides_nothing_from_one_token(student: Student) -> None:
    """A mask says yes or no; a single token may see itself."""
    mask = student.causal_mask(1)
    seen = a_tensor(mask, 1, 1)
    kind = mask.dtype if isinstance(mask, Tensor) else None
    require(
        kind == torch.bool,
        f"a mask of type {str(kind).removeprefix('torch.')}",
        "a mask of type bool",
        misconception="mask-not-bool",
    )
    require(not bool(seen.any()), "a hidden token", "nothing hidden")


# renormalized_weights, masked_weights -------------------------------------------------------


def scores_of(sample: Sample, count: int) -> Tensor:
    """`(T, T)` scores whose rows spread little enough for the renormalising form."""
    return sample.numbers(f"scores:{count}", count, count, reach=4.0)


@values(of=BY_WEIGHTS)
@cases("count", [5, 8])
def test_weights_are_the_softmax_of_what_may_be_seen(
    count: int, name: str, student: Student, sample: Sample, observe: Observer
) -> None:
    """Row i shares its weight among tokens 0 to i."""
    given = Given(scores=scores_of(sample, count))
    observe(given, lambda: getattr(student, name).ask(given.scores, **observe.counted))


@dependence(of=BY_WEIGHTS)
def test_other_scores_give_other_weights(name: str, student: Student, sample: Sample) -> None:
    """What comes back depends on the scores."""
    proxy = getattr(student, name)
    moves(*(a_tensor(proxy(sample.numbers(label, 5, 5, reach=2.0)), 5, 5) for label in "ab"))


@criterion("masking", of=BY_WEIGHTS)
def test_no_weight_lies_above_the_diagonal(name: str, student: Student, sample: Sample) -> None:
    """No token gives weight to a later one, and later scores change nothing."""
    scores = scores_of(sample, 6)
    weights = a_tensor(getattr(student, name)(scores), 6, 6)
    hidden = future(6)
    require(
        bool((weights[hidden].abs() < 1e-6).all()),
        "weights above the diagonal",
        "zeros above the diagonal",
    )
    later = torch.where(hidden, scores + sample.numbers("later", 6, 6, reach=2.0), scores)
    require(
        same(a_tensor(getattr(student, name)(later), 6, 6), weights),
        "weights that change with the scores of later tokens",
        "weights that do not depend on later tokens",
    )


@criterion("softmax", of=BY_WEIGHTS)
def test_rows_of_masked_weights_sum_to_one(name: str, student: Student, sample: Sample) -> None:
    """Every row is a share-out among what may be seen."""
    rows_sum_to_one(a_tensor(getattr(student, name)(scores_of(sample, 7)), 7, 7))


@setting("softmax", of=BY_WEIGHTS)
def test_weights_stay_finite_for_large_scores(
    name: str, student: Student, sample: Sample, observe: Observer
) -> None:
    """Large scores give finite weights; up to 1,000 where masked before softmax."""
    scores = sample.numbers("large", 6, 6, reach=8.0)
    given = Given(scores=scores + (990.0 if name == "masked_weights" else 70.0))
    observe(given, lambda: getattr(student, name).ask(given.scores))


@setting("masking", of=BY_WEIGHTS)
def test_weights_of_one_token(
    name: str, student: Student, sample: Sample, observe: Observer
) -> None:
    """A single token gives itself all the weight."""
    given = Given(scores=scores_of(sample, 1))
    observe(given, lambda: getattr(student, name).ask(given.scores))


@own("masking", of=BY_WEIGHTS)
def test_scores_are_left_alone(name: str, student: Student, sample: Sample) -> None:
    """The scores are the same afterwards, and a second call gives the same again."""
    untouched(student, name, scores_of(sample, 5))


# CausalAttention ----------------------------------------------------------------------------


@values(of=CAUSAL)
@cases("sizes", STRONG, labels=STRONG_IDS)
def test_outputs_equal_the_reference(
    sizes: Sizes, student: Student, sample: Sample, observe: Observer
) -> None:
    """With the same weights the output is the reference's, on strong inputs."""
    subject = build(student, sample, CAUSAL, sizes)
    matches(observe, subject, sample.tokens("strong", sizes), operators=True)


@criterion("masking", of=CAUSAL)
def test_a_later_token_cannot_change_an_earlier_output(student: Student, sample: Sample) -> None:
    """Outputs up to a position must not move when the tokens after it change."""
    subject = build(student, sample, CAUSAL, USUAL)
    attention.future_does_not_matter(subject, sample, sample.tokens("strong", USUAL))


@criterion("masking", of=CAUSAL)
def test_an_earlier_token_does_change_a_later_output(student: Student, sample: Sample) -> None:
    """The last token sees the first one."""
    subject = build(student, sample, CAUSAL, USUAL)
    attention.past_matters(subject, sample.tokens("strong", USUAL))


@dependence(of=CAUSAL)
def test_output_depends_on_queries_and_keys(student: Student, sample: Sample) -> None:
    """Other query and key weights give another output."""
    subject = build(student, sample, CAUSAL, USUAL)
    attention.attends(subject, sample, sample.tokens("strong", USUAL))


@criterion("projections", of=CAUSAL)
def test_query_key_and_value_weights_all_count(student: Student, sample: Sample) -> None:
    """Other weights give another output; the values enter linearly."""
    subject = build(student, sample, CAUSAL, USUAL)
    attention.every_projection_counts(subject, sample, sample.tokens("strong", USUAL))


@criterion("scores", of=CAUSAL)
def test_scores_are_products_of_queries_and_keys(student: Student, sample: Sample) -> None:
    """Queries doubled and keys halved give the same scores."""
    subject = build(student, sample, CAUSAL, USUAL)
    attention.scores_are_products(subject, sample.tokens("strong", USUAL))


@criterion("scaling", of=CAUSAL)
def test_scores_are_divided_by_the_root_of_the_key_size(student: Student, sample: Sample) -> None:
    """With scores known in advance, weights show what they were divided by."""
    attention.scaled_by_root(student, sample, CAUSAL, USUAL)


@criterion("softmax", of=CAUSAL)
def test_weights_of_every_token_sum_to_one(student: Student, sample: Sample) -> None:
    """Seen through values that are an identity, every row of weights is a share-out."""
    rows_sum_to_one(attention.seen_weights(student, sample, CAUSAL, tokens=6, batch=2))


@setting("softmax", of=CAUSAL)
def test_large_scores_stay_finite(student: Student, sample: Sample, observe: Observer) -> None:
    """Scores of up to 80 in size, of little spread in a row, give finite outputs."""
    weights, tokens = sample.large(USUAL)
    subject = build(student, sample, CAUSAL, USUAL, weights=weights)
    matches(observe, subject, tokens)


@criterion("context", of=CAUSAL)
def test_context_is_a_weighted_sum_of_values(student: Student, sample: Sample) -> None:
    """The output for a sum of two value weights is the sum of both outputs."""
    subject = build(student, sample, CAUSAL, OTHER)
    attention.values_enter_linearly(subject, sample, sample.tokens("strong", OTHER))


@own("dropout", of=CAUSAL)
def test_weights_are_dropped_in_training_and_only_then(student: Student, sample: Sample) -> None:
    """In training a weight is 0 or itself / (1 - p), drawn for every text; in eval it stays."""
    seen = dropout.watched(student, sample, CAUSAL, 0, 0.3)
    dropout.judged(
        seen,
        dropout.nothing_is_dropped_in_eval,
        dropout.draws_are_independent,
        dropout.weights_are_dropped,
    )


@own("dropout", of=CAUSAL)
def test_the_rate_is_the_one_asked_for(student: Student, sample: Sample) -> None:
    """Another rate drops another share, and a rate of 0 nothing."""
    dropout.judged(dropout.watched(student, sample, CAUSAL, 0, 0.5), dropout.weights_are_dropped)
    dropout.rate_zero_drops_nothing(student, sample, CAUSAL, EASY)


@own("state", of=CAUSAL)
def test_weights_are_layers_and_a_kept_mask_is_a_buffer(student: Student) -> None:
    """`W_query`, `W_key` and `W_value` are linear layers; a kept mask moves along."""
    module = make(student, CAUSAL, USUAL)
    state.weights_are_named(module, USUAL, layers=True, output=False)
    state.mask_moves_along(module, USUAL)


@own("state", of=CAUSAL)
def test_bias_follows_qkv_bias(student: Student) -> None:
    """The three layers have a bias when it is asked for and only then."""
    state.bias_follows(student, CAUSAL, USUAL)


@setting("state", of=CAUSAL)
def test_biases_take_part(student: Student, sample: Sample, observe: Observer) -> None:
    """With `qkv_bias=True` the biases are added."""
    subject = build(student, sample, CAUSAL, BIASED)
    attention.biases_matter(observe, subject, sample.tokens("strong", BIASED))


@own("state", of=CAUSAL)
def test_every_weight_learns_and_nothing_else_is_kept(student: Student, sample: Sample) -> None:
    """Gradients reach every weight; the same input gives the same output in eval mode."""
    subject = build(student, sample, CAUSAL, EASY)
    tokens = sample.tokens("strong", EASY)
    state.learns_and_keeps_nothing_else(subject, sample, tokens)


@setting("form", of=CAUSAL)
def test_any_number_of_tokens_and_texts_in_any_layout_works(
    student: Student, sample: Sample, observe: Observer
) -> None:
    """From one token to `context_length`, one text or more, a view of another tensor."""
    subject = build(student, sample, CAUSAL, OTHER)
    lengths = ((4, 1), (4, 2), (4, 9), (1, 5))
    attention.matches_in_any_form(
        observe, subject, sample, lengths, ("transposed", "sliced", "expanded")
    )


@own("form", of=CAUSAL)
def test_one_tensor_comes_back(student: Student, sample: Sample) -> None:
    """The output is one tensor `(b, T, d_out)`, and the input is left as it was."""
    subject = build(student, sample, CAUSAL, EASY)
    state.one_tensor_comes_back(subject, sample.tokens("strong", EASY))


@setting("form", of=CAUSAL)
def test_double_precision_works(student: Student, sample: Sample, observe: Observer) -> None:
    """Converted with `.double()` the module works in float64, to its precision."""
    subject = attention.in_double(build(student, sample, CAUSAL, USUAL))
    matches(observe, subject, doubled(sample.tokens("strong", USUAL)))


@criterion("form", of=CAUSAL)
def test_texts_of_a_batch_do_not_mix(student: Student, sample: Sample) -> None:
    """A text's output is the same alone and beside others."""
    subject = build(student, sample, CAUSAL, USUAL)
    tokens = sample.tokens("strong", USUAL)
    together, alone = subject.answers((tokens, None), (tokens[1:], None))
    require(
        same(alone, together[1:]),
        "an output that depends on the other texts of the batch",
        "each text treated by itself",
    )
