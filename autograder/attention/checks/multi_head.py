"""Stage 4: multi-head attention, by stacking heads and by splitting weights (section 3.6)."""

from __future__ import annotations

from functools import lru_cache

import torch
from msgspec.structs import replace
from torch import Tensor, nn

from autograder.attention.checks import attention, dropout, state
from autograder.attention.checks.attention import matches
from autograder.attention.checks.block import gpt_block
from autograder.attention.checks.functions import rows_sum_to_one
from autograder.attention.checks.subject import build, constructor_arguments, make
from autograder.attention.misconceptions.multi_head import CHAINS
from autograder.checks.evidence import Observer
from autograder.checks.failures import require, told_shape
from autograder.checks.marks import cases, criterion, dependence, own, setting, values
from autograder.checks.sample import Sample, Sizes, doubled
from autograder.diagnosis.chain import run
from autograder.diagnosis.compare import difference, same
from autograder.sandbox.host.student import Student, StudentRaised

MHA = "MultiHeadAttention"

USUAL = Sizes(d_in=7, d_out=15, tokens=6, batch=2, context_length=11, heads=3)
OTHER = Sizes(d_in=10, d_out=14, tokens=8, batch=3, context_length=9, heads=2)
WHOLE = Sizes(d_in=5, d_out=8, tokens=10, batch=5, context_length=10, heads=4)
SQUARE = Sizes(d_in=18, d_out=18, tokens=5, batch=4, context_length=8, heads=3)
EASY = Sizes(d_in=12, d_out=12, tokens=5, batch=2, context_length=5, heads=3)  # runs if any does
BIASED = replace(USUAL, bias=True)
STRONG = [USUAL, OTHER, WHOLE, SQUARE]
STRONG_IDS = ["usual", "other", "whole", "square"]


@values(of=MHA)
@cases("sizes", STRONG, labels=STRONG_IDS)
def test_outputs_equal_the_reference(
    sizes: Sizes, student: Student, sample: Sample, observe: Observer
) -> None:
    """With the same weights the output is the reference's, on strong inputs."""
    subject = build(student, sample, MHA, sizes)
    matches(observe, subject, sample.tokens("strong", sizes), operators=True)


@dependence(of=MHA)
def test_output_depends_on_queries_and_keys(student: Student, sample: Sample) -> None:
    """Other query and key weights give another output."""
    subject = build(student, sample, MHA, USUAL)
    attention.attends(subject, sample, sample.tokens("strong", USUAL))


@criterion("projections", of=MHA)
def test_query_key_and_value_weights_all_count(student: Student, sample: Sample) -> None:
    """Other weights give another output; the values enter linearly."""
    subject = build(student, sample, MHA, USUAL)
    attention.every_projection_counts(subject, sample, sample.tokens("strong", USUAL))


def only_head(weights: dict[str, Tensor], sizes: Sizes, head: int, role: str) -> dict[str, Tensor]:
    """The same weights, one head's columns of one role negated, no output projection."""
    columns = slice(head * sizes.head_size, (head + 1) * sizes.head_size)
    changed = {**weights, role: weights[role].clone()}
    changed[role][:, columns] *= -1.0
    return {**changed, "output": torch.eye(sizes.d_out), "output_bias": torch.zeros(sizes.d_out)}


@criterion("split", of=MHA)
def test_a_head_owns_neighbouring_columns(student: Student, sample: Sample) -> None:
    """Other queries in one head's columns change that head's part of the output and no other."""
    subject = build(student, sample, MHA, USUAL)
    tokens = sample.tokens("strong", USUAL)
    weights = dict(subject.weights)
    plain = only_head(only_head(weights, USUAL, 1, "query"), USUAL, 1, "query")
    before, after = subject.answers((tokens, plain), (tokens, only_head(plain, USUAL, 1, "query")))
    require(before.shape == (2, 6, 15), f"shape {told_shape(before.shape)}", "shape (2, 6, 15)")
    parts = zip(before.split(5, dim=-1), after.split(5, dim=-1), strict=True)
    moved = [difference(other, part) > 1e-3 for part, other in parts]
    require(
        moved == [False, True, False],
        "a change in one head's columns that shows in another head",
        "heads of neighbouring columns that do not touch each other",
    )


