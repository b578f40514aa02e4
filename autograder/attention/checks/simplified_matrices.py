"""Stage 1: all tokens at once, `attention_weights` and `context_vectors` (section 3.3.2)."""

from __future__ import annotations

import torch

from autograder.attention import words
from autograder.attention.chain import Given
from autograder.attention.checks.functions import a_tensor, moves, rows_sum_to_one, untouched
from autograder.attention.checks.simplified import (
    ONE,
    OTHER,
    STRONG,
    USUAL,
    Inputs,
    further,
    label_of,
    large,
)
from autograder.attention.misconceptions.simplified import CHAINS
from autograder.attention.misconceptions.trainable import ATTENDS
from autograder.attention.names import Function
from autograder.attention.sample import Sample
from autograder.checks.evidence import Observer
from autograder.checks.failures import require
from autograder.checks.marks import cases, criterion, dependence, own, setting, values
from autograder.diagnosis.compare import same
from autograder.sandbox.host.student import Student
from autograder.sandbox.protocol.wire import Layout


def _of_tokens(name: str, shown: Given | None = None) -> Function:
    return Function(
        name,
        CHAINS[name],
        further=lambda sample: [Given(tokens=each) for each in further(sample)],
        public=lambda sample: [
            Given(tokens=words.short(sample.numbers("tokens", *shape, reach=1.5)))
            for shape in ((5, 3), (4, 4))
        ],
        shown=shown,
    )


NAMES = {
    "attention_weights": _of_tokens("attention_weights", Given(tokens=words.INPUTS)),
    "context_vectors": _of_tokens("context_vectors"),
}


@values(of="attention_weights")
@cases("inputs", STRONG, labels=label_of)
def row_i_holds_the_weights_of_token_i(
    inputs: Inputs, student: Student, sample: Sample, observe: Observer
) -> None:
    """Each row is the softmax of one token's scores."""
    given = Given(tokens=inputs.drawn(sample))
    observe(given, lambda: student.attention_weights.ask(given.tokens, **observe.counted))


@criterion("softmax", of="attention_weights")
def every_row_of_weights_sums_to_one(student: Student, sample: Sample) -> None:
    """The weights of a token are not negative and sum to 1."""
    rows_sum_to_one(a_tensor(student.attention_weights(OTHER.drawn(sample)), 9, 9))


@criterion("scores", of="attention_weights")
def tokens_that_change_places_take_their_weights_along(student: Student, sample: Sample) -> None:
    """Self-attention does not depend on order: swapped tokens have swapped weights."""
    tokens = USUAL.drawn(sample)
    order = torch.tensor([2, 0, 5, 1, 4, 3])
    weights = a_tensor(student.attention_weights(tokens), 6, 6)
    moved = a_tensor(student.attention_weights(tokens[order]), 6, 6)
    require(
        same(moved, weights[order][:, order]),
        "weights that do not move with the tokens",
        "the same weights in the new order",
    )


@criterion("scores", of="attention_weights")
def weights_depend_on_the_length_of_a_token(student: Student, sample: Sample) -> None:
    """A longer token has larger dot products: logarithms of weights grow with its square."""
    tokens = USUAL.drawn(sample) * 0.5
    logs = [a_tensor(student.attention_weights(tokens * size), 6, 6).log() for size in (1.0, 2.0)]
    gaps = [log - log[:, :1] for log in logs]
    require(same(gaps[1], 4 * gaps[0]), "weights of another score", "weights of dot products")


@setting("softmax", of="attention_weights")
@cases("size", [8.0, 20.0])
def weights_stay_finite_for_large_inputs(
    size: float, student: Student, sample: Sample, observe: Observer
) -> None:
    """Inputs whose scores are in the hundreds give finite, right weights."""
    given = Given(tokens=sample.numbers("long", 5, 4, reach=size))
    large(observe, given, lambda: student.attention_weights.ask(given.tokens))


@setting("form", of="attention_weights")
def weights_of_one_token(student: Student, sample: Sample, observe: Observer) -> None:
    """A single token gives itself all the weight."""
    given = Given(tokens=ONE.drawn(sample))
    observe(given, lambda: student.attention_weights.ask(given.tokens))


@setting("form", of="attention_weights")
@cases("layout", ["transposed", "sliced"])
def weights_do_not_depend_on_how_inputs_lie_in_memory(
    layout: Layout, student: Student, sample: Sample, observe: Observer
) -> None:
    """Inputs that are a view of another tensor give the same weights."""
    given = Given(tokens=OTHER.drawn(sample))
    observe(given, lambda: student.attention_weights.ask(given.tokens, layouts={0: layout}))


@own("form", of="attention_weights")
def weights_leave_the_inputs_alone(student: Student, sample: Sample) -> None:
    """The inputs are unchanged afterwards, and a second call gives the same result."""
    untouched(student, "attention_weights", USUAL.drawn(sample))


@own("form", of="attention_weights")
def weights_are_matrix_products_and_no_loop(student: Student, sample: Sample) -> None:
    """The number of operations does not grow with the number of tokens."""
    proxy = student.attention_weights
    drawn = [sample.numbers("counted", tokens, 4) for tokens in (3, 12)]
    replies = proxy.ask_each([proxy.asked(tokens, operators=True) for tokens in drawn])
    counts = [sum(reply.operators.values()) for reply in replies]
    require(
        counts[1] <= counts[0] + 4,
        f"{counts[0]} operations for 3 tokens and {counts[1]} for 12: a loop over tokens",
        "one matrix product for all tokens",
    )


@values(of="context_vectors")
@cases("inputs", STRONG, labels=label_of)
def context_vectors_are_weights_times_inputs(
    inputs: Inputs, student: Student, sample: Sample, observe: Observer
) -> None:
    """Row i is the context vector of token i."""
    given = Given(tokens=inputs.drawn(sample))
    observe(given, lambda: student.context_vectors.ask(given.tokens, **observe.counted))


@criterion("context", of="context_vectors")
def context_vectors_of_equal_inputs_are_that_input(student: Student, sample: Sample) -> None:
    """If all inputs are equal, every weighted mean of them is that input."""
    tokens = sample.numbers("same", 4).expand(5, 4).clone()
    require(
        same(a_tensor(student.context_vectors(tokens), 5, 4), tokens),
        "something other than the one input",
        "the input itself in every row",
    )


@setting("context", of="context_vectors")
def context_vectors_of_one_token(student: Student, sample: Sample, observe: Observer) -> None:
    """A single token works as well as many."""
    given = Given(tokens=ONE.drawn(sample))
    observe(given, lambda: student.context_vectors.ask(given.tokens))


@own("context", of="context_vectors")
def context_vectors_leave_the_inputs_alone(student: Student, sample: Sample) -> None:
    """The inputs are unchanged afterwards, and a second call gives the same result."""
    untouched(student, "context_vectors", USUAL.drawn(sample))


@dependence(of="attention_weights", told=ATTENDS)
def other_inputs_give_other_weights(student: Student, sample: Sample) -> None:
    """The result depends on the inputs."""
    proxy = student.attention_weights
    moves(*(a_tensor(proxy(sample.numbers(label, 5, 4, reach=2.0)), 5, 5) for label in "ab"))


@dependence(of="context_vectors", told=ATTENDS)
def weights_within_context_vectors_depend_on_scores(student: Student, sample: Sample) -> None:
    """Inputs twice as long have larger scores, so the result does more than double."""
    tokens = USUAL.drawn(sample)
    once = a_tensor(student.context_vectors(tokens), 6, 4)
    moves(2 * once, a_tensor(student.context_vectors(2 * tokens), 6, 4))
