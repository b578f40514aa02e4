"""Both pages in a real browser: clicks, search, dark and light, paper, a narrow screen, no network.

Any Chromium that is found will do; without one these tests are skipped. What a page says is
tested elsewhere, and always.
"""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Browser, Error, Page, sync_playwright

from autograder.gradebook.class_analysis import Graded
from autograder.grading.result_files import write_class, write_student
from autograder.results.details import AttentionSeen, Details, HeadWeights, Matrix
from autograder.results.result import CriterionResult, Result, StageResult
from tests.conftest import ASSIGNMENT

PATIENCE = 300_000  # milliseconds until a busy machine is taken for a broken one
pytestmark = pytest.mark.proof
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
STAGES = ASSIGNMENT.stages[2:3]
HOSTILE = "<img src=x onerror=document.title='owned'>"
WORDS = ("Your", "journey", "starts", "with", "one", "step")

ClassOf = Callable[[int], Path]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    with sync_playwright() as playwright:
        path = found or playwright.chromium.executable_path
        if not Path(path).exists():
            pytest.skip(f"no Chromium here: none of {', '.join(CHROMIUMS)}, nor playwright's own")
        try:
            held = playwright.chromium.launch(executable_path=path, chromium_sandbox=False)
        except Error as error:
            pytest.skip(f"{path} does not start: {error}")
        yield held
        held.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that fails the test for whatever it asks of the network or complains about."""
    context = browser.new_context(viewport={"width": 1100, "height": 900})
    context.set_default_timeout(PATIENCE)
    held = context.new_page()
    asked: list[str] = []
    told: list[str] = []
    held.on("request", lambda request: asked.append(request.url))
    held.on("console", lambda message: told.append(message.text))
    held.on("pageerror", lambda error: told.append(str(error)))
    yield held
    context.close()
    assert [url for url in asked if not url.startswith("file:")] == []
    assert told == []


def graded(name: str, score: float = 4.0) -> Result:
    criterion = CriterionResult(
        "masking", "No token looks ahead", score, 9.0, "failed", f"Mask it. {HOSTILE}", (), ()
    )
    stage = StageResult("causal", "Causal attention", score, 9.0, (criterion,))
    return Result(1, name, "d", "attention", score, 9.0, (stage,), (HOSTILE,))


def weights() -> AttentionSeen:
    """A mask that starts one late, and a row of no numbers."""
    size = range(len(WORDS))
    right: Matrix = tuple(tuple((column <= row) / (row + 1) for column in size) for row in size)
    found: Matrix = tuple(
        tuple((column <= row + 1) / min(row + 2, 6) if row else None for column in size)
        for row in size
    )
    head = HeadWeights(found, right)
    return AttentionSeen("CausalAttention", "causal", WORDS, (head, head), causal=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class of two, one of them hostile, with pictures of attention."""
    place = tmp_path_factory.mktemp("pages")
    both = [
        Graded(graded("ada"), Details(attention=(weights(),))),
        Graded(graded(HOSTILE, 9.0), Details(titles={HOSTILE: HOSTILE})),
    ]
    for entry in both:
        write_student(place, entry, STAGES, ASSIGNMENT)
    write_class(place, both, STAGES, ASSIGNMENT)
    return place


def seen(page: Page, column: str) -> list[str]:
    """The texts of a column of the table as they are seen, in order."""
    page.locator("#students").scroll_into_view_if_needed()  # what is far away is not laid out
    page.evaluate("new Promise(d => requestAnimationFrame(() => requestAnimationFrame(d)))")
    return page.locator(f"#table tbody tr:visible {column}").all_inner_texts()


def students(page: Page) -> list[str]:
    return seen(page, "th")


def scores(page: Page) -> list[float]:
    return [float(text) for text in seen(page, "td:nth-child(6)")]


