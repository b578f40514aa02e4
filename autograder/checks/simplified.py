"""Stage 1: weight-free self-attention (chapter 3, section 3.3)."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from autograder.chain import Given
from autograder.checks.evidence import Observer
from autograder.checks.failures import CheckFailed, require, told_shape
from autograder.checks.marks import criterion, dependence, own, setting, values
from autograder.checks.sample import Sample
from autograder.checks.subject import told_type
from autograder.compare import same
from autograder.sandbox.student import Student
from autograder.sandbox.wire import Layout

#: Library functions that take the place of a student's wrong ones in later stages.
EQUIVALENTS = """
import torch


def attention_scores(query, inputs):
    return torch.mv(inputs, query)


def softmax(scores):
    return torch.softmax(scores, dim=-1)


def context_vector(query, inputs):
    return torch.softmax(torch.mv(inputs, query), dim=-1) @ inputs


def attention_weights(inputs):
    return torch.softmax(torch.mm(inputs, inputs.T), dim=-1)


def context_vectors(inputs):
    return torch.softmax(torch.mm(inputs, inputs.T), dim=-1) @ inputs
"""


@dataclass(frozen=True)
class Inputs:
    """Tokens of some shape, by label."""

    label: str
    tokens: int
    d: int

    def drawn(self, sample: Sample) -> Tensor:
        """`(T, d)`."""
        return sample.numbers(self.label, self.tokens, self.d, reach=2.0)


USUAL = Inputs("usual", 6, 4)
OTHER = Inputs("other", 9, 5)
ONE = Inputs("one", 1, 3)
SQUARE = Inputs("square", 5, 5)
STRONG = [USUAL, OTHER, SQUARE]

pytest_ids = "{0.label}".format


def rows_sum_to_one(weights: Tensor) -> None:
    """Fail unless every row of weights is a share-out: nothing negative, sum 1."""
    require(
        bool(torch.isfinite(weights).all())
        and same(weights.sum(-1), torch.ones(weights.shape[:-1])),
        "rows that do not sum to 1",
        "every row summing to 1",
    )
    require(bool((weights >= -1e-6).all()), "negative weights", "weights of 0 or more")


def a_tensor(value: object, *shape: int) -> Tensor:
    """Fail unless one real tensor of this shape came back, and nothing around it."""
    if not isinstance(value, Tensor):
        raise CheckFailed(told_type(value), "one tensor and no more")
    require(
        tuple(value.shape) == shape,
        f"shape {told_shape(value.shape)}",
        f"shape {told_shape(shape)}",
    )
    require(
        not value.is_complex(),
        f"numbers of type {str(value.dtype).removeprefix('torch.')}",
        "real numbers",
    )
    return value if value.is_floating_point() else value.float()


# attention_scores ---------------------------------------------------------------------------


def score_question(inputs: Tensor, row: int) -> Given:
    """The query is one of the inputs, changed a little so that it is no row of them."""
    return Given(tokens=inputs, query=inputs[row] * 0.75 + 0.125)


@values(of="attention_scores")
@pytest.mark.parametrize("inputs", STRONG, ids=pytest_ids)
def test_scores_are_the_dot_products_with_every_input(
    inputs: Inputs, student: Student, sample: Sample, observe: Observer
) -> None:
    """Each score is the dot product of the query with one input."""
    given = score_question(inputs.drawn(sample), row=1)
    observe(given, lambda: student.attention_scores.ask(given.query, given.tokens))


@criterion("scores", of="attention_scores")
def test_scores_double_with_the_query(student: Student, sample: Sample) -> None:
    """A dot product is twice as large for a query twice as long."""
    given = score_question(USUAL.drawn(sample), row=2)
    assert given.query is not None
    once = a_tensor(student.attention_scores(given.query, given.tokens), 6)
    twice = a_tensor(student.attention_scores(2 * given.query, given.tokens), 6)
    require(same(twice, 2 * once), "scores that do not double", "scores twice as large")


@setting("scores", of="attention_scores")
@pytest.mark.parametrize("layout", ["transposed", "sliced"])
def test_scores_do_not_depend_on_how_inputs_lie_in_memory(
    layout: Layout, student: Student, sample: Sample, observe: Observer
) -> None:
    """Inputs that are a view of another tensor give the same scores; one token is enough."""
    given = score_question(OTHER.drawn(sample), row=0)
    observe(
        given, lambda: student.attention_scores.ask(given.query, given.tokens, layouts={1: layout})
    )


@setting("scores", of="attention_scores")
def test_one_input_has_one_score(student: Student, sample: Sample, observe: Observer) -> None:
    """A single token works as well as many."""
    given = score_question(ONE.drawn(sample), row=0)
    observe(given, lambda: student.attention_scores.ask(given.query, given.tokens))


@own("scores", of="attention_scores")
def test_scores_leave_their_arguments_alone(student: Student, sample: Sample) -> None:
    """The arguments are the same afterwards, and a second call gives the same again."""
    given = score_question(USUAL.drawn(sample), row=3)
    untouched(student, "attention_scores", given.query, given.tokens)


def is_still(after: object, before: Tensor) -> bool:
    """Whether an argument is what it was."""
    return (
        isinstance(after, Tensor)
        and after.dtype == before.dtype
        and after.shape == before.shape
        and torch.equal(after, before)
    )


def untouched(student: Student, name: str, *arguments: Tensor | None) -> None:
    """Fail where a call changes its arguments or a second call gives something else."""
    proxy = getattr(student, name)
    reply = proxy.ask(*arguments, arguments=True)
    require(len(reply.arguments) == len(arguments), "other arguments", "the arguments again")
    for before, after in zip(arguments, reply.arguments, strict=True):
        assert before is not None
        require(
            is_still(after, before),
            "an argument that was changed by the call",
            "arguments left as they were",
        )
    require(isinstance(reply.value, Tensor), told_type(reply.value), "one tensor and no more")
    first = a_tensor(reply.value, *reply.value.shape)
    again = proxy(*arguments)
    require(
        isinstance(again, Tensor)
        and again.shape == first.shape
        and same(a_tensor(again, *first.shape), first),
        "another result at the second call",
        "the same result for the same arguments",
        unsteady=True,
    )


# softmax ------------------------------------------------------------------------------------

SHAPES = [(7,), (4, 6), (5, 5), (2, 3, 5)]


@values(of="softmax")
@pytest.mark.parametrize("shape", SHAPES, ids=told_shape)
def test_softmax_runs_over_the_last_dimension(
    shape: tuple[int, ...], student: Student, sample: Sample, observe: Observer
) -> None:
    """Whatever stands in front, the last dimension is shared out."""
    given = Given(scores=sample.numbers("scores", *shape, reach=4.0))
    observe(given, lambda: student.softmax.ask(given.scores, operators=True))


@setting("softmax", of="softmax")
@pytest.mark.parametrize("size", [100.0, 1000.0])
def test_softmax_stays_finite_for_large_scores(
    size: float, student: Student, sample: Sample, observe: Observer
) -> None:
    """Scores of up to 1,000 give finite, right weights."""
    given = Given(scores=sample.numbers("large", 4, 6, reach=size))
    large(observe, given, lambda: student.softmax.ask(given.scores))


def large(observe: Observer, given: Given, ask: object) -> None:
    """Compare; where nan or inf came back, say which slip gives that."""
    try:
        observe(given, ask)  # type: ignore[arg-type]
    except CheckFailed as failed:
        if "nan" in failed.found or "inf" in failed.found:
            raise CheckFailed(
                "nan or inf for large scores",
                "finite weights for scores of up to 1,000",
                misconception="softmax-no-shift",
            ) from failed
        raise


@criterion("softmax", of="softmax")
def test_every_row_of_softmax_sums_to_one(student: Student, sample: Sample) -> None:
    """The weights of a row are shares: none negative, together 1."""
    rows_sum_to_one(a_tensor(student.softmax(sample.numbers("shares", 3, 7, reach=3.0)), 3, 7))


@criterion("softmax", of="softmax")
def test_softmax_does_not_change_when_all_scores_grow(student: Student, sample: Sample) -> None:
    """The same number added to every score of a row changes nothing."""
    scores = sample.numbers("shift", 3, 7, reach=3.0)
    require(
        same(
            a_tensor(student.softmax(scores + 2.5), 3, 7), a_tensor(student.softmax(scores), 3, 7)
        ),
        "other weights when the same number is added to every score",
        "the same weights",
    )


@setting("form", of="softmax")
@pytest.mark.parametrize("layout", ["transposed", "sliced", "expanded"])
def test_softmax_does_not_depend_on_how_scores_lie_in_memory(
    layout: Layout, student: Student, sample: Sample, observe: Observer
) -> None:
    """Scores that are a view of another tensor give the same weights."""
    scores = sample.numbers("layout", 5, 6, reach=3.0)
    if layout == "expanded":
        scores = scores[:1].expand(5, 6).contiguous()
    given = Given(scores=scores)
    observe(given, lambda: student.softmax.ask(given.scores, layouts={0: layout}))


@setting("form", of="softmax")
@pytest.mark.parametrize("shape", [(1,), (3, 1)], ids=told_shape)
def test_softmax_of_one_score_is_one(
    shape: tuple[int, ...], student: Student, sample: Sample, observe: Observer
) -> None:
    """A single score gets all the weight."""
    given = Given(scores=sample.numbers("single", *shape))
    observe(given, lambda: student.softmax.ask(given.scores))


@own("form", of="softmax")
def test_softmax_leaves_its_argument_alone(student: Student, sample: Sample) -> None:
    """The scores are the same afterwards, and a second call gives the same again."""
    untouched(student, "softmax", sample.numbers("kept", 4, 5))


# context_vector -----------------------------------------------------------------------------


@values(of="context_vector")
@pytest.mark.parametrize("inputs", STRONG, ids=pytest_ids)
def test_context_vector_is_the_weighted_sum_of_the_inputs(
    inputs: Inputs, student: Student, sample: Sample, observe: Observer
) -> None:
    """The inputs are weighted by the query's attention weights and added up."""
    given = score_question(inputs.drawn(sample), row=1)
    observe(given, lambda: student.context_vector.ask(given.query, given.tokens))