@criterion("split", "merge", of=MHA)
def test_split_heads_equal_stacked_heads(student: Student, sample: Sample) -> None:
    """With the identity as output projection, the parts are what separate heads give."""
    subject = build(student, sample, MHA, USUAL)
    width = USUAL.d_out
    plain = {**subject.weights, "output": torch.eye(width), "output_bias": torch.zeros(width)}
    tokens = sample.tokens("strong", USUAL)
    joined = subject.with_weights(plain)(tokens)
    stacked = []
    for head in range(USUAL.heads):
        columns = slice(head * USUAL.head_size, (head + 1) * USUAL.head_size)
        query, key, value = (tokens @ plain[role][:, columns] for role in ("query", "key", "value"))
        stacked.append(
            nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        )
    require(
        same(joined, torch.cat(stacked, dim=-1)),
        "something else than what separate heads give",
        "the outputs of separate heads, side by side",
    )


@own("split", of=MHA, aspect="no loop over heads")
def test_no_loop_over_the_heads(student: Student, sample: Sample) -> None:
    """The number of matrix products and softmaxes must not grow with the number of heads."""
    counts = []
    for heads in (2, 8):
        sizes = replace(USUAL, d_out=16, heads=heads)
        subject = build(student, sample, MHA, sizes, label="counted")
        reply = subject.module.ask(sample.tokens("counted", sizes), operators=True)
        counts.append(sum(reply.operators.values()))
    require(
        counts[1] <= counts[0] + 5,
        f"{counts[0]} operations for 2 heads and {counts[1]} for 8",
        "as many operations for 8 heads as for 2",
        misconception="loop-over-heads",
    )


@own("split", of=MHA, aspect="divisibility")
def test_an_uneven_split_is_refused(student: Student) -> None:
    """A `d_out` that is no multiple of `num_heads` raises when the module is built."""
    uneven = replace(USUAL, d_out=16)
    try:
        student.MultiHeadAttention(**constructor_arguments(MHA, uneven, 0.0))
    except StudentRaised as raised:
        require(
            raised.kind in {"ValueError", "AssertionError"},
            raised.kind,
            "a ValueError or an AssertionError",
        )
    else:
        require(
            False,
            "a module with d_out 16 and 3 heads",
            "a ValueError or an AssertionError",
            misconception="divisibility-unchecked",
        )


@criterion("scores", of=MHA)
def test_scores_are_products_of_queries_and_keys(student: Student, sample: Sample) -> None:
    """Queries doubled and keys halved give the same scores."""
    subject = build(student, sample, MHA, USUAL)
    attention.scores_are_products(subject, sample.tokens("strong", USUAL))


@criterion("scaling", of=MHA)
def test_scores_are_divided_by_the_root_of_the_key_size(student: Student, sample: Sample) -> None:
    """With scores known in advance, weights show what they were divided by."""
    attention.scaled_by_root(student, sample, MHA, USUAL)


@criterion("masking", of=MHA)
def test_a_later_token_cannot_change_an_earlier_output(student: Student, sample: Sample) -> None:
    """Outputs up to a position must not move when the tokens after it change."""
    subject = build(student, sample, MHA, USUAL)
    tokens = sample.tokens("strong", USUAL)
    attention.future_does_not_matter(subject, sample, tokens)
    attention.past_matters(subject, tokens)


@criterion("softmax", of=MHA)
def test_weights_of_every_token_sum_to_one(student: Student, sample: Sample) -> None:
    """Seen through values that are an identity, every row of every head is a share-out."""
    rows_sum_to_one(attention.seen_weights(student, sample, MHA, tokens=5, heads=3, batch=2))


