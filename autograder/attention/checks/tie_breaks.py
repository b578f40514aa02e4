"""One more question to a name: on an input on which the explanations that fit differ.

The hidden checks' inputs tell most mistakes apart. Where two sets of mistakes give the same
outputs on all of them, the student's program is asked once more, while its guest is alive, on that
input of those below that separates them best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from autograder.assignment.assignment import Assignment
from autograder.attention.chain import Given
from autograder.attention.checks.subject import build
from autograder.checks.evidence import tensor_among
from autograder.checks.failures import CheckFailed
from autograder.checks.sample import Sample, Sizes
from autograder.checks.session import CheckSession
from autograder.diagnosis.explain import Observation
from autograder.sandbox.host.student import Reply, Student, StudentFault, StudentRaised

MODULES: dict[str, tuple[Sizes, ...]] = {
    "SelfAttention_v1": (
        Sizes(d_in=6, d_out=11, tokens=3),
        Sizes(d_in=5, d_out=5, tokens=5),
        Sizes(d_in=3, d_out=9, tokens=17),
    ),
    "SelfAttention_v2": (
        Sizes(d_in=6, d_out=11, tokens=3),
        Sizes(d_in=5, d_out=5, tokens=5),
        Sizes(d_in=3, d_out=9, tokens=17, bias=True),
    ),
    "CausalAttention": (
        Sizes(d_in=6, d_out=11, tokens=3, batch=4, context_length=5),
        Sizes(d_in=5, d_out=5, tokens=5, batch=5, context_length=5),
        Sizes(d_in=3, d_out=9, tokens=17, batch=2, context_length=19, bias=True),
    ),
    "MultiHeadAttention": (
        Sizes(d_in=6, d_out=22, tokens=3, batch=5, context_length=4, heads=2),
        Sizes(d_in=12, d_out=12, tokens=4, batch=4, context_length=4, heads=4),
        Sizes(d_in=3, d_out=21, tokens=17, batch=2, context_length=19, heads=3, bias=True),
    ),
}

#: Numbers of tokens and features, or of rows and columns of scores.
SHAPES = ((4, 7), (7, 4), (11, 11), (2, 5), (17, 3))


@dataclass(frozen=True, slots=True)
class Question:
    """An input, and the sizes of the module that it is meant for."""

    given: Given
    sizes: Sizes | None = None


def questions_to(name: str, sample: Sample) -> tuple[Question, ...]:
    """The inputs that a name may be asked about besides the hidden checks' own."""
    if name in MODULES:
        return tuple(
            Question(
                Given(
                    tokens=sample.tokens("further", sizes),
                    weights=sample.weights("further", sizes),
                    heads=max(sizes.heads, 1),
                    context_length=sizes.context_length,
                ),
                sizes,
            )
            for sizes in MODULES[name]
        )
    if name == "causal_mask":
        return tuple(Question(Given(count=count)) for count in (2, 3, 17))
    drawn = [sample.numbers("further", *shape, reach=2.0) for shape in SHAPES]
    if name in ("attention_scores", "context_vector"):
        return tuple(Question(Given(tokens=each, query=each[0] * 0.625 - 0.25)) for each in drawn)
    if name in ("attention_weights", "context_vectors"):
        return tuple(Question(Given(tokens=each)) for each in drawn)
    if name == "softmax":
        return tuple(Question(Given(scores=2.0 * each)) for each in drawn)
    if name in ("renormalized_weights", "masked_weights"):
        square = [sample.numbers("further", size, size, reach=4.0) for size in (2, 3, 17)]
        return tuple(Question(Given(scores=each)) for each in square)
    return ()


class TieBreaks:
    """Asks a student's name once more."""

    def __init__(self, assignment: Assignment, session: CheckSession, sample: Sample) -> None:
        self._assignment = assignment
        self._session = session
        self._sample = sample

    def questions(self, name: str) -> Sequence[Question]:
        """What the name may be asked."""
        return questions_to(name, self._sample)

    def ask(self, name: str, question: Question) -> Observation | None:
        """What the name answers; None where nothing can be learned from it."""
        try:
            self._session.enter(self._assignment.stage_of(name))
            student = self._session.student(f"further::{name}")
            reply = answer(student, self._sample, name, question)
        except StudentRaised as raised:
            return Observation(question.given, None, f"{raised.kind}: {raised.text}")
        except (StudentFault, CheckFailed):
            return None
        value = tensor_among(reply.value, ())
        if value is None or value.is_complex():
            return None
        return Observation(question.given, value.float())


def answer(student: Student, sample: Sample, name: str, question: Question) -> Reply:
    """Call a name as a question says."""
    given = question.given
    if question.sizes is not None:
        subject = build(student, sample, name, question.sizes, weights=given.weights)
        return subject.module.ask(given.tokens)
    if given.count:
        return student.proxy(name).ask(given.count)
    arguments: list[Tensor] = [
        each for each in (given.query, given.tokens, given.scores) if each is not None
    ]
    return student.proxy(name).ask(*arguments)
