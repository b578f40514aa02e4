"""The class report in a terminal says what the page says."""

import io
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from autograder.feedback.class_text import class_text
from autograder.gradebook.class_analysis import Graded
from autograder.gradebook.similarity import Pair
from autograder.grading.class_report import report_class
from autograder.results.details import Details
from autograder.results.result import Result
from tests.conftest import ASSIGNMENT

STAGES = ASSIGNMENT.stages


def shown(graded: tuple[Graded, ...], similar: list[Pair] | None = None, width: int = 120) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, markup=False, emoji=False, highlight=False)
    console.print(class_text(graded, STAGES, similar))
    return file.getvalue()


def test_it_tells_scores_criteria_and_mistakes(class_of: Callable[[int], Path]) -> None:
    graded, _ = report_class(class_of(30))
    text = shown(graded)
    for told in (
        "all stages",
        "causal/masking",
        "reliability (Cronbach's alpha): 0.9",
        "A small class",  # 28 of the 30 could be read
        "no-mask",
        "no mask in force",
        "same unexplained outputs",
        "masked_weights took too long",
        "petra 015",
    ):
        assert told in text


def test_a_class_of_one_is_told_without_what_it_cannot_know(
    class_of: Callable[[int], Path],
) -> None:
    text = shown(report_class(class_of(1))[0])
    assert "that takes 10 or more" in text
    assert "reliability" not in text.replace("neither discrimination nor reliability", "")


def test_without_any_results_there_are_no_sections() -> None:
    text = shown(())
    assert text.startswith("scores\n")
    assert not any(word in text for word in ("criteria", "misconceptions", "hung"))


def test_similarity_comes_with_its_warning() -> None:
    text = shown((), [Pair("ada", "bob", 0.9, 0.4, 300)])
    assert "a place to look, not a verdict" in text
    assert "ada, bob" in text


def test_students_text_is_shown_and_not_obeyed() -> None:
    hostile = "[red]x[/red]\x1b[2J"
    result = Result(1, hostile, "", "attention", 0.0, 100.0, (), (), "error", "damaged")
    text = shown((Graded(result, Details()),))
    assert "[red]x[/red]" in text
    assert "\x1b" not in text
