"""From what was seen to points: shares, criteria, stages, and what a teacher reads beside them."""

import math
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import torch
from torch import Tensor

from autograder.assignment.assignment import Assignment
from autograder.attention.chain import Given
from autograder.attention.sample import Sample, Sizes
from autograder.checks.check_spec import hidden_checks
from autograder.checks.declaration import Question
from autograder.checks.evidence import Evidence, Outcome, Recorded
from autograder.checks.marks import Check
from autograder.checks.session import CheckSession
from autograder.checks.tie_breaks import TieBreaks
from autograder.diagnosis.catalogue import load_catalogue
from autograder.diagnosis.chain import run
from autograder.diagnosis.compare import same
from autograder.diagnosis.explain import Observation
from autograder.diagnosis.fingerprint import Shared, shared_mistakes
from autograder.results.result import CriterionResult, Result, StageResult, encode_result
from autograder.sandbox.host.session import LoadReport
from autograder.scoring.scoring import score
from autograder.submissions.submission import Submission
from tests.conftest import ASSIGNMENT

SAMPLE = Sample(b"what the tests of scoring use")
SUBMISSION = Submission("ada", (), "d1", ("unpacked within bounds",))
SIZES = {
    "SelfAttention_v1": Sizes(d_in=7, d_out=5, tokens=6),
    "SelfAttention_v2": Sizes(d_in=7, d_out=5, tokens=6),
    "CausalAttention": Sizes(d_in=7, d_out=5, tokens=6, batch=2, context_length=11),
    "MultiHeadAttention": Sizes(d_in=7, d_out=15, tokens=6, batch=2, context_length=11, heads=3),
}

Program = Callable[[Given], Tensor]


def every_check() -> list[tuple[str, Check]]:
    """All hidden checks of the assignment, with their identifiers."""
    return [(spec.identifier, spec.check) for spec in hidden_checks(ASSIGNMENT).specs]


CHECKS = every_check()


def given_to(name: str) -> Given:
    if name in SIZES:
        sizes = SIZES[name]
        return Given(
            tokens=SAMPLE.tokens("seen", sizes),
            weights=SAMPLE.weights("seen", sizes),
            heads=max(sizes.heads, 1),
            context_length=sizes.context_length,
        )
    tokens = SAMPLE.numbers("seen", 6, 4, reach=2.0)
    if name in ("attention_scores", "context_vector"):
        return Given(tokens=tokens, query=tokens[1] * 0.75)
    if name == "causal_mask":
        return Given(count=6)
    if name == "MultiHeadAttentionWrapper":
        parts = tuple(SAMPLE.numbers(f"head {place}", 2, 6, 5) for place in range(3))
        return Given(tokens=SAMPLE.numbers("seen", 2, 6, 7), parts=parts)
    return Given(tokens=tokens, scores=SAMPLE.numbers("scores", 6, 6, reach=4.0))


def reference(name: str, given: Given) -> Tensor:
    chains = load_catalogue(ASSIGNMENT.stage_of(name).misconceptions).chains
    return run(chains[name], given)


class Seen:
    """Evidence on a submission that is right but for what is said otherwise."""

    def __init__(self, programs: dict[str, Program] | None = None) -> None:
        self.programs = programs or {}
        self.evidence = Evidence()
        for identifier, check in CHECKS:
            self.see(identifier, check)

    def see(self, identifier: str, check: Check) -> None:
        if check.kind != "values" or check.criteria:
            self.evidence.outcomes.append(Outcome(identifier, check, "passed"))
            return
        given = given_to(check.name)
        expected = reference(check.name, given).float()
        program = self.programs.get(check.name)
        status: Any = "passed"
        try:
            value = expected if program is None else program(given)
            observed = Observation(given, value.float())
            if not same(value.float(), expected):
                status = "failed"
        except (RuntimeError, NameError) as error:
            observed = Observation(given, None, f"{type(error).__name__}: {error}")
            status = "error"
        shape = None if observed.value is None else tuple(observed.value.shape)
        self.evidence.outcomes.append(
            Outcome(
                identifier, check, status, text=observed.exception, exception=observed.exception
            )
        )
        self.evidence.recorded.append(
            Recorded(
                identifier, check, observed, status == "passed", shape, tuple(expected.shape), {}
            )
        )

    def but(self, name: str, criterion: str | None, **told: Any) -> "Seen":
        """The same, the checks of a name (on a criterion) having ended otherwise."""
        self.evidence.outcomes = [
            msgspec.structs.replace(entry, **told)
            if entry.check.name == name and (criterion is None or criterion in entry.check.criteria)
            else entry
            for entry in self.evidence.outcomes
        ]
        return self

    def scored(
        self, stages: Iterable[str] | None = None, assignment: Assignment = ASSIGNMENT
    ) -> Result:
        return self.told(stages, assignment)[0]

    def told(
        self,
        stages: Iterable[str] | None = None,
        assignment: Assignment = ASSIGNMENT,
        further: TieBreaks | None = None,
    ) -> tuple[Result, dict[str, Any]]:
        session: Any = SimpleNamespace(report=LoadReport(notes=("cell 7 raised",)), matched=())
        trial = CheckSession(assignment, session, {})
        chosen = None if stages is None else frozenset(stages)
        return score(assignment, SUBMISSION, trial, self.evidence, chosen, further)


