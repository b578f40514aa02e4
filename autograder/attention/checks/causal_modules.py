"""Stages 3 and 4: what holds of causal attention with one head as with several (3.5, 3.6.2)."""

from __future__ import annotations

from msgspec.structs import replace

from autograder.attention import words
from autograder.attention.checks import attention, dropout, state
from autograder.attention.checks.attention import matches
from autograder.attention.checks.subject import build, make
from autograder.attention.misconceptions import causal, multi_head
from autograder.attention.misconceptions.trainable import ATTENDS
from autograder.attention.names import Module
from autograder.attention.sample import Sample, Sizes, doubled
from autograder.checks.evidence import Observer
from autograder.checks.marks import cases, criterion, dependence, own, setting, values
from autograder.sandbox.host.student import Student

ONE, MANY = "CausalAttention", "MultiHeadAttention"
BOTH = (ONE, MANY)

#: Both, with sizes that are pairwise different as far as a label allows.
NAMES = {
    ONE: Module(
        ONE,
        causal.CHAINS[ONE],
        sizes={
            "usual": Sizes(d_in=7, d_out=5, tokens=6, batch=2, context_length=11),
            "other": Sizes(d_in=4, d_out=10, tokens=8, batch=3, context_length=9),
            "whole": Sizes(d_in=9, d_out=2, tokens=10, batch=5, context_length=10),
            "square": Sizes(d_in=8, d_out=8, tokens=5, batch=3, context_length=6),
            # runs wherever anything does
            "easy": Sizes(d_in=8, d_out=8, tokens=6, batch=3, context_length=6),
        },
        further=(
            Sizes(d_in=6, d_out=11, tokens=3, batch=4, context_length=5),
            Sizes(d_in=5, d_out=5, tokens=5, batch=5, context_length=5),
            Sizes(d_in=3, d_out=9, tokens=17, batch=2, context_length=19, bias=True),
        ),
        public=(
            Sizes(d_in=4, d_out=3, tokens=5, batch=3, context_length=8),
            Sizes(d_in=3, d_out=3, tokens=5, batch=3, context_length=8),
            Sizes(d_in=4, d_out=3, tokens=7, batch=3, context_length=7),
            Sizes(d_in=4, d_out=3, tokens=5, batch=5, context_length=8),
        ),
        shown=words.shown(batch=2),
    ),
    MANY: Module(
        MANY,
        multi_head.CHAINS[MANY],
        sizes={
            "usual": Sizes(d_in=7, d_out=15, tokens=6, batch=2, context_length=11, heads=3),
            "other": Sizes(d_in=10, d_out=14, tokens=8, batch=3, context_length=9, heads=2),
            "whole": Sizes(d_in=5, d_out=8, tokens=10, batch=5, context_length=10, heads=4),
            "square": Sizes(d_in=18, d_out=18, tokens=5, batch=4, context_length=8, heads=3),
            "easy": Sizes(d_in=12, d_out=12, tokens=5, batch=2, context_length=5, heads=3),
        },
        further=(
            Sizes(d_in=6, d_out=22, tokens=3, batch=5, context_length=4, heads=2),
            Sizes(d_in=12, d_out=12, tokens=4, batch=4, context_length=4, heads=4),
            Sizes(d_in=3, d_out=21, tokens=17, batch=2, context_length=19, heads=3, bias=True),
        ),
        public=(
            Sizes(d_in=4, d_out=6, tokens=5, batch=3, context_length=8, heads=2),
            Sizes(d_in=6, d_out=6, tokens=5, batch=3, context_length=8, heads=2),
            Sizes(d_in=4, d_out=6, tokens=7, batch=3, context_length=7, heads=2),
            # dimensions that broadcasting cannot tell apart
            Sizes(d_in=4, d_out=6, tokens=2, batch=2, context_length=8, heads=2),
        ),
        shown=words.shown(heads=2, batch=2),
    ),
}
STRONG = ("usual", "other", "whole", "square")


@values(of=BOTH)
@cases("sizes", STRONG)
def outputs_equal_the_reference(
    sizes: str, declared: Module, student: Student, sample: Sample, observe: Observer
) -> None:
    """With the same weights the output is the reference's, on strong inputs."""
    chosen = declared.sizes[sizes]
    subject = build(student, sample, declared, chosen)
    matches(observe, subject, sample.tokens("strong", chosen), operators=True)


@dependence(of=BOTH, told=ATTENDS)
def output_depends_on_queries_and_keys(declared: Module, student: Student, sample: Sample) -> None:
    """Other query and key weights give another output."""
    usual = declared.sizes["usual"]
    attention.attends(
        build(student, sample, declared, usual), sample, sample.tokens("strong", usual)
    )


@criterion("projections", of=BOTH)
def query_key_and_value_weights_all_count(
    declared: Module, student: Student, sample: Sample
) -> None:
    """Other weights give another output; the values enter linearly."""
    usual = declared.sizes["usual"]
    subject = build(student, sample, declared, usual)
    attention.every_projection_counts(subject, sample, sample.tokens("strong", usual))


@criterion("scores", of=BOTH)
def scores_are_products_of_queries_and_keys(
    declared: Module, student: Student, sample: Sample
) -> None:
    """Queries doubled and keys halved give the same scores."""
    usual = declared.sizes["usual"]
    attention.scores_are_products(
        build(student, sample, declared, usual), sample.tokens("strong", usual)
    )


