"""Stage 1: weight-free self-attention (chapter 3, section 3.3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from torch import Tensor

from autograder.attention import words
from autograder.attention.chain import Given
from autograder.attention.checks.functions import a_tensor, moves, rows_sum_to_one, untouched
from autograder.attention.misconceptions.simplified import CHAINS
from autograder.attention.misconceptions.trainable import ATTENDS
from autograder.attention.names import Function
from autograder.attention.sample import Sample, all_alike
from autograder.checks.evidence import Observer
from autograder.checks.failures import CheckFailed, require, told_shape
from autograder.checks.marks import cases, criterion, dependence, own, setting, values
from autograder.diagnosis.compare import same
from autograder.sandbox.host.student import Student
from autograder.sandbox.protocol.wire import Layout

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

label_of = "{0.label}".format

#: Numbers of tokens and features, or of rows and columns, on which explanations are told apart.
FURTHER = ((4, 7), (7, 4), (11, 11), (2, 5), (17, 3))


def further(sample: Sample) -> list[Tensor]:
    """Numbers of those shapes."""
    return [sample.numbers("further", *shape, reach=2.0) for shape in FURTHER]


def _one_query(name: str) -> Function:
    def public(sample: Sample) -> list[Given]:
        tokens = words.short(sample.numbers("tokens", 5, 3, reach=1.5))
        return [Given(tokens=tokens, query=tokens[1])]

    return Function(
        name,
        CHAINS[name],
        further=lambda sample: [
            Given(tokens=each, query=each[0] * 0.625 - 0.25) for each in further(sample)
        ],
        public=public,
    )


NAMES = {
    "attention_scores": _one_query("attention_scores"),
    "softmax": Function(
        "softmax",
        CHAINS["softmax"],
        further=lambda sample: [Given(scores=2.0 * each) for each in further(sample)],
        public=lambda sample: [
            Given(scores=words.short(sample.numbers("matrix", 4, 4, reach=3.0))),
            Given(scores=words.short(sample.numbers("stack", 2, 3, 5, reach=3.0))),
        ],
        shown=Given(scores=words.INPUTS @ words.INPUTS.T),
    ),
    "context_vector": _one_query("context_vector"),
}


# attention_scores ---------------------------------------------------------------------------


@lru_cache(maxsize=64)  # the same for every submission
def score_question(inputs: Tensor, row: int) -> Given:
    """The query is one of the inputs, changed a little so that it is no row of them."""
    return Given(tokens=inputs, query=inputs[row] * 0.75 + 0.125)


@values(of="attention_scores")
@cases("inputs", STRONG, labels=label_of)
def scores_are_the_dot_products_with_every_input(
    inputs: Inputs, student: Student, sample: Sample, observe: Observer
) -> None:
    """Each score is the dot product of the query with one input."""
    given = score_question(inputs.drawn(sample), row=1)
    observe(
        given, lambda: student.attention_scores.ask(given.query, given.tokens, **observe.counted)
    )


@criterion("scores", of="attention_scores")
def scores_double_with_the_query(student: Student, sample: Sample) -> None:
    """A dot product is twice as large for a query twice as long."""
    given = score_question(USUAL.drawn(sample), row=2)
    assert given.query is not None
    once = a_tensor(student.attention_scores(given.query, given.tokens), 6)
    twice = a_tensor(student.attention_scores(2 * given.query, given.tokens), 6)
    require(same(twice, 2 * once), "scores that do not double", "scores twice as large")


@setting("scores", of="attention_scores")
@cases("layout", ["transposed", "sliced"])
def scores_do_not_depend_on_how_inputs_lie_in_memory(
    layout: Layout, student: Student, sample: Sample, observe: Observer
) -> None:
    """Inputs that are a view of another tensor give the same scores."""
    given = score_question(OTHER.drawn(sample), row=0)
    observe(
        given, lambda: student.attention_scores.ask(given.query, given.tokens, layouts={1: layout})
    )


@setting("scores", of="attention_scores")
def one_input_has_one_score(student: Student, sample: Sample, observe: Observer) -> None:
    """A single token works as well as many."""
    given = score_question(ONE.drawn(sample), row=0)
    observe(given, lambda: student.attention_scores.ask(given.query, given.tokens))


@own("scores", of="attention_scores")
def scores_leave_their_arguments_alone(student: Student, sample: Sample) -> None:
    """The arguments are unchanged afterwards, and a second call gives the same result."""
    given = score_question(USUAL.drawn(sample), row=3)
    untouched(student, "attention_scores", given.query, given.tokens)


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


# softmax ------------------------------------------------------------------------------------

SHAPES = [(7,), (4, 6), (5, 5), (2, 3, 5)]


@values(of="softmax")
@cases("shape", SHAPES, labels=told_shape)
def softmax_runs_over_the_last_dimension(
    shape: tuple[int, ...], student: Student, sample: Sample, observe: Observer
) -> None:
    """Softmax runs over the last dimension, whatever the others are."""
    given = Given(scores=sample.numbers("scores", *shape, reach=4.0))
    observe(given, lambda: student.softmax.ask(given.scores, **observe.counted))


@setting("softmax", of="softmax")
@cases("size", [100.0, 1000.0])
def softmax_stays_finite_for_large_scores(
    size: float, student: Student, sample: Sample, observe: Observer
) -> None:
    """Scores of up to 1,000 give finite, right weights."""
    given = Given(scores=sample.numbers("large", 4, 6, reach=size))
    large(observe, given, lambda: student.softmax.ask(given.scores))


@criterion("softmax", of="softmax")
def every_row_of_softmax_sums_to_one(student: Student, sample: Sample) -> None:
    """The weights of a row are not negative and sum to 1."""
    rows_sum_to_one(a_tensor(student.softmax(sample.numbers("shares", 3, 7, reach=3.0)), 3, 7))


@criterion("softmax", of="softmax")
def softmax_does_not_change_when_all_scores_grow(student: Student, sample: Sample) -> None:
    """Adding the same number to every score of a row changes nothing."""
    scores = sample.numbers("shift", 3, 7, reach=3.0)
    require(
        same(
            a_tensor(student.softmax(scores + 2.5), 3, 7), a_tensor(student.softmax(scores), 3, 7)
        ),
        "other weights when the same number is added to every score",
        "the same weights",
    )


@setting("form", of="softmax")
@cases("layout", ["transposed", "sliced", "expanded"])
def softmax_does_not_depend_on_how_scores_lie_in_memory(
    layout: Layout, student: Student, sample: Sample, observe: Observer
) -> None:
    """Scores that are a view of another tensor give the same weights."""
    scores = sample.numbers("layout", 5, 6, reach=3.0)
    if layout == "expanded":
        scores = all_alike(scores)
    given = Given(scores=scores)
    observe(given, lambda: student.softmax.ask(given.scores, layouts={0: layout}))


@setting("form", of="softmax")
@cases("shape", [(1,), (3, 1)], labels=told_shape)
def softmax_of_one_score_is_one(
    shape: tuple[int, ...], student: Student, sample: Sample, observe: Observer
) -> None:
    """A single score gets all the weight."""
    given = Given(scores=sample.numbers("single", *shape))
    observe(given, lambda: student.softmax.ask(given.scores))


@own("form", of="softmax")
def softmax_leaves_its_argument_alone(student: Student, sample: Sample) -> None:
    """The scores are unchanged afterwards, and a second call gives the same result."""
    untouched(student, "softmax", sample.numbers("kept", 4, 5))


# context_vector -----------------------------------------------------------------------------


@values(of="context_vector")
@cases("inputs", STRONG, labels=label_of)
def context_vector_is_the_weighted_sum_of_the_inputs(
    inputs: Inputs, student: Student, sample: Sample, observe: Observer
) -> None:
    """The inputs are weighted by the query's attention weights and added up."""
    given = score_question(inputs.drawn(sample), row=1)
    observe(given, lambda: student.context_vector.ask(given.query, given.tokens, **observe.counted))