@criterion("context", of="context_vector")
def test_context_of_equal_inputs_is_that_input(student: Student, sample: Sample) -> None:
    """Where all inputs are the same, so is every weighted mean of them."""
    row = sample.numbers("same", 4)
    found = student.context_vector(sample.numbers("asks", 4), row.expand(5, 4).clone())
    context = a_tensor(found, 4)
    require(same(context, row), "something else than the one input", "the input itself")


@setting("context", of="context_vector")
def test_context_vector_of_one_token(student: Student, sample: Sample, observe: Observer) -> None:
    """A single token works as well as many."""
    given = score_question(ONE.drawn(sample), row=0)
    observe(given, lambda: student.context_vector.ask(given.query, given.tokens))


@own("context", of="context_vector")
def test_context_vector_leaves_its_arguments_alone(student: Student, sample: Sample) -> None:
    """The arguments are the same afterwards, and a second call gives the same again."""
    given = score_question(USUAL.drawn(sample), row=3)
    untouched(student, "context_vector", given.query, given.tokens)


# attention_weights --------------------------------------------------------------------------


@values(of="attention_weights")
@pytest.mark.parametrize("inputs", STRONG, ids=pytest_ids)
def test_row_i_holds_the_weights_of_token_i(
    inputs: Inputs, student: Student, sample: Sample, observe: Observer
) -> None:
    """Each row is what the softmax of one token's scores gives."""
    given = Given(tokens=inputs.drawn(sample))
    observe(given, lambda: student.attention_weights.ask(given.tokens))