DECLARED = hidden_checks(ASSIGNMENT).declared


class Answering(TieBreaks):
    """Asks programs that stand here instead of a guest, and remembers what was asked."""

    def __init__(self, programs: dict[str, Program]) -> None:
        self.programs = programs
        self.asked: list[str] = []

    def questions(self, name: str) -> Sequence[Question]:
        return DECLARED[name].questions(SAMPLE)

    def ask(self, name: str, question: Question) -> Observation:
        self.asked.append(name)
        given = question.given
        assert isinstance(given, Given)
        return Observation(given, self.programs[name](given))


def stage_of(result: Result, identifier: str) -> StageResult:
    return next(stage for stage in result.stages if stage.id == identifier)


def criterion_of(result: Result, stage: str, identifier: str) -> CriterionResult:
    return next(each for each in stage_of(result, stage).criteria if each.id == identifier)


def lost(result: Result) -> dict[str, float]:
    """What was lost, by stage and criterion."""
    return {
        f"{stage.id}.{each.id}": each.max_score - each.score
        for stage in result.stages
        for each in stage.criteria
        if each.score < each.max_score
    }


def points(name: str) -> int:
    """What a name is worth."""
    return sum(
        share.points
        for criterion in ASSIGNMENT.stage_of(name).criteria
        for share in criterion.shares
        if share.name == name
    )


# Programs with mistakes ---------------------------------------------------------------------


def no_scale(given: Given) -> Tensor:
    assert given.tokens is not None
    queries, keys, values = (given.tokens @ given.weights[r] for r in ("query", "key", "value"))
    return torch.softmax(queries @ keys.mT, dim=-1) @ values


def no_scale_in_causal(given: Given) -> Tensor:
    assert given.tokens is not None
    queries, keys, values = (given.tokens @ given.weights[r] for r in ("query", "key", "value"))
    later = torch.ones(6, 6).triu(1) == 1
    return torch.softmax((queries @ keys.mT).masked_fill(later, -math.inf), dim=-1) @ values


def self_left_out(given: Given) -> Tensor:
    assert given.tokens is not None
    scores = (given.tokens @ given.tokens.T).fill_diagonal_(-math.inf)
    return torch.softmax(scores, dim=-1) @ given.tokens


def raising(given: Given) -> Tensor:
    raise NameError("name 'querys' is not defined")


# The rules ----------------------------------------------------------------------------------


def test_a_right_submission_earns_every_point() -> None:
    result = Seen().scored()
    assert (result.score, result.max_score) == (100.0, 100.0)
    assert lost(result) == {}
    assert [stage.max_score for stage in result.stages] == [15.0, 25.0, 30.0, 30.0]
    assert all(each.message == "" for stage in result.stages for each in stage.criteria)


def test_scores_of_shares_add_up_to_criteria_to_stages_and_to_the_whole() -> None:
    result = Seen({"SelfAttention_v1": no_scale}).but("merge_heads", None, status="failed").scored()
    for stage in result.stages:
        for criterion in stage.criteria:
            assert criterion.score == sum(share.score for share in criterion.shares)
            assert criterion.max_score == sum(share.max_score for share in criterion.shares)
        assert stage.score == sum(criterion.score for criterion in stage.criteria)
    assert result.score == sum(stage.score for stage in result.stages)


def test_one_mistake_costs_its_criterion_for_the_name_that_shows_it() -> None:
    result = Seen({"SelfAttention_v1": no_scale}).scored()
    assert lost(result) == {"trainable.scaling": 2.0}
    scaling = criterion_of(result, "trainable", "scaling")
    assert scaling.misconceptions == ("no-scale",)
    assert [(share.name, share.status) for share in scaling.shares] == [
        ("SelfAttention_v1", "failed"),
        ("SelfAttention_v2", "passed"),
    ]


def test_a_mistake_that_no_share_of_its_criterion_pays_for_costs_the_names_last_step() -> None:
    # `context_vectors` has no share in `scores`, and `attention_weights`, which has, is right.
    result = Seen({"context_vectors": self_left_out}).scored()
    assert lost(result) == {"simplified.context": 3.0}
    context = criterion_of(result, "simplified", "context")
    assert context.misconceptions == ("self-excluded",)


