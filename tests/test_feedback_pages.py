"""A student's page tells what the result says, and students' text stays text."""

from html.parser import HTMLParser

import msgspec
import pytest

from autograder.assignment.assignment import Assignment, load_assignment
from autograder.feedback.pages import student_page
from autograder.gradebook.adjustments import Adjustment, adjusted
from autograder.results.details import AttentionSeen, Details, HeadWeights
from autograder.results.result import (
    CheckOutcome,
    CriterionResult,
    Result,
    ShareResult,
    StageResult,
    Status,
)

HOSTILE = "<script>alert(1)</script>&\x1b[31m"


class Reader(HTMLParser):
    """The tags of a page, in order, and its text."""

    VOID = frozenset(("meta", "br", "link", "img"))

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def assignment() -> Assignment:
    return load_assignment()


def result(
    status: Status = "failed", message: str = "", name: str = "ada", notes: tuple[str, ...] = ()
) -> Result:
    score = 5.0 if status == "passed" else 0.0
    shares = (
        ShareResult("CausalAttention", score, 5.0, status, (CheckOutcome("hidden_check", status),)),
        ShareResult("causal_mask", 2.0, 2.0, "passed", (), "an aspect"),
    )
    criterion = CriterionResult(
        "masking", "No token looks ahead", score + 2, 7.0, status, message, ("no-mask",), shares
    )
    stage = StageResult("causal", "Causal attention", score + 2, 7.0, (criterion,))
    return Result(1, name, "d", "attention", score + 2, 7.0, (stage,), notes)


class TestStudentPage:
    def test_it_is_well_formed(self, assignment: Assignment) -> None:
        reader = Reader(student_page(result(message="a\n\nb", notes=("n",)), assignment))
        assert reader.open == []
        assert "html" in reader.tags

    def test_it_tells_points_and_the_reason(self, assignment: Assignment) -> None:
        text = Reader(student_page(result(message="Mask it."), assignment)).text
        for told in ("2 of 7 points", "No token looks ahead", "wrong", "Mask it."):
            assert told in text

    def test_it_tells_which_names_kept_what(self, assignment: Assignment) -> None:
        text = Reader(student_page(result(), assignment)).text
        assert "CausalAttention 0 of 5 · causal_mask (an aspect) 2 of 2" in text

    def test_it_tells_where_to_read(self, assignment: Assignment) -> None:
        text = Reader(student_page(result(), assignment)).text
        assert "Read again: 3_causal.md, section" in text

    def test_it_does_not_tell_it_twice(self, assignment: Assignment) -> None:
        message = "Read 3_causal.md, section “The mask”."
        assert "Read again" not in student_page(result(message=message), assignment)

    def test_what_was_kept_needs_no_words(self, assignment: Assignment) -> None:
        text = Reader(student_page(result("passed"), assignment)).text
        assert "Read again" not in text
        assert "wrong" not in text

    def test_paragraphs_and_code_are_set_as_such(self, assignment: Assignment) -> None:
        page = student_page(result(message="Use `a < b`.\n\nThen go on."), assignment)
        assert "<p>Use <code>a &lt; b</code>.</p>\n<p>Then go on.</p>" in page

    def test_an_unpaired_backtick_is_just_a_character(self, assignment: Assignment) -> None:
        assert "<p>it`s</p>" in student_page(result(message="it`s"), assignment)

    def test_hidden_checks_are_not_told(self, assignment: Assignment) -> None:
        assert "hidden_check" not in student_page(result(), assignment)

    def test_the_reason_stays_away_where_the_policy_says_so(self, assignment: Assignment) -> None:
        feedback = msgspec.structs.replace(assignment.feedback, explanations="never")
        strict = msgspec.structs.replace(assignment, feedback=feedback)
        assert "Mask it." not in student_page(result(message="Mask it."), strict)

    def test_hostile_text_stays_text(self, assignment: Assignment) -> None:
        page = student_page(result(message=f"`{HOSTILE}` {HOSTILE}", name=HOSTILE), assignment)
        reader = Reader(page)
        assert "script" not in reader.tags
        assert "\x1b" not in page
        assert reader.text.count("<script>alert(1)</script>&") == 4  # title, head, twice in prose

    def test_an_unreadable_submission_has_its_message(self, assignment: Assignment) -> None:
        unreadable = Result(
            1, "ada", "", "attention", 0.0, 100.0, (), (), "error", "ada.zip: damaged"
        )
        text = Reader(student_page(unreadable, assignment)).text
        assert "0 of 100 points" in text
        assert "ada.zip: damaged" in text


SEEN = AttentionSeen(
    "CausalAttention",
    "causal",
    ("one", "<b>two</b>"),
    (HeadWeights(((0.7, 0.3), (0.5, 0.5)), ((1.0, 0.0), (0.4321, 0.5679))),),
    causal=True,
)


class TestPicturesOfAttention:
    def page(self, assignment: Assignment, **policy: object) -> str:
        feedback = msgspec.structs.replace(assignment.feedback, **policy)
        course = msgspec.structs.replace(assignment, feedback=feedback)
        return student_page(result(), course, Details(attention=(SEEN,)))

    def test_found_stands_beside_expected_and_marks_are_explained(
        self, assignment: Assignment
    ) -> None:
        reader = Reader(self.page(assignment))
        assert reader.open == []
        assert reader.tags.count("figure") == 1
        for told in ("found", "expected", ".70", "1 weight on words that come later"):
            assert told in reader.text

    def test_expected_numbers_are_shown_where_the_policy_says_so(
        self, assignment: Assignment
    ) -> None:
        assert ".43" not in self.page(assignment, show_expected_numbers=False)
        assert ".43" in self.page(assignment, show_expected_numbers=True)

    def test_they_explain_so_they_stay_away_with_explanations(self, assignment: Assignment) -> None:
        assert "<figure" not in self.page(assignment, explanations="never")

    def test_words_stay_text(self, assignment: Assignment) -> None:
        reader = Reader(self.page(assignment))
        assert "b" not in reader.tags
        assert "<b>two</b>" in reader.text

    def test_without_any_there_is_no_heading(self, assignment: Assignment) -> None:
        assert "looks like" not in student_page(result(), assignment)


class TestChangedByHand:
    def test_the_change_is_told_with_its_reason(self, assignment: Assignment) -> None:
        told = adjusted(
            result(),
            [Adjustment("ada", "causal", "masking", 6.0, "<i>read</i>")],
            assignment.stages,
        )
        reader = Reader(student_page(told.result, assignment, None, told.applied))
        assert "Changed by hand from 2 to 6 points: <i>read</i>" in reader.text
        assert "6 of 7 points" in reader.text
        assert "i" not in reader.tags

    def test_nothing_is_told_where_nothing_was_changed(self, assignment: Assignment) -> None:
        assert "Changed by hand" not in student_page(result(), assignment)
