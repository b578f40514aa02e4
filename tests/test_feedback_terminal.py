"""Tables for the terminal show what the result says and obey none of it."""

import io

import msgspec
import pytest
from rich.console import Console

from autograder.assignment.assignment import load_assignment
from autograder.feedback.terminal import class_view, console, result_view
from autograder.results.result import (
    CheckOutcome,
    CriterionResult,
    Result,
    ShareResult,
    StageResult,
)

HOSTILE = "[red]x[/red] :smile: \x1b[2J"
SHARE = ShareResult(
    "softmax",
    0.0,
    3.0,
    "failed",
    (CheckOutcome("rows_sum", "failed"), CheckOutcome("is_finite", "passed")),
)
RESULT = Result(
    schema=1,
    submission="ada",
    digest="d",
    assignment="attention",
    score=12.5,
    max_score=15.0,
    stages=(
        StageResult(
            "simplified",
            "Weight-free",
            12.5,
            15.0,
            (
                CriterionResult("scores", "A dot product", 2.0, 2.0, "passed", "", (), ()),
                CriterionResult(
                    "softmax", "Sums to 1", 0.0, 3.0, "timeout", "Why.", ("no-exp",), (SHARE,)
                ),
            ),
        ),
    ),
    notes=("ignored: tests/",),
)


def shown(view: object) -> str:
    file = io.StringIO()
    Console(file=file, width=90, markup=False, emoji=False, highlight=False).print(view)
    return file.getvalue()


def test_a_result_is_shown_by_stage_and_criterion() -> None:
    text = shown(result_view(RESULT))
    for told in (
        "ada: 12.5 of 15",
        "simplified: 12.5 of 15  Weight-free",
        "✓  scores   2 of 2  A dot product",
        "✗  softmax  0 of 3  Sums to 1  took too long",
        "Why.",
        "note: ignored: tests/",
    ):
        assert told in text


def test_shares_and_checks_are_shown_on_demand() -> None:
    assert "rows_sum" not in shown(result_view(RESULT))
    text = shown(result_view(RESULT, show=True))
    for told in (
        "named: no-exp",
        "softmax: 0 of 3, failed; 1 of 2 checks passed",
        "rows_sum: failed",
    ):
        assert told in text
    assert "is_finite" not in text


def test_a_class_is_shown_with_a_column_a_stage() -> None:
    text = shown(class_view([RESULT], load_assignment().stages[:2]))
    assert "simplified" in text
    assert [line.split() for line in text.splitlines() if "ada" in line] == [
        ["ada", "12.5", "–", "12.5", "graded"]
    ]


def test_below_a_class_stands_why_somebody_has_no_points() -> None:
    message = "eve.zip: not a zip archive"
    eve = msgspec.structs.replace(RESULT, submission="eve", status="error", message=message)
    assert shown(class_view([RESULT, eve], ())).splitlines()[-1].strip() == message


@pytest.mark.parametrize("place", ["submission", "notes", "message"])
def test_markup_and_control_codes_are_shown_and_not_obeyed(place: str) -> None:
    hostile = (HOSTILE,) if place == "notes" else HOSTILE
    result = msgspec.structs.replace(RESULT, **{place: hostile})
    for view in (result_view(result), class_view([result], ())):
        text = shown(view)
        assert "\x1b" not in text
        assert place == "notes" or "[red]x[/red] :smile:" in text


def test_the_console_takes_text_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    console().print("[red]:smile:[/red]")
    assert capsys.readouterr().out == "[red]:smile:[/red]\n"