def test_a_mistake_that_is_paid_for_already_costs_nothing_more() -> None:
    def weights(given: Given) -> Tensor:
        assert given.tokens is not None
        return torch.softmax((given.tokens @ given.tokens.T).fill_diagonal_(-math.inf), dim=-1)

    result = Seen({"context_vectors": self_left_out, "attention_weights": weights}).scored()
    assert lost(result) == {"simplified.scores": 1.0}


def test_a_missing_name_loses_its_own_shares_alone() -> None:
    text = "`SelfAttention_v1` was not found"
    result = Seen().but("SelfAttention_v1", None, status="missing", text=text).scored()
    assert sum(lost(result).values()) == points("SelfAttention_v1") == 11
    assert set(lost(result)) == {
        f"trainable.{criterion}"
        for criterion in ("projections", "scores", "scaling", "softmax", "context", "state", "form")
    }


def test_a_name_that_raises_says_so_once_and_blocks_the_rest() -> None:
    result = Seen({"SelfAttention_v2": raising}).scored()
    statuses = [
        share.status
        for criterion in stage_of(result, "trainable").criteria
        for share in criterion.shares
        if share.name == "SelfAttention_v2" and criterion.id != "state"
    ]
    assert statuses.count("error") == 1
    assert set(statuses) == {"error", "blocked"}
    assert stage_of(result, "trainable").score == 25.0 - (points("SelfAttention_v2") - 2)
    assert criterion_of(result, "trainable", "state").status == "passed"


def test_what_was_blocked_earns_what_the_assignment_says() -> None:
    generous = msgspec.structs.replace(ASSIGNMENT, blocked_earns=0.5)
    seen = Seen({"SelfAttention_v2": raising})
    strict, kind = seen.scored(), seen.scored(assignment=generous)
    assert kind.score is not None
    assert strict.score is not None
    assert kind.score - strict.score == 3.5  # half of 12, but for the 3 of the error, 2 of state
    assert criterion_of(kind, "trainable", "softmax").score == 3.0


def test_a_mistake_in_one_stage_takes_nothing_from_another() -> None:
    result = Seen({"CausalAttention": raising, "causal_mask": raising}).scored()
    for stage in ("simplified", "trainable", "multi_head"):
        assert stage_of(result, stage).score == stage_of(result, stage).max_score


def test_a_null_program_earns_nothing_at_all() -> None:
    def zeros(given: Given) -> Tensor:
        return torch.zeros_like(reference("CausalAttention", given))

    result = Seen({"CausalAttention": zeros}).scored()
    assert stage_of(result, "causal").score == 30.0 - points("CausalAttention")
    shares = [
        share
        for criterion in stage_of(result, "causal").criteria
        for share in criterion.shares
        if share.name == "CausalAttention"
    ]
    assert {share.score for share in shares} == {0.0}


def test_a_name_that_only_borrows_anothers_mistake_keeps_its_shares() -> None:
    seen = Seen({"SelfAttention_v1": no_scale, "SelfAttention_v2": no_scale})
    seen.evidence.borrowed.add("SelfAttention_v2")
    assert lost(seen.scored()) == {"trainable.scaling": 2.0}


def test_a_null_program_borrows_nothing() -> None:
    def zeros(given: Given) -> Tensor:
        return torch.zeros_like(reference("CausalAttention", given))

    seen = Seen({"CausalAttention": zeros})
    seen.evidence.borrowed.add("CausalAttention")
    assert stage_of(seen.scored(), "causal").score == 30.0 - points("CausalAttention")


def test_only_the_stages_that_were_asked_for_are_scored() -> None:
    result = Seen().scored(stages=["causal", "simplified"])
    assert [stage.id for stage in result.stages] == ["simplified", "causal"]
    assert (result.score, result.max_score) == (45.0, 45.0)


def test_an_explanation_that_another_name_bears_out_is_told_first() -> None:
    # For the square of a matrix with itself two mistakes are one program (see test_margin).
    def down_the_columns(given: Given) -> Tensor:
        assert given.tokens is not None
        return torch.softmax(given.tokens @ given.tokens.T, dim=0)

    def all_of_it(given: Given) -> Tensor:
        assert given.tokens is not None
        return down_the_columns(given) @ given.tokens

    def flat(given: Given) -> Tensor:
        assert given.scores is not None
        return torch.softmax(given.scores, dim=0)

    result = Seen(
        {"softmax": flat, "attention_weights": down_the_columns, "context_vectors": all_of_it}
    ).scored()
    assert lost(result) == {"simplified.softmax": 5.0}
    softmax = criterion_of(result, "simplified", "softmax")
    assert softmax.misconceptions == ("softmax-over-queries",)


