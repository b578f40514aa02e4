"""`result.json`: the same bytes for the same result, and nothing in it that was not asked for."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.errors import UsageError
from autograder.results.result import (
    SCHEMA,
    SEVERITY,
    CheckOutcome,
    CriterionResult,
    Result,
    ShareResult,
    StageResult,
    decode_result,
    encode_result,
    worst,
)

# Surrogates cannot be written as UTF-8, and a submission's texts are cleaned of them.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
points = st.integers(0, 1000).map(lambda whole: whole / 4)
statuses = st.sampled_from(SEVERITY)
checks = st.builds(CheckOutcome, id=texts, status=statuses)
shares = st.builds(
    ShareResult,
    name=texts,
    score=points,
    max_score=points,
    status=statuses,
    checks=st.lists(checks, max_size=2).map(tuple),
    aspect=st.none() | texts,
)
criteria = st.builds(
    CriterionResult,
    id=texts,
    title=texts,
    score=points,
    max_score=points,
    status=statuses,
    message=texts,
    misconceptions=st.lists(texts, max_size=2).map(tuple),
    shares=st.lists(shares, max_size=2).map(tuple),
)
stages = st.builds(
    StageResult,
    id=texts,
    title=texts,
    score=points,
    max_score=points,
    criteria=st.lists(criteria, max_size=2).map(tuple),
)
results = st.builds(
    Result,
    schema=st.just(SCHEMA),
    submission=texts,
    digest=texts,
    assignment=texts,
    score=st.none() | points,
    max_score=points,
    stages=st.lists(stages, max_size=2).map(tuple),
    notes=st.lists(texts, max_size=2).map(tuple),
    status=st.none() | st.just("error"),
    message=st.none() | texts,
)


def small(**changes: Any) -> Result:
    share = ShareResult("CausalAttention", 0.0, 5.0, "failed", (CheckOutcome("a", "failed"),))
    masking = CriterionResult(
        "masking", "The mask", 1.0, 9.0, "failed", "Look.", ("mask-starts-late",), (share,)
    )
    stage = StageResult("causal", "Causal attention", 22.0, 30.0, (masking,))
    usual = Result(SCHEMA, "ada", "d1", "attention", 83.0, 100.0, (stage,), ("a note",))
    return msgspec.structs.replace(usual, **changes)


@given(result=results)
def test_a_result_is_read_as_it_was_written(result: Result) -> None:
    data = encode_result(result)
    assert decode_result(data) == result
    assert encode_result(decode_result(data)) == data


@given(result=results)
def test_it_is_indented_json_with_one_newline_at_its_end(result: Result) -> None:
    text = encode_result(result).decode("utf-8")
    assert isinstance(json.loads(text), dict)
    assert text.startswith('{\n  "schema": 1,\n  "submission": ')
    assert text.endswith("}\n")


def test_fields_stand_in_the_contracts_order() -> None:
    tables = json.loads(encode_result(small()))
    assert list(tables) == [
        "schema",
        "submission",
        "digest",
        "assignment",
        "score",
        "max_score",
        "stages",
        "notes",
    ]
    stage = tables["stages"][0]
    assert list(stage) == ["id", "title", "score", "max_score", "criteria"]
    assert list(stage["criteria"][0]) == [
        "id",
        "title",
        "score",
        "max_score",
        "status",
        "message",
        "misconceptions",
        "shares",
    ]
    assert list(stage["criteria"][0]["shares"][0]) == [
        "name",
        "score",
        "max_score",
        "status",
        "checks",
    ]
    assert stage["criteria"][0]["shares"][0]["checks"] == [{"id": "a", "status": "failed"}]


def test_points_are_written_with_a_point() -> None:
    assert b'"score": 83.0,\n' in encode_result(small())


def test_an_aspect_is_written_only_where_there_is_one() -> None:
    share = ShareResult("SelfAttention_v2", 1.0, 1.0, "passed", (), aspect="bias")
    assert json.loads(msgspec.json.encode(share))["aspect"] == "bias"
    assert b"aspect" not in encode_result(small())


def test_status_and_message_stand_at_the_top_of_an_unreadable_submission_only() -> None:
    unreadable = small(score=0.0, status="error", message="it is no zip")
    tables = json.loads(encode_result(unreadable))
    assert (tables["status"], tables["message"]) == ("error", "it is no zip")
    assert not {"status", "message"} & json.loads(encode_result(small())).keys()


def test_a_submission_that_the_kit_failed_on_has_no_score() -> None:
    data = encode_result(small(score=None))
    assert json.loads(data)["score"] is None
    assert decode_result(data).score is None


@given(data=st.binary(max_size=60))
def test_other_bytes_are_no_result(data: bytes) -> None:
    with pytest.raises(UsageError, match=r"not a result\.json"):
        decode_result(data)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'"score": 83.0', b'"score": "83"'),
        (b'"status": "failed"', b'"status": "splendid"'),
        (b'"stages"', b'"phases"'),
        (b'"notes": [', b'"notes": [1, '),
    ],
)
def test_a_field_of_another_kind_is_no_result(before: bytes, after: bytes) -> None:
    with pytest.raises(UsageError, match=r"not a result\.json"):
        decode_result(encode_result(small()).replace(before, after))


def test_another_schema_is_refused_by_its_number() -> None:
    with pytest.raises(UsageError, match=f"schema 7; this kit reads schema {SCHEMA}"):
        decode_result(encode_result(small(schema=7)))


@given(found=st.lists(statuses, min_size=1))
def test_the_worst_status_stands_for_all(found: list[Any]) -> None:
    assert worst(tuple(found)) in found
    assert all(SEVERITY.index(each) <= SEVERITY.index(worst(tuple(found))) for each in found)


def test_of_no_status_the_worst_is_passed() -> None:
    assert worst(()) == "passed"


def test_a_failure_is_worse_than_what_it_blocks() -> None:
    assert worst(("blocked", "failed", "passed")) == "failed"
    assert worst(("missing", "error")) == "error"