class TestSortingAndSearching:
    @pytest.fixture
    def opened(self, page: Page, class_of: ClassOf) -> Page:
        page.goto((class_of(30) / "class.html").as_uri())
        return page

    def test_a_click_on_a_heading_sorts_and_another_turns_around(self, opened: Page) -> None:
        heading = opened.get_by_role("button", name="score /100")
        heading.click()
        assert scores(opened) == sorted(scores(opened))
        assert opened.locator("#table th[aria-sort=ascending]").inner_text().startswith("score")
        heading.click()
        assert scores(opened) == sorted(scores(opened), reverse=True)
        assert len(scores(opened)) == 30

    def test_names_are_sorted_as_names(self, opened: Page) -> None:
        before = students(opened)
        assert before[0] == "ada 000"
        heading = opened.get_by_role("button", name="Student", exact=True)
        heading.click()  # it is sorted up already
        assert students(opened) == sorted(before, reverse=True)
        heading.click()
        assert students(opened) == before

    def test_a_heading_can_be_reached_and_pressed_by_keyboard(self, opened: Page) -> None:
        opened.get_by_role("button", name="score /100").focus()
        opened.keyboard.press("Enter")
        assert scores(opened) == sorted(scores(opened))

    def test_searching_hides_who_does_not_fit_and_counts(self, opened: Page) -> None:
        opened.get_by_label("Search").fill("no-MASK")
        assert all(name.startswith("farid") for name in students(opened))
        assert opened.locator("#count").inner_text() == f"{len(students(opened))} of 30"
        opened.get_by_label("Search").fill("nobody has this")
        assert students(opened) == []
        opened.get_by_label("Search").fill("")
        assert len(students(opened)) == 30
        assert opened.locator("#count").inner_text() == ""

    def test_what_is_searched_for_stays_hidden_when_sorted(self, opened: Page) -> None:
        opened.get_by_label("Search").fill("ada")
        few = students(opened)
        opened.get_by_role("button", name="score /100").click()
        assert sorted(students(opened)) == sorted(few)

    def test_a_student_s_name_leads_to_the_feedback(self, opened: Page) -> None:
        opened.locator("#table").get_by_text("kofi 010").click()
        assert "students/kofi%20010/feedback.html" in opened.url
        assert "kofi 010: 95 of 100 points" in opened.inner_text("body")

    def test_many_students_of_a_mistake_unfold(self, page: Page, class_of: ClassOf) -> None:
        page.goto((class_of(500) / "class.html").as_uri())
        cell = page.locator("#misconceptions details").first
        assert not cell.locator("a").first.is_visible()
        cell.locator("summary").click()
        assert cell.locator("a").first.is_visible()

    def test_a_class_of_500_sorts_too(self, page: Page, class_of: ClassOf) -> None:
        page.goto((class_of(500) / "class.html").as_uri())
        page.get_by_role("button", name="score /100").click()
        assert scores(page) == sorted(scores(page))
        assert len(scores(page)) == 500


def luminance(colour: list[float]) -> float:
    """Relative luminance as WCAG 2 has it."""
    parts = [part / 255 for part in colour[:3]]
    linear = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: list[float], other: list[float]) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


COLOUR = """(selector, property) => {
    const found = document.querySelector(selector);
    const told = getComputedStyle(found)[property];
    return told.match(/[\\d.]+/g).map(Number);
}"""


class TestColours:
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_text_can_be_read(self, page: Page, folder: Path, scheme: str) -> None:
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.goto((folder / "students" / "ada" / "feedback.html").as_uri())
        paper = page.evaluate(f"({COLOUR})('body', 'backgroundColor')")
        assert (luminance(paper) > 0.5) == (scheme == "light")
        for selector, name in [
            ("body", "color"),
            (".quiet", "color"),
            (".lost", "color"),
            (".heatmap .weight", "fill"),
            (".heatmap .sum.odd", "fill"),
        ]:
            ink = page.evaluate(f"({COLOUR})({selector!r}, {name!r})")
            assert contrast(ink, paper) >= 4.5, selector

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_numbers_can_be_read_on_the_darkest_cell(
        self, page: Page, folder: Path, scheme: str
    ) -> None:
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.goto((folder / "students" / "ada" / "feedback.html").as_uri())
        paper = page.evaluate(f"({COLOUR})('body', 'backgroundColor')")
        ink = page.evaluate(f"({COLOUR})('.heatmap .weight', 'fill')")
        shade = page.evaluate(f"({COLOUR})('.heatmap .shade', 'fill')")
        opacity = page.evaluate(
            "Math.max(...Array.from(document.querySelectorAll('.shade'))"
            ".map((each) => Number(each.getAttribute('fill-opacity'))))"
        )
        mixed = [
            opacity * over + (1 - opacity) * under
            for over, under in zip(shade[:3], paper[:3], strict=True)
        ]
        assert contrast(ink, mixed) >= 4.5

    def test_a_page_looks_otherwise_in_the_dark(self, page: Page, folder: Path) -> None:
        page.goto((folder / "class.html").as_uri())
        light = page.screenshot()
        page.emulate_media(color_scheme="dark")
        assert page.screenshot() != light