@setting("softmax", of=MHA)
def test_large_scores_stay_finite(student: Student, sample: Sample, observe: Observer) -> None:
    """Scores of up to 80 in size, of little spread in a row, give finite outputs."""
    weights, tokens = sample.large(USUAL)
    subject = build(student, sample, MHA, USUAL, weights=weights)
    matches(observe, subject, tokens)


@criterion("context", of=MHA)
def test_context_is_a_weighted_sum_of_values(student: Student, sample: Sample) -> None:
    """The output for a sum of two value weights is the sum of both outputs."""
    subject = build(student, sample, MHA, OTHER)
    attention.values_enter_linearly(subject, sample, sample.tokens("strong", OTHER))


@criterion("merge", of=MHA)
def test_a_heads_values_come_out_in_its_own_columns(student: Student, sample: Sample) -> None:
    """With one head's values zero, its part of the output is zero and the others are not."""
    subject = build(student, sample, MHA, USUAL)
    width = USUAL.d_out
    plain = {**subject.weights, "output": torch.eye(width), "output_bias": torch.zeros(width)}
    plain["value"] = plain["value"].clone()
    plain["value"][:, 5:10] = 0.0
    parts = subject.with_weights(plain)(sample.tokens("strong", USUAL)).split(5, dim=-1)
    silent = [bool((part.abs() < 1e-5).all()) for part in parts]
    require(
        silent == [False, True, False],
        "a head whose values come out in another head's columns",
        "each head's part in its own columns",
    )


@criterion("output", of=MHA)
def test_output_projection_comes_last(student: Student, sample: Sample) -> None:
    """With all values zero the output is the projection's bias; its weight enters linearly."""
    subject = build(student, sample, MHA, USUAL)
    tokens = sample.tokens("strong", USUAL)
    silent = {**subject.weights, "value": torch.zeros_like(subject.weights["value"])}
    bias = subject.weights["output_bias"]
    plain = attention.without_output_bias(subject.weights)
    outputs = subject.answers(
        (tokens, silent), (tokens, plain), (tokens, attention.turned(plain, output=2.0))
    )
    found = next(outputs)
    require(
        found.shape[-1:] == bias.shape and same(found, bias.expand_as(found)),
        "something else than `out_proj`'s bias for values of zero",
        "the bias of `out_proj`",
    )
    once, twice = outputs
    require(
        same(twice, 2 * once) and difference(twice, once) > 0.01,
        "an output that does not double with `out_proj`'s weight",
        "`out_proj` applied once, last",
    )


@setting("state", of=MHA)
def test_biases_take_part(student: Student, sample: Sample, observe: Observer) -> None:
    """With `qkv_bias=True` the biases are added."""
    subject = build(student, sample, MHA, BIASED)
    attention.biases_matter(observe, subject, sample.tokens("strong", BIASED))


@criterion("output", of=MHA)
def test_it_equals_the_librarys_module(student: Student, sample: Sample) -> None:
    """With the same weights PyTorch's `nn.MultiheadAttention` gives the same."""
    subject = build(student, sample, MHA, SQUARE)
    found = subject(sample.tokens("strong", SQUARE))
    require(same(found, librarys_output(sample)), "another output", "the library's output")


@lru_cache(maxsize=1)
def librarys_output(sample: Sample) -> Tensor:
    """What PyTorch's own module gives with the weights and tokens of `SQUARE`."""
    sizes, weights = SQUARE, sample.weights("strong", SQUARE)
    library = nn.MultiheadAttention(sizes.d_out, sizes.heads, batch_first=True).eval()
    roles = ("query", "key", "value")
    with torch.no_grad():
        library.in_proj_weight.copy_(torch.cat([weights[role].T for role in roles]))
        library.in_proj_bias.zero_()
        library.out_proj.weight.copy_(weights["output"].T)
        library.out_proj.bias.copy_(weights["output_bias"])
        tokens = sample.tokens("strong", sizes)
        hidden = torch.ones(sizes.tokens, sizes.tokens, dtype=torch.bool).triu(1)
        found: Tensor = library(tokens, tokens, tokens, attn_mask=hidden, need_weights=False)[0]
    return found


