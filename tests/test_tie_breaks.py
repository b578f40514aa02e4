"""A name is asked once more, in its guest, on an input that tells explanations apart."""

from collections.abc import Iterator
from itertools import combinations

import pytest
import torch
from msgspec import structs

from autograder.attention.chain import Given
from autograder.attention.checks.subject import build
from autograder.attention.checks.trainable import MODULES
from autograder.attention.sample import Sample, Sizes
from autograder.checks.check_spec import hidden_checks
from autograder.checks.declaration import Question
from autograder.checks.session import CheckSession
from autograder.checks.tie_breaks import TieBreaks
from autograder.diagnosis.catalogue import load_catalogue
from autograder.diagnosis.chain import run
from autograder.diagnosis.compare import same
from autograder.diagnosis.explain import Explanation, Observation, explain, separated
from autograder.sandbox.host.room import NameSpec, Sandbox
from autograder.submissions.submission import SourceFile, Submission, read_submission
from tests.conftest import ASSIGNMENT

SAMPLE = Sample(b"what the tests of further questions use")
SPECS = tuple(
    NameSpec(spec.name, spec.module, spec.kind, spec.parameters) for spec in ASSIGNMENT.name_specs
)
DECLARED = hidden_checks(ASSIGNMENT).declared
ASKED = [
    name
    for stage in ASSIGNMENT.stages
    for name in load_catalogue(stage.misconceptions).chains
    if name != "MultiHeadAttentionWrapper"  # compared with its own heads
]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(ASSIGNMENT.limits, SPECS, "process") as made:
        yield made


def further(sandbox: Sandbox, submission: Submission) -> Iterator[TieBreaks]:
    trial = CheckSession.of(ASSIGNMENT, sandbox, submission, {})
    try:
        yield TieBreaks(ASSIGNMENT, trial, SAMPLE, DECLARED)
    finally:
        trial.close()


@pytest.fixture(scope="module")
def solutions(sandbox: Sandbox) -> Iterator[TieBreaks]:
    yield from further(sandbox, read_submission(ASSIGNMENT.solutions, ASSIGNMENT.limits))


@pytest.mark.parametrize("name", ASKED)
def test_a_right_program_answers_every_question_rightly(name: str, solutions: TieBreaks) -> None:
    chain = load_catalogue(ASSIGNMENT.stage_of(name).misconceptions).chains[name]
    questions = solutions.questions(name)
    assert questions
    for question in questions:
        answer = solutions.ask(name, question)
        assert answer is not None
        assert answer.given is question.given
        assert answer.value is not None
        assert same(answer.value, run(chain, question.given).float())


def test_the_wrapper_is_asked_nothing() -> None:
    assert DECLARED["MultiHeadAttentionWrapper"].questions(SAMPLE) == ()


@pytest.mark.parametrize("name", ASKED)
def test_questions_differ_in_every_size(name: str) -> None:
    shapes = {
        tuple(
            tuple(value.shape) if isinstance(value, torch.Tensor) else value
            for _, value in question.given.everything()
        )
        for question in DECLARED[name].questions(SAMPLE)
    }
    assert len(shapes) == len(DECLARED[name].questions(SAMPLE)) >= 3


# A student whose mistake the first input does not tell from another --------------------------

BY_TOKENS = b"""
import torch
import torch.nn as nn


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        return torch.softmax(q @ k.T / x.shape[0] ** 0.5, dim=-1) @ v


def softmax(scores):
    raise ValueError("not today")


def attention_scores(query, inputs):
    return "no tensor"


def causal_mask(num_tokens):
    while True:
        pass
"""


@pytest.fixture(scope="module")
def student(sandbox: Sandbox) -> Iterator[TieBreaks]:
    files = (SourceFile("attention/work.py", "module", BY_TOKENS),)
    yield from further(sandbox, Submission("ada", files, "d1"))


def test_the_answer_of_the_guest_tells_which_mistake_it_is(student: TieBreaks) -> None:
    name = "SelfAttention_v1"
    catalogue = load_catalogue(ASSIGNMENT.stage_of(name).misconceptions)
    questions = student.questions(name)
    as_wide_as_long = Sizes(d_in=6, d_out=5, tokens=6)  # the roots of both are the same divisor
    tokens = SAMPLE.tokens("first", as_wide_as_long)
    weights = SAMPLE.weights("first", as_wide_as_long)
    question = Question(
        Given(tokens=tokens, weights=weights),
        lambda student: build(
            student, SAMPLE, MODULES[name], as_wide_as_long, weights=weights
        ).module.ask(tokens),
    )
    first = student.ask(name, question)
    assert first is not None
    explanation = explain(name, catalogue, [first])
    assert explanation is not None
    assert explanation.alternatives
    found = separated(
        catalogue.chains[name],
        explanation,
        [question.given for question in questions],
        lambda number: student.ask(name, questions[number]),
    )
    assert [entry.id for entry in found.misconceptions] == ["scale-by-tokens"]
    assert found.alternatives == ()


def test_an_exception_is_an_answer_too(student: TieBreaks) -> None:
    question = student.questions("softmax")[0]
    assert student.ask("softmax", question) == Observation(
        question.given, None, "ValueError: not today"
    )


def test_what_is_no_tensor_and_what_never_ends_is_no_answer(student: TieBreaks) -> None:
    for name in ("attention_scores", "causal_mask", "context_vector"):
        assert student.ask(name, student.questions(name)[0]) is None


# What the questions can tell apart ----------------------------------------------------------


def outputs(name: str, question: Question) -> dict[str, torch.Tensor]:
    """What each mistake of one step gives, by its id; only those that give something wrong."""
    catalogue = load_catalogue(ASSIGNMENT.stage_of(name).misconceptions)
    chain = catalogue.chains[name]
    found = {}
    for entry in catalogue.of(name):
        for step in entry.steps[:1]:
            expected = Explanation((entry,), {entry.step: step}).expected(chain, question.given)
            right = run(chain, question.given)
            if expected is not None and not same(expected, right):
                found[entry.id] = expected
    return found


@pytest.mark.parametrize("name", ["SelfAttention_v1", "CausalAttention", "MultiHeadAttention"])
def test_any_two_mistakes_differ_on_some_question(name: str) -> None:
    by_question = [outputs(name, question) for question in DECLARED[name].questions(SAMPLE)]
    known = set().union(*by_question)
    assert len(known) > 20
    alike = {
        frozenset(pair)
        for pair in combinations(sorted(known), 2)
        if not any(
            (pair[0] in seen) != (pair[1] in seen)
            or (pair[0] in seen and not same(seen[pair[0]], seen[pair[1]]))
            for seen in by_question
        )
    }
    assert alike == set()


def test_questions_come_from_the_courses_secret() -> None:
    one, other = (DECLARED["softmax"].questions(Sample(secret))[0].given for secret in (b"a", b"b"))
    assert isinstance(one, Given)
    assert isinstance(other, Given)
    assert one.scores is not None
    assert other.scores is not None
    assert not torch.equal(one.scores, other.scores)
    assert structs.replace(one, scores=None) == structs.replace(other, scores=None)