def test_the_same_evidence_gives_the_same_bytes() -> None:
    programs: dict[str, Program] = {
        "SelfAttention_v1": no_scale,
        "CausalAttention": no_scale_in_causal,
    }
    assert encode_result(Seen(programs).scored()) == encode_result(Seen(programs).scored())


def test_names_digest_and_notes_are_those_of_the_submission() -> None:
    result = Seen().scored()
    assert (result.submission, result.digest, result.assignment) == ("ada", "d1", "attention")
    assert result.notes == ("unpacked within bounds", "cell 7 raised")
    assert result.status is None


@pytest.mark.parametrize("status", ["failed", "error", "timeout", "killed"])
def test_the_status_of_a_criterion_is_the_worst_of_its_shares(status: str) -> None:
    seen = Seen().but("SelfAttention_v2", "state", status=status)
    state = criterion_of(seen.scored(), "trainable", "state")
    assert state.status == status
    assert {share.status for share in state.shares} == {"passed", status}


def test_every_share_lists_the_checks_that_spoke_on_it() -> None:
    result = Seen().scored()
    shares = [share for stage in result.stages for each in stage.criteria for share in each.shares]
    assert all(share.checks for share in shares)
    assert all(check.status == "passed" for share in shares for check in share.checks)


def test_a_teacher_reads_how_names_stand_and_what_failing_checks_saw() -> None:
    seen = Seen({"SelfAttention_v1": no_scale}).but(
        "merge_heads", None, status="failed", found="other numbers", numbers="found [1]"
    )
    _, details = seen.told()
    assert details["standings"]["SelfAttention_v1"] == {
        "kind": "explained",
        "misconceptions": ["no-scale"],
        "alternatives": [],
    }
    assert details["standings"]["SelfAttention_v2"]["kind"] == "right"
    numbers = {failure["numbers"] for failure in details["failures"]}
    assert numbers == {"", "found [1]"}
    msgspec.json.encode(details)  # what cannot be written would fail the grading


def odd(given: Given) -> Tensor:
    """A mistake that nobody knows: every second row of the output is turned round."""
    output = reference("SelfAttention_v1", given).clone()
    output[::2] = output[::2].flip(-1)
    return output.sin()


def odd_in_another_order(given: Given) -> Tensor:
    """The same, computed in double precision, with another last digit."""
    output = reference("SelfAttention_v1", given).double()
    rows = [row.flip(0) if place % 2 == 0 else row for place, row in enumerate(output)]
    return (torch.stack(rows).sin() * (1 + 1e-5)).float()


def test_students_who_share_an_unknown_mistake_share_a_fingerprint() -> None:
    programs: dict[str, Program] = {"ada": odd, "ben": odd_in_another_order, "cleo": no_scale}
    details = {}
    for student, program in programs.items():
        _, told = Seen({"SelfAttention_v1": program}).told()
        assert ("SelfAttention_v1" in told["fingerprints"]) == (program is not no_scale)
        details[student] = msgspec.json.encode(told)
    assert shared_mistakes(details) == (Shared("SelfAttention_v1", ("ada", "ben")),)


def by_tokens(given: Given) -> Tensor:
    assert given.tokens is not None
    queries, keys, values = (given.tokens @ given.weights[r] for r in ("query", "key", "value"))
    return torch.softmax(queries @ keys.mT / len(keys) ** 0.5, dim=-1) @ values


def test_a_name_is_asked_once_more_where_two_mistakes_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    # As many tokens as features, so that the roots of both are the same divisor.
    monkeypatch.setitem(SIZES, "SelfAttention_v1", Sizes(d_in=6, d_out=5, tokens=6))
    programs: dict[str, Program] = {"SelfAttention_v1": by_tokens}
    result, details = Seen(programs).told()
    assert "Either scaled by the input width, or scaled by the number of tokens" in (
        criterion_of(result, "trainable", "scaling").message
    )
    assert details["standings"]["SelfAttention_v1"]["alternatives"] == [["scale-by-tokens"]]
    answering = Answering(programs)
    result, details = Seen(programs).told(further=answering)
    assert answering.asked == ["SelfAttention_v1"]
    scaling = criterion_of(result, "trainable", "scaling")
    assert scaling.misconceptions == ("scale-by-tokens",)
    assert "Either" not in scaling.message
    assert details["standings"]["SelfAttention_v1"]["alternatives"] == []


def test_a_right_submission_and_a_known_mistake_are_asked_nothing() -> None:
    programs: dict[str, Program] = {"SelfAttention_v1": no_scale}
    for seen in (Seen(), Seen(programs)):
        answering = Answering(programs)
        seen.told(further=answering)
        assert answering.asked == []