class TestLayout:
    @pytest.mark.parametrize("name", ["class.html", "students/ada/feedback.html"])
    @pytest.mark.parametrize("width", [1100, 390])
    def test_nothing_hangs_over_the_edge(
        self, page: Page, folder: Path, name: str, width: int
    ) -> None:
        page.set_viewport_size({"width": width, "height": 800})
        page.goto((folder / name).as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    def test_found_stands_beside_expected_where_there_is_room(
        self, page: Page, folder: Path
    ) -> None:
        page.goto((folder / "students" / "ada" / "feedback.html").as_uri())
        found, expected = (page.locator(".pair svg").nth(place).bounding_box() for place in (0, 1))
        assert found is not None
        assert expected is not None
        assert found["y"] == expected["y"]
        assert found["x"] + found["width"] <= expected["x"]

    def test_words_and_sums_are_inside_their_picture(self, page: Page, folder: Path) -> None:
        page.goto((folder / "students" / "ada" / "feedback.html").as_uri())
        outside = page.evaluate(
            """() => Array.from(document.querySelectorAll("svg.heatmap text")).filter((text) => {
                const inner = text.getBoundingClientRect();
                const outer = text.closest("svg").getBoundingClientRect();
                return inner.left < outer.left - 1 || inner.right > outer.right + 1
                    || inner.top < outer.top - 1;
            }).map((text) => text.textContent)"""
        )
        assert outside == []

    def test_on_paper_there_is_nothing_to_click(self, page: Page, folder: Path) -> None:
        page.goto((folder / "class.html").as_uri())
        page.emulate_media(media="print")
        assert not page.locator("nav").is_visible()
        assert not page.locator("#search").is_visible()
        assert page.locator("#table").is_visible()

    def test_on_paper_every_list_is_unfolded_and_then_folded_again(
        self, page: Page, class_of: ClassOf
    ) -> None:
        page.goto((class_of(500) / "class.html").as_uri())
        name = page.locator("#misconceptions details a").first
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert name.is_visible()
        page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert not name.is_visible()


class TestHostileText:
    @pytest.mark.parametrize("name", ["class.html", "students/ada/feedback.html"])
    def test_it_is_seen_and_does_nothing(self, page: Page, folder: Path, name: str) -> None:
        page.goto((folder / name).as_uri())
        assert page.locator("img").count() == 0
        assert page.title() != "owned"
        assert HOSTILE in page.inner_text("body")

    def test_a_hostile_name_leads_to_its_page(self, page: Page, folder: Path) -> None:
        page.goto((folder / "class.html").as_uri())
        page.locator("#table").get_by_text(HOSTILE).click()
        assert f"{HOSTILE}: 9 of 9 points" in page.inner_text("body")

    def test_a_script_that_got_in_would_not_run(self, page: Page, folder: Path) -> None:
        """The policy of the page is a second wall behind the escaping."""
        text = (folder / "class.html").read_text()
        broken = folder / "broken.html"
        broken.write_text(text.replace("</h1>", "</h1><script>document.title='owned'</script>"))
        context = page.context.browser
        assert context is not None
        other = context.new_page()  # this one may complain
        other.goto(broken.as_uri())
        assert other.title() != "owned"
        assert other.locator("#search").is_visible()
        other.close()
        broken.unlink()


def test_the_pictures_are_the_same_as_in_the_gradebook(page: Page, folder: Path) -> None:
    page.goto((folder / "students" / "ada" / "feedback.html").as_uri())
    head = weights().heads[0]
    texts = page.locator(".pair svg").first.locator(".weight").all_text_contents()
    expected = [
        "–" if weight is None else "·" if weight == 0 else f"{weight:.2f}".removeprefix("0")
        for row in head.found
        for weight in row
    ]
    assert texts == expected
    assert msgspec.json.decode(msgspec.json.encode(head), type=HeadWeights) == head