@criterion("context", of="context_vector")
def context_of_equal_inputs_is_that_input(student: Student, sample: Sample) -> None:
    """If all inputs are equal, every weighted mean of them is that input."""
    row = sample.numbers("same", 4)
    found = student.context_vector(sample.numbers("asks", 4), row.expand(5, 4).clone())
    context = a_tensor(found, 4)
    require(same(context, row), "something other than the one input", "the input itself")


@setting("context", of="context_vector")
def context_vector_of_one_token(student: Student, sample: Sample, observe: Observer) -> None:
    """A single token works as well as many."""
    given = score_question(ONE.drawn(sample), row=0)
    observe(given, lambda: student.context_vector.ask(given.query, given.tokens))


@own("context", of="context_vector")
def context_vector_leaves_its_arguments_alone(student: Student, sample: Sample) -> None:
    """The arguments are unchanged afterwards, and a second call gives the same result."""
    given = score_question(USUAL.drawn(sample), row=3)
    untouched(student, "context_vector", given.query, given.tokens)


# context_vectors ----------------------------------------------------------------------------


# Dependence on scores -----------------------------------------------------------------------


@dependence(of=("attention_scores", "context_vector"), told=ATTENDS)
def another_query_gives_another_result(name: str, student: Student, sample: Sample) -> None:
    """The result depends on the query."""
    tokens = USUAL.drawn(sample)
    proxy = getattr(student, name)
    shape = (6,) if name == "attention_scores" else (4,)
    drawn = (sample.numbers(label, 4, reach=2.0) for label in "ab")
    moves(*(a_tensor(proxy(query, tokens), *shape) for query in drawn))


@dependence(of="softmax", told=ATTENDS)
def other_scores_give_other_weights(student: Student, sample: Sample) -> None:
    """The result depends on the scores."""
    drawn = (sample.numbers(label, 3, 5, reach=2.0) for label in "ab")
    moves(*(a_tensor(student.softmax(scores), 3, 5) for scores in drawn))