@own("dropout", of=MHA)
def test_weights_are_dropped_in_training_and_only_then(student: Student, sample: Sample) -> None:
    """In training a weight is 0 or itself / (1 - p), drawn for each head; in eval it stays."""
    seen = dropout.watched(student, sample, MHA, 2, 0.3)
    dropout.judged(
        seen,
        dropout.nothing_is_dropped_in_eval,
        dropout.draws_are_independent,
        dropout.weights_are_dropped,
    )


@own("dropout", of=MHA)
def test_the_rate_is_the_one_asked_for(student: Student, sample: Sample) -> None:
    """Another rate drops another share, and a rate of 0 nothing."""
    dropout.judged(dropout.watched(student, sample, MHA, 2, 0.5), dropout.weights_are_dropped)
    dropout.rate_zero_drops_nothing(student, sample, MHA, EASY)


@own("state", of=MHA)
def test_weights_are_layers_and_a_kept_mask_is_a_buffer(student: Student) -> None:
    """Four linear layers are kept under their names; a kept mask moves along."""
    module = make(student, MHA, USUAL)
    state.weights_are_named(module, USUAL, layers=True, output=True)
    state.mask_moves_along(module, USUAL)


@own("state", of=MHA)
def test_bias_follows_qkv_bias(student: Student) -> None:
    """The three layers have a bias when it is asked for and only then."""
    state.bias_follows(student, MHA, USUAL)


@setting("form", of=MHA)
@cases("heads", [1, 15])
def test_any_number_of_heads_works(
    heads: int, student: Student, sample: Sample, observe: Observer
) -> None:
    """From one head to heads of one column, and for a batch of one."""
    sizes = replace(USUAL, heads=heads, batch=1)
    subject = build(student, sample, MHA, sizes)
    matches(observe, subject, sample.tokens("strong", sizes))


@own("state", of=MHA)
def test_every_weight_learns_and_nothing_else_is_kept(student: Student, sample: Sample) -> None:
    """Gradients reach every weight; the same input gives the same output in eval mode."""
    subject = build(student, sample, MHA, EASY)
    tokens = sample.tokens("strong", EASY)
    state.learns_and_keeps_nothing_else(subject, sample, tokens)


@setting("form", of=MHA)
def test_any_number_of_tokens_and_texts_in_any_layout_works(
    student: Student, sample: Sample, observe: Observer
) -> None:
    """From one token to `context_length`, one text or more, a view of another tensor."""
    subject = build(student, sample, MHA, OTHER)
    lengths = ((4, 1), (4, 2), (4, 9), (1, 5))
    attention.matches_in_any_form(
        observe, subject, sample, lengths, ("transposed", "sliced", "expanded")
    )


@own("form", of=MHA)
def test_one_tensor_comes_back(student: Student, sample: Sample) -> None:
    """The output is one tensor `(b, T, d_out)`, and the input is left as it was."""
    subject = build(student, sample, MHA, EASY)
    state.one_tensor_comes_back(subject, sample.tokens("strong", EASY))


@setting("form", of=MHA)
def test_double_precision_works(student: Student, sample: Sample, observe: Observer) -> None:
    """Converted with `.double()` the module works in float64, to its precision."""
    subject = attention.in_double(build(student, sample, MHA, USUAL))
    matches(observe, subject, doubled(sample.tokens("strong", USUAL)))


@criterion("form", of=MHA)
def test_it_serves_within_a_block(student: Student, sample: Sample) -> None:
    """Within a small trusted GPT block the outputs stay the reference's."""
    subject = build(student, sample, MHA, SQUARE)
    tokens = sample.tokens("embedded", SQUARE)
    found = gpt_block(sample, tokens, subject)
    expected = gpt_block(sample, tokens, lambda normal: run(CHAINS[MHA], subject.given(normal)))
    require(same(found, expected), "another output of the block", "the reference's output")
