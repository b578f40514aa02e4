"""Every figure of the class page equals one computed from the gradebook, whatever the class's size.

What is on the page is read with an HTML parser; what it should be is computed here with numpy.
"""

import re
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import msgspec
import numpy as np
import pytest

from autograder.feedback.class_page import class_page
from autograder.feedback.plain import file_name
from autograder.gradebook.adjustments import Adjustment
from autograder.gradebook.class_analysis import Graded
from autograder.gradebook.gradebook import Gradebook
from autograder.gradebook.similarity import Pair
from autograder.results.details import read_details
from autograder.results.result import Result
from tests.conftest import ASSIGNMENT

STAGES = ASSIGNMENT.stages
SIZES = (1, 2, 30, 500)
FEW, ENOUGH = 10, 30

ClassOf = Callable[[int], Path]


class Page(HTMLParser):
    """Tables, links, figures and text of a page, by the section they are in."""

    VOID = frozenset(("meta", "br", "input"))

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.section = ""
        self.tags: Counter[str] = Counter()
        self.rows: dict[str, list[list[str]]] = {}
        self.texts: dict[str, str] = {}
        self.links: dict[str, list[str]] = {}
        self.figures: dict[str, list[str]] = {}
        self._cell: list[str] | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        self.tags[tag] += 1
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "section":
            self.section = told["id"] or ""
        elif tag == "tr":
            self.rows.setdefault(self.section, []).append([])
        elif tag in ("td", "th"):
            self._cell = []
        elif tag == "a":
            self.links.setdefault(self.section, []).append(told["href"] or "")
        elif tag == "svg" and told.get("class") == "chart":
            self.figures.setdefault(self.section, []).append(told["aria-label"] or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag in ("td", "th") and self._cell is not None:
            self.rows[self.section][-1].append(" ".join("".join(self._cell).split()))
            self._cell = None

    def handle_data(self, data: str) -> None:
        self.texts[self.section] = self.texts.get(self.section, "") + data
        if self._cell is not None:
            self._cell.append(data)

    def table(self, section: str) -> list[list[str]]:
        """The rows of a section's table below its headings."""
        return [row for row in self.rows.get(section, []) if row][1:]


class Book:
    """What the gradebook says, as arrays."""

    def __init__(self, folder: Path) -> None:
        with Gradebook(folder) as book:
            run = book.last_run()
            assert run is not None
            self.records = book.records(run)
        self.results = [record.result for record in self.records]
        self.graded = [result for result in self.results if result.status is None]
        self.scores = np.array([result.score for result in self.results])
        self.items = np.array(
            [
                [criterion.score for stage in result.stages for criterion in stage.criteria]
                for result in self.graded
            ]
        )
        self.most = np.array([each.points for stage in STAGES for each in stage.criteria])

    def of_stage(self, place: int) -> np.ndarray:
        """Each submission's score of one stage; 0 where it could not be read."""
        return np.array(
            [result.stages[place].score if result.stages else 0.0 for result in self.results]
        )

    def named(self) -> dict[str, list[str]]:
        """Students by misconception."""
        found: dict[str, list[str]] = {}
        for result in self.results:
            for each in named(result):
                found.setdefault(each, []).append(result.submission)
        return found


def named(result: Result) -> list[str]:
    return list(
        dict.fromkeys(
            each
            for stage in result.stages
            for criterion in stage.criteria
            for each in criterion.misconceptions
        )
    )


@pytest.fixture(params=SIZES)
def size(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def book(class_of: ClassOf, size: int) -> Book:
    return Book(class_of(size))


@pytest.fixture
def text(class_of: ClassOf, size: int) -> str:
    return (class_of(size) / "class.html").read_text()


@pytest.fixture
def page(text: str) -> Page:
    return Page(text)


class TestFigures:
    def test_the_head_tells_mean_and_median(self, page: Page, book: Book) -> None:
        told = f"mean {book.scores.mean():.1f} of 100 points, median {np.median(book.scores):g}"
        assert told in page.texts[""]
        assert f"{len(book.results)} submission" in page.texts[""]

    def test_distributions_count_every_submission(self, page: Page, book: Book) -> None:
        figures = page.figures["scores"]
        assert len(figures) == 1 + len(STAGES)
        for figure, scores, most in [
            (figures[0], book.scores, 100),
            *(
                (figures[1 + place], book.of_stage(place), stage.points)
                for place, stage in enumerate(STAGES)
            ),
        ]:
            # The same tenths as numpy's, but for scores that rounding puts on an edge.
            bins = np.histogram(scores / most, 10, (0, 1))[0]
            assert figure.endswith(": " + ", ".join(map(str, bins)))

    def test_captions_tell_mean_deviation_and_quartiles(self, page: Page, book: Book) -> None:
        told = " ".join(page.texts["scores"].split())
        for scores, most in [
            (book.scores, 100),
            *((book.of_stage(place), stage.points) for place, stage in enumerate(STAGES)),
        ]:
            first, median, third = np.percentile(scores, [25, 50, 75])
            deviation = f" (deviation {scores.std(ddof=1):.1f})" if len(scores) > 1 else ""
            assert (
                f"mean {scores.mean():.1f} of {most}{deviation}; median {median:g}, middle half"
                f" {first:g} to {third:g}, all {scores.min():g} to {scores.max():g}" in told
            )

    def test_bars_are_the_share_of_who_kept_all_points(self, page: Page, book: Book) -> None:
        passed = (book.items >= book.most).mean(0)
        at = 0
        assert len(page.figures["criteria"]) == len(STAGES)
        for stage, figure in zip(STAGES, page.figures["criteria"], strict=True):
            for criterion in stage.criteria:
                assert f"{criterion.id} {passed[at]:.0%}" in figure
                at += 1


class TestItems:
    def test_difficulty_and_discrimination_are_numpy_s(self, page: Page, book: Book) -> None:
        rows = page.table("criteria")
        passed = book.items >= book.most
        assert len(rows) == book.items.shape[1]
        for at, row in enumerate(rows):
            rest = book.items.sum(1) - book.items[:, at]
            varies = passed[:, at].std() > 0 and rest.std() > 0
            told = (
                f"{np.corrcoef(passed[:, at], rest)[0, 1]:.2f}"
                if varies and len(passed) >= FEW
                else "–"
            )
            assert row[2:6] == [
                f"{book.most[at]}",
                f"{passed[:, at].mean() * 100:.0f}%",
                f"{(book.items[:, at].mean() / book.most[at]):.2f}",
                told,
            ]

    def test_alpha_is_told_where_the_class_is_large_enough(self, page: Page, book: Book) -> None:
        if len(book.items) < FEW:
            assert "Cronbach" not in page.texts["criteria"]
            return
        parts, total = book.items.var(0, ddof=1).sum(), book.items.sum(1).var(ddof=1)
        count = book.items.shape[1]
        alpha = count / (count - 1) * (1 - parts / total)
        assert f"(Cronbach's alpha): {alpha:.2f}." in page.texts["criteria"]

    def test_small_classes_are_warned(self, page: Page, book: Book) -> None:
        told = page.texts["criteria"]
        assert ("that takes 10 or more" in told) == (len(book.items) < FEW)
        assert ("A small class" in told) == (FEW <= len(book.items) < ENOUGH)


class TestMistakes:
    def test_each_has_its_count_and_its_students_most_common_first(
        self, page: Page, book: Book
    ) -> None:
        rows = page.table("misconceptions")
        expected = book.named()
        assert [int(row[2]) for row in rows] == sorted(map(len, expected.values()), reverse=True)
        for row in rows:
            students = expected[row[0].split()[-1]]
            assert int(row[2]) == len(students)
            for student in students:
                assert student in row[3]

    def test_titles_are_those_of_the_catalogue_where_they_are_known(
        self, class_of: ClassOf
    ) -> None:
        rows = Page((class_of(30) / "class.html").read_text()).table("misconceptions")
        assert "no mask in force no-mask" in [row[0] for row in rows]

    def test_who_shares_an_unknown_one_is_grouped(self, page: Page, book: Book) -> None:
        expected = [
            record.result.submission
            for record in book.records
            if record.result.submission.startswith(("nora", "omar"))
        ]
        alone = [
            record.result.submission
            for record in book.records
            if record.result.submission.startswith("sven")
        ]
        groups = [each for each in (expected, alone) if len(each) > 1]
        rows = page.table("unexplained")
        assert [int(row[1]) for row in rows] == [len(group) for group in groups]
        for row, group in zip(rows, groups, strict=True):
            assert row[0] == "MultiHeadAttention"
            for student in group:
                assert student in row[2]

    def test_what_hung_or_crashed_is_told(self, page: Page, book: Book) -> None:
        expected = {
            result.submission
            for result in book.results
            for stage in result.stages
            for criterion in stage.criteria
            for share in criterion.shares
            if share.status in ("timeout", "killed", "error")
        }
        rows = page.table("ended")
        assert {row[0] for row in rows} == expected
        for row in rows:
            if row[0].startswith("milan"):
                assert row[1] == "masked_weights took too long"

    def test_what_could_not_be_read_is_told(self, page: Page, book: Book) -> None:
        unread = [result.submission for result in book.results if result.status == "error"]
        assert ("Could not be read" in page.texts[""]) == bool(unread)
        for name in unread:
            assert name in page.texts[""]


class TestStudents:
    def test_each_has_a_line_with_scores(self, page: Page, book: Book) -> None:
        rows = page.table("students")
        assert len(rows) == len(book.results)
        for row, result in zip(rows, book.results, strict=True):
            assert row[0] == result.submission
            scores = [f"{stage.score:g}" for stage in result.stages] or ["–"] * len(STAGES)
            assert row[1:5] == scores
            assert row[5] == f"{result.score:g}"
            assert row[6] == (result.status or "graded")
            assert row[7] == ", ".join(named(result))

    def test_links_lead_to_pages_that_are_there(
        self, page: Page, book: Book, class_of: ClassOf, size: int
    ) -> None:
        links = page.links["students"]
        assert len(links) == len(book.results)
        for link, result in zip(links, book.results, strict=True):
            path = unquote(link)
            assert path == f"students/{file_name(result.submission)}/feedback.html"
            assert (class_of(size) / path).is_file()


class TestPage:
    def test_it_is_well_formed(self, page: Page) -> None:
        assert page.open == []

    def test_it_needs_no_network(self, text: str) -> None:
        assert not re.search(r"(src|href|url)\s*[=(]\s*[\"']?(https?:)?//", text)
        assert "<link" not in text
        assert "@import" not in text

    def test_only_its_own_script_may_run(self, page: Page, text: str) -> None:
        assert page.tags["script"] == 1
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
        assert policy is not None
        assert "default-src 'none'" in policy[1]
        assert "script-src &#39;sha256-" in policy[1] or "script-src 'sha256-" in policy[1]
        assert "unsafe-inline" not in policy[1].partition("script-src")[2]

    def test_a_class_of_500_is_small_enough_to_mail(self, class_of: ClassOf) -> None:
        assert (class_of(500) / "class.html").stat().st_size < 5_000_000

    def test_the_same_gradebook_gives_the_same_bytes(self, class_of: ClassOf) -> None:
        with Gradebook(class_of(30)) as book:
            run = book.last_run()
            assert run is not None
            graded = [Graded(each.result, read_details(each.details)) for each in book.records(run)]
        again = class_page(graded, STAGES, ASSIGNMENT)
        assert again == (class_of(30) / "class.html").read_text()


class TestChangedByHand:
    def page(self, *adjustments: Adjustment) -> Page:
        result = graded("ada")
        return Page(class_page([Graded(result)], STAGES[2:3], ASSIGNMENT, adjustments))

    def test_figures_are_of_the_scores_that_count(self, class_of: ClassOf) -> None:
        book = Book(class_of(30))
        first = book.results[0]
        stage = first.stages[0]
        change = Adjustment(first.submission, stage.id, stage.criteria[0].id, 0.0, "no")
        graded = [Graded(result) for result in book.results]
        page = Page(class_page(graded, STAGES, ASSIGNMENT, [change]))
        book.scores[0] -= stage.criteria[0].score
        assert f"mean {book.scores.mean():.1f} of 100" in page.texts[""]

    def test_changes_are_told_apart_with_reason(self) -> None:
        change = Adjustment("ada", "causal", "masking", 7.0, "read <b>by</b> me")
        page = self.page(change)
        assert page.table("changes") == [["ada", "causal/masking", "4", "7", "read <b>by</b> me"]]
        assert page.table("students")[0][2] == "7*"
        assert page.tags["b"] == 0

    def test_without_any_there_is_no_section(self) -> None:
        assert "changes" not in self.page().rows


class TestSimilarity:
    def page(self, similar: list[Pair] | None) -> Page:
        return Page(class_page([Graded(graded("ada"))], STAGES[2:3], ASSIGNMENT, similar=similar))

    def test_it_is_off_unless_asked_for(self) -> None:
        assert "similar" not in self.page(None).texts

    def test_pairs_come_with_the_words_that_they_are_no_verdict(self) -> None:
        page = self.page([Pair("ada", "bob", 0.9, 0.5, 400)])
        assert "a place to look, not a verdict" in page.texts["similar"]
        assert page.table("similar") == [["ada, bob", "90%", "50%", "400"]]

    def test_no_pairs_are_told_too(self) -> None:
        assert "No two submissions are more alike" in self.page([]).texts["similar"]


def graded(name: str) -> Result:
    from autograder.results.result import CriterionResult, StageResult

    criterion = CriterionResult("masking", "No peeking", 4.0, 9.0, "failed", "", ("no-mask",), ())
    stage = StageResult("causal", "Causal attention", 4.0, 9.0, (criterion,))
    return Result(1, name, "d", "attention", 4.0, 9.0, (stage,), ())


HOSTILE = ("<script>alert(1)</script>", "\"><img src=x onerror='alert(1)'>", "{{ 7 * 7 }}", "$x^2$")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text_everywhere(name: str) -> None:
    result = graded(name)
    stage = result.stages[0]
    criterion = msgspec.structs.replace(stage.criteria[0], misconceptions=(name,))
    stage = msgspec.structs.replace(stage, criteria=(criterion,))
    result = msgspec.structs.replace(result, stages=(stage,))
    details = msgspec.json.decode(
        msgspec.json.encode({"titles": {name: name}, "fingerprints": {name: [{"raised": name}]}})
    )
    both = [
        Graded(each, read_details(msgspec.json.encode(details)))
        for each in (result, msgspec.structs.replace(result, submission=name + "2"))
    ]
    change = Adjustment(name, "causal", "masking", 1.0, name)
    text = class_page(
        both, STAGES[2:3], ASSIGNMENT, [change], [Pair(name, name + "2", 1.0, 1.0, 300)]
    )
    page = Page(text)
    assert page.tags["script"] == 1
    assert page.tags["img"] == 0
    assert page.open == []
    for section in ("misconceptions", "unexplained", "similar", "changes", "students"):
        assert name in page.texts[section]
    for control in "\x1b\x00":
        assert control not in text