@criterion("softmax", of="attention_weights")
def test_every_row_of_weights_sums_to_one(student: Student, sample: Sample) -> None:
    """The weights of a token are shares: none negative, together 1."""
    rows_sum_to_one(a_tensor(student.attention_weights(OTHER.drawn(sample)), 9, 9))


@criterion("scores", of="attention_weights")
def test_tokens_that_change_places_take_their_weights_along(
    student: Student, sample: Sample
) -> None:
    """Self-attention knows no order: exchanged tokens have exchanged weights."""
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
def test_weights_depend_on_the_length_of_a_token(student: Student, sample: Sample) -> None:
    """A longer token has larger dot products: logarithms of weights grow with its square."""
    tokens = USUAL.drawn(sample) * 0.5
    logs = [a_tensor(student.attention_weights(tokens * size), 6, 6).log() for size in (1.0, 2.0)]
    gaps = [log - log[:, :1] for log in logs]
    require(same(gaps[1], 4 * gaps[0]), "weights of another score", "weights of dot products")


@setting("softmax", of="attention_weights")
@pytest.mark.parametrize("size", [8.0, 20.0])
def test_weights_stay_finite_for_large_inputs(
    size: float, student: Student, sample: Sample, observe: Observer
) -> None:
    """Inputs with scores of some hundreds give finite, right weights."""
    given = Given(tokens=sample.numbers("long", 5, 4, reach=size))
    large(observe, given, lambda: student.attention_weights.ask(given.tokens))


@setting("form", of="attention_weights")
def test_weights_of_one_token(student: Student, sample: Sample, observe: Observer) -> None:
    """A single token gives itself all the weight."""
    given = Given(tokens=ONE.drawn(sample))
    observe(given, lambda: student.attention_weights.ask(given.tokens))