@criterion("scaling", of=BOTH)
def scores_are_divided_by_the_root_of_the_key_size(
    declared: Module, student: Student, sample: Sample
) -> None:
    """With scores known in advance, weights show what they were divided by."""
    attention.scaled_by_root(student, sample, declared, declared.sizes["usual"])


@criterion("masking", of=BOTH)
def a_later_token_cannot_change_an_earlier_output(
    declared: Module, student: Student, sample: Sample
) -> None:
    """Outputs up to a position do not change when the tokens after it change."""
    usual = declared.sizes["usual"]
    subject = build(student, sample, declared, usual)
    attention.future_does_not_matter(subject, sample, sample.tokens("strong", usual))


@criterion("masking", of=BOTH)
def an_earlier_token_does_change_a_later_output(
    declared: Module, student: Student, sample: Sample
) -> None:
    """The last token attends to the first one."""
    usual = declared.sizes["usual"]
    subject = build(student, sample, declared, usual)
    attention.past_matters(subject, sample.tokens("strong", usual))


@setting("softmax", of=BOTH)
def large_scores_stay_finite(
    declared: Module, student: Student, sample: Sample, observe: Observer
) -> None:
    """Scores of up to 80 in absolute value give finite outputs."""
    usual = declared.sizes["usual"]
    weights, tokens = sample.large(usual)
    matches(observe, build(student, sample, declared, usual, weights=weights), tokens)


@criterion("context", of=BOTH)
def context_is_a_weighted_sum_of_values(declared: Module, student: Student, sample: Sample) -> None:
    """The output for a sum of two value weights is the sum of both outputs."""
    other = declared.sizes["other"]
    subject = build(student, sample, declared, other)
    attention.values_enter_linearly(subject, sample, sample.tokens("strong", other))


@own("dropout", of=BOTH)
def weights_are_dropped_in_training_and_only_then(
    declared: Module, student: Student, sample: Sample
) -> None:
    """Weights are dropped and rescaled by 1 / (1 - p) per sequence and head, in training only."""
    seen = dropout.watched(student, sample, declared, 0.3)
    dropout.judged(
        seen,
        dropout.nothing_is_dropped_in_eval,
        dropout.draws_are_independent,
        dropout.weights_are_dropped,
    )


@own("dropout", of=BOTH)
def the_rate_is_the_one_asked_for(declared: Module, student: Student, sample: Sample) -> None:
    """A higher rate drops more weights, and a rate of 0 drops none."""
    seen = dropout.watched(student, sample, declared, 0.5)
    dropout.judged(seen, dropout.weights_are_dropped)
    dropout.rate_zero_drops_nothing(student, sample, declared, declared.sizes["easy"])


@own("state", of=BOTH)
def weights_are_layers_and_a_kept_mask_is_a_buffer(declared: Module, student: Student) -> None:
    """The linear layers are kept under their names; a kept mask moves along."""
    usual = declared.sizes["usual"]
    module = make(student, declared.name, usual)
    state.weights_are_named(module, usual, layers=True, output=bool(usual.heads))
    state.mask_moves_along(module, usual)


@own("state", of=BOTH)
def bias_follows_qkv_bias(declared: Module, student: Student) -> None:
    """The three layers have a bias when it is asked for and only then."""
    state.bias_follows(student, declared.name, declared.sizes["usual"])


@setting("state", of=BOTH)
def biases_take_part(declared: Module, student: Student, sample: Sample, observe: Observer) -> None:
    """With `qkv_bias=True` the biases are added."""
    biased = replace(declared.sizes["usual"], bias=True)
    subject = build(student, sample, declared, biased)
    attention.biases_matter(observe, subject, sample.tokens("strong", biased))


@own("state", of=BOTH)
def every_weight_learns_and_nothing_else_is_kept(
    declared: Module, student: Student, sample: Sample
) -> None:
    """Gradients reach every weight; the same input gives the same output in eval mode."""
    easy = declared.sizes["easy"]
    subject = build(student, sample, declared, easy)
    state.learns_and_keeps_nothing_else(subject, sample, sample.tokens("strong", easy))


@setting("form", of=BOTH)
def any_number_of_tokens_and_texts_in_any_layout_works(
    declared: Module, student: Student, sample: Sample, observe: Observer
) -> None:
    """Any length up to `context_length`, any batch size, views of other tensors."""
    subject = build(student, sample, declared, declared.sizes["other"])
    lengths = ((4, 1), (4, 2), (4, 9), (1, 5))
    attention.matches_in_any_form(
        observe, subject, sample, lengths, ("transposed", "sliced", "expanded")
    )


@own("form", of=BOTH)
def one_tensor_comes_back(declared: Module, student: Student, sample: Sample) -> None:
    """The output is a single tensor `(b, T, d_out)`, and the input is unchanged."""
    easy = declared.sizes["easy"]
    state.one_tensor_comes_back(
        build(student, sample, declared, easy), sample.tokens("strong", easy)
    )


@setting("form", of=BOTH)
def double_precision_works(
    declared: Module, student: Student, sample: Sample, observe: Observer
) -> None:
    """Converted with `.double()` the module works in float64, to its precision."""
    usual = declared.sizes["usual"]
    subject = attention.in_double(build(student, sample, declared, usual))
    matches(observe, subject, doubled(sample.tokens("strong", usual)))
