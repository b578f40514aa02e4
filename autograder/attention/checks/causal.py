"""Stage 3: causal attention, masked, with dropout, in batches (chapter 3, section 3.5)."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.attention import words
from autograder.attention.chain import Given, future
from autograder.attention.checks import attention
from autograder.attention.checks.causal_modules import NAMES as MODULES
from autograder.attention.checks.causal_modules import ONE as CAUSAL
from autograder.attention.checks.functions import a_tensor, moves, rows_sum_to_one, untouched
from autograder.attention.checks.subject import build
from autograder.attention.misconceptions.causal import CHAINS
from autograder.attention.misconceptions.trainable import ATTENDS
from autograder.attention.names import Function
from autograder.attention.sample import Sample
from autograder.checks.evidence import Observer
from autograder.checks.failures import require
from autograder.checks.marks import cases, criterion, dependence, own, setting, values
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

BY_WEIGHTS = ("renormalized_weights", "masked_weights")

USUAL = MODULES[CAUSAL].sizes["usual"]


def _by_weights(name: str) -> Function:
    return Function(
        name,
        CHAINS[name],
        further=lambda sample: [
            Given(scores=sample.numbers("further", size, size, reach=4.0)) for size in (2, 3, 17)
        ],
        public=lambda sample: [
            Given(scores=words.short(sample.numbers("scores", 5, 5, reach=3.0)))
        ],
        shown=Given(scores=words.INPUTS @ words.INPUTS.T),
    )


NAMES = {
    "causal_mask": Function(
        "causal_mask",
        CHAINS["causal_mask"],
        further=lambda sample: [Given(count=count) for count in (2, 3, 17)],
        public=lambda sample: [Given(count=5)],
        shown=Given(count=len(words.WORDS)),
        shares=False,
    ),
    **{name: _by_weights(name) for name in BY_WEIGHTS},
}


# causal_mask --------------------------------------------------------------------------------


@values(of="causal_mask")
@cases("count", [5, 8])
def mask_is_true_exactly_above_the_diagonal(
    count: int, student: Student, observe: Observer
) -> None:
    """True where a token must not look: at every later token, not at itself."""
    observe(Given(count=count), lambda: student.causal_mask.ask(count))


@own("masking", of="causal_mask")
def mask_is_of_type_bool_and_hides_nothing_from_one_token(student: Student) -> None:
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
def weights_are_the_softmax_of_what_may_be_seen(
    count: int, name: str, student: Student, sample: Sample, observe: Observer
) -> None:
    """Row i spreads its weight over tokens 0 to i."""
    given = Given(scores=scores_of(sample, count))
    observe(given, lambda: getattr(student, name).ask(given.scores, **observe.counted))


@dependence(of=BY_WEIGHTS, told=ATTENDS)
def other_scores_give_other_weights(name: str, student: Student, sample: Sample) -> None:
    """The result depends on the scores."""
    proxy = getattr(student, name)
    moves(*(a_tensor(proxy(sample.numbers(label, 5, 5, reach=2.0)), 5, 5) for label in "ab"))


@criterion("masking", of=BY_WEIGHTS)
def no_weight_lies_above_the_diagonal(name: str, student: Student, sample: Sample) -> None:
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
def rows_of_masked_weights_sum_to_one(name: str, student: Student, sample: Sample) -> None:
    """Each row holds the weights of the tokens that may be seen, and sums to 1."""
    rows_sum_to_one(a_tensor(getattr(student, name)(scores_of(sample, 7)), 7, 7))


@setting("softmax", of=BY_WEIGHTS)
def weights_stay_finite_for_large_scores(
    name: str, student: Student, sample: Sample, observe: Observer
) -> None:
    """Large scores give finite weights; up to 1,000 where masked before softmax."""
    scores = sample.numbers("large", 6, 6, reach=8.0)
    given = Given(scores=scores + (990.0 if name == "masked_weights" else 70.0))
    observe(given, lambda: getattr(student, name).ask(given.scores))


@setting("masking", of=BY_WEIGHTS)
def weights_of_one_token(name: str, student: Student, sample: Sample, observe: Observer) -> None:
    """A single token gives itself all the weight."""
    given = Given(scores=scores_of(sample, 1))
    observe(given, lambda: getattr(student, name).ask(given.scores))


@own("masking", of=BY_WEIGHTS)
def scores_are_left_alone(name: str, student: Student, sample: Sample) -> None:
    """The scores are unchanged afterwards, and a second call gives the same result."""
    untouched(student, name, scores_of(sample, 5))


# CausalAttention ----------------------------------------------------------------------------


@criterion("softmax", of=CAUSAL)
def weights_of_every_token_sum_to_one(student: Student, sample: Sample) -> None:
    """With the identity as values the output shows the weights: each row sums to 1."""
    rows_sum_to_one(attention.seen_weights(student, sample, MODULES[CAUSAL], tokens=6, batch=2))


@criterion("form", of=CAUSAL)
def texts_of_a_batch_do_not_mix(student: Student, sample: Sample) -> None:
    """The output for a sequence does not depend on the other sequences of the batch."""
    subject = build(student, sample, MODULES[CAUSAL], USUAL)
    tokens = sample.tokens("strong", USUAL)
    together, alone = subject.answers((tokens, None), (tokens[1:], None))
    require(
        same(alone, together[1:]),
        "an output that depends on the other sequences of the batch",
        "each sequence processed independently",
    )