@setting("form", of="attention_weights")
@pytest.mark.parametrize("layout", ["transposed", "sliced"])
def test_weights_do_not_depend_on_how_inputs_lie_in_memory(
    layout: Layout, student: Student, sample: Sample, observe: Observer
) -> None:
    """Inputs that are a view of another tensor give the same weights."""
    given = Given(tokens=OTHER.drawn(sample))
    observe(given, lambda: student.attention_weights.ask(given.tokens, layouts={0: layout}))


@own("form", of="attention_weights")
def test_weights_leave_the_inputs_alone(student: Student, sample: Sample) -> None:
    """The inputs are the same afterwards, and a second call gives the same again."""
    untouched(student, "attention_weights", USUAL.drawn(sample))


@own("form", of="attention_weights")
def test_weights_are_matrix_products_and_no_loop(student: Student, sample: Sample) -> None:
    """The number of operations must not grow with the number of tokens."""
    counts = [
        sum(
            student.attention_weights.ask(
                sample.numbers("counted", tokens, 4), operators=True
            ).operators.values()
        )
        for tokens in (3, 12)
    ]
    require(
        counts[1] <= counts[0] + 4,
        f"{counts[0]} operations for 3 tokens and {counts[1]} for 12: a loop over tokens",
        "one matrix product for all tokens",
    )


# context_vectors ----------------------------------------------------------------------------


@values(of="context_vectors")
@pytest.mark.parametrize("inputs", STRONG, ids=pytest_ids)
def test_context_vectors_are_weights_times_inputs(
    inputs: Inputs, student: Student, sample: Sample, observe: Observer
) -> None:
    """Row i is the context vector of token i."""
    given = Given(tokens=inputs.drawn(sample))
    observe(given, lambda: student.context_vectors.ask(given.tokens))


@criterion("context", of="context_vectors")
def test_context_vectors_of_equal_inputs_are_that_input(student: Student, sample: Sample) -> None:
    """Where all inputs are the same, so is every weighted mean of them."""
    tokens = sample.numbers("same", 4).expand(5, 4).clone()
    require(
        same(a_tensor(student.context_vectors(tokens), 5, 4), tokens),
        "something else than the one input",
        "the input itself in every row",
    )


@setting("context", of="context_vectors")
def test_context_vectors_of_one_token(student: Student, sample: Sample, observe: Observer) -> None:
    """A single token works as well as many."""
    given = Given(tokens=ONE.drawn(sample))
    observe(given, lambda: student.context_vectors.ask(given.tokens))


@own("context", of="context_vectors")
def test_context_vectors_leave_the_inputs_alone(student: Student, sample: Sample) -> None:
    """The inputs are the same afterwards, and a second call gives the same again."""
    untouched(student, "context_vectors", USUAL.drawn(sample))


# Dependence on scores -----------------------------------------------------------------------


def moves(first: Tensor, second: Tensor) -> None:
    """Fail where two results that should differ are the same."""
    require(
        first.shape != second.shape or not same(second, first),
        "the same result for other scores",
        "a result that depends on scores",
    )


@dependence(of=("attention_scores", "context_vector"))
def test_another_query_gives_another_result(name: str, student: Student, sample: Sample) -> None:
    """What comes back depends on the query."""
    tokens = USUAL.drawn(sample)
    proxy = getattr(student, name)
    shape = (6,) if name == "attention_scores" else (4,)
    drawn = (sample.numbers(label, 4, reach=2.0) for label in "ab")
    moves(*(a_tensor(proxy(query, tokens), *shape) for query in drawn))


@dependence(of="softmax")
def test_other_scores_give_other_weights(student: Student, sample: Sample) -> None:
    """What comes back depends on the scores."""
    drawn = (sample.numbers(label, 3, 5, reach=2.0) for label in "ab")
    moves(*(a_tensor(student.softmax(scores), 3, 5) for scores in drawn))


@dependence(of="attention_weights")
def test_other_inputs_give_other_weights(student: Student, sample: Sample) -> None:
    """What comes back depends on the inputs."""
    proxy = student.attention_weights
    moves(*(a_tensor(proxy(sample.numbers(label, 5, 4, reach=2.0)), 5, 5) for label in "ab"))


@dependence(of="context_vectors")
def test_weights_within_context_vectors_depend_on_scores(student: Student, sample: Sample) -> None:
    """Inputs twice as long have other scores, so more than a doubled result comes back."""
    tokens = USUAL.drawn(sample)
    once = a_tensor(student.context_vectors(tokens), 6, 4)
    moves(2 * once, a_tensor(student.context_vectors(2 * tokens), 6, 4))
