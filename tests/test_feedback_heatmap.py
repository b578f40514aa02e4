"""Pictures of attention weights: right cells, marks that say why, and nothing but valid markup."""

import io
import math
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from autograder.feedback.heatmap import Grid, Remark, caption, grids, number_in_words, remarks
from autograder.feedback.heatmap_blocks import attention_blocks
from autograder.feedback.heatmap_svg import heatmap_svg
from autograder.results.details import AttentionSeen, Details, HeadWeights, Matrix, read_details

WORDS = ("every", "word", "counts")
RIGHT: Matrix = ((1.0, 0.0, 0.0), (0.4, 0.6, 0.0), (0.2, 0.3, 0.5))


def seen(found: Matrix, expected: Matrix = RIGHT, **options: object) -> AttentionSeen:
    head = HeadWeights(found, expected)
    return msgspec.structs.replace(
        AttentionSeen("CausalAttention", "causal", WORDS, (head,), causal=True), **options
    )


def found_in(picture: AttentionSeen) -> Grid:
    return grids(picture, numbers=False)[0][0]


def said(picture: AttentionSeen) -> tuple[Remark, ...]:
    return remarks(grids(picture, numbers=False))


def marks(picture: AttentionSeen) -> list[list[str]]:
    return [[cell.mark for cell in row.cells] for row in found_in(picture).rows]


def blocks(picture: AttentionSeen, width: int = 80, *, numbers: bool = False) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, markup=False, emoji=False, highlight=False)
    console.print(attention_blocks(picture, numbers=numbers))
    return file.getvalue()


class TestMarks:
    def test_right_weights_have_none(self) -> None:
        assert marks(seen(RIGHT)) == [[""] * 3] * 3
        assert said(seen(RIGHT)) == ()

    def test_weight_on_a_later_word_is_a_leak(self) -> None:
        leaky = ((0.7, 0.3, 0.0), *RIGHT[1:])
        assert marks(seen(leaky))[0] == ["differs", "leak", ""]
        assert [(each.mark, each.text) for each in said(seen(leaky))] == [
            ("leak", "1 weight on words that come later: they must be 0"),
            ("differs", "1 weight that differs from what is expected"),
        ]

    def test_without_a_mask_there_is_no_leak(self) -> None:
        leaky = ((0.7, 0.3, 0.0), *RIGHT[1:])
        assert marks(seen(leaky, causal=False))[0] == ["differs", "differs", ""]

    def test_a_weight_that_is_no_number_is_told_apart(self) -> None:
        odd = ((None, None, 0.0), *RIGHT[1:])
        assert marks(seen(odd))[0] == ["nan", "nan", ""]
        assert said(seen(odd))[0].text == "2 weights that are no finite number"

    def test_what_should_be_no_number_and_is_none_is_right(self) -> None:
        odd = ((None, 0.0, 0.0), *RIGHT[1:])
        assert marks(seen(odd, odd)) == [[""] * 3] * 3

    def test_what_looks_the_same_is_not_marked(self) -> None:
        near = ((1.0, 0.0, 0.0), (0.404, 0.596, 0.0), RIGHT[2])
        assert marks(seen(near)) == [[""] * 3] * 3

    @pytest.mark.parametrize(
        ("row", "total", "whole"),
        [
            ((0.4, 0.6, 0.0), "1", True),
            ((0.4, 0.5, 0.0), ".90", False),
            ((0.7, 0.6, 0.0), "1.30", False),
            ((None, 0.6, 0.0), "–", False),
        ],
    )
    def test_rows_that_do_not_sum_to_one_say_so(
        self, row: tuple[float | None, ...], total: str, whole: bool
    ) -> None:
        picture = seen((RIGHT[0], row, RIGHT[2]))
        told = found_in(picture).rows[1]
        assert (told.total, told.sums_to_one) == (total, whole)
        assert any(each.mark == "sum" for each in said(picture)) is not whole

    def test_a_mask_is_no_share_out(self) -> None:
        mask = ((0.0, 1.0, 1.0), (0.0, 0.0, 1.0), (0.0, 0.0, 0.0))
        picture = seen(RIGHT, mask, shares=False, causal=False)
        assert [row.total for row in found_in(picture).rows] == ["", "", ""]
        assert not any(each.mark == "sum" for each in said(picture))

    def test_marks_of_all_heads_count(self) -> None:
        head = HeadWeights(((0.0, 1.0, 0.0), *RIGHT[1:]), RIGHT)
        assert said(seen(RIGHT, heads=(head, head)))[0].text.startswith("2 weights on words")


class TestNumbers:
    @pytest.mark.parametrize(
        ("value", "words"),
        [
            (0.0, "·"),
            (0.004, "·"),
            (0.14, ".14"),
            (-0.14, "-.14"),
            (0.999, "1"),
            (1.3, "1.30"),
            (-2.5, "-2.50"),
            (12.4, "12"),
            (-123456.0, "-1e+05"),
            (1e300, "1e+300"),
            (None, "–"),
        ],
    )
    def test_they_are_short(self, value: float | None, words: str) -> None:
        assert number_in_words(value) == words

    @given(st.floats(allow_nan=False, allow_infinity=False))
    def test_however_large_they_fit_a_cell(self, value: float) -> None:
        assert 1 <= len(number_in_words(value)) <= 7


class TestPolicy:
    def expected(self, *, numbers: bool) -> Grid:
        return grids(seen(RIGHT), numbers=numbers)[0][1]

    def test_expected_numbers_are_written_only_where_they_may_be(self) -> None:
        written = [cell.text for cell in self.expected(numbers=True).rows[1].cells]
        assert written == [".40", ".60", "·"]
        assert [cell.text for cell in self.expected(numbers=False).rows[1].cells] == ["", "", "·"]

    def test_without_numbers_shades_are_coarse(self) -> None:
        fine = ((1.0, 0.0, 0.0), (0.4321, 0.5679, 0.0), RIGHT[2])
        cells = grids(seen(RIGHT, fine), numbers=False)[0][1].rows[1].cells
        assert [cell.shade for cell in cells] == [0.4, 0.6, 0.0]

    def test_no_expected_number_is_in_what_is_drawn(self) -> None:
        fine = ((1.0, 0.0, 0.0), (0.4321, 0.5679, 0.0), RIGHT[2])
        expected = grids(seen(RIGHT, fine), numbers=False)[0][1]
        assert ".43" not in heatmap_svg(expected)
        assert ".57" not in heatmap_svg(expected)
        assert ".43" not in blocks(seen(RIGHT, fine))
        assert ".43" in blocks(seen(RIGHT, fine), numbers=True)


class TestSvg:
    def test_every_weight_and_word_is_text_in_it(self) -> None:
        found = ((0.7, 0.3, 0.0), *RIGHT[1:])
        tree = ElementTree.fromstring(heatmap_svg(found_in(seen(found))))
        texts = [each.text for each in tree.iter("text")]
        assert texts[:3] == list(WORDS)
        assert texts[3:8] == ["every", ".70", ".30", "·", "Σ 1"]

    def test_each_mark_has_a_shape_of_its_own(self) -> None:
        found = ((0.7, 0.3, 0.0), (None, 0.6, 0.0), RIGHT[2])
        tree = ElementTree.fromstring(heatmap_svg(found_in(seen(found))))
        kinds = [each.get("class") for each in tree]
        for kind in ("leak", "corner", "differs", "nan", "struck"):
            assert kinds.count(kind) == 1

    def test_it_is_told_to_who_cannot_see_it(self) -> None:
        tree = ElementTree.fromstring(heatmap_svg(found_in(seen(RIGHT))))
        assert tree.get("role") == "img"
        assert tree.get("aria-label") == (
            "found. every: 1 · ·, sum 1; word: .40 .60 ·, sum 1; counts: .20 .30 .50, sum 1"
        )

    def test_words_are_escaped(self) -> None:
        picture = seen(RIGHT, tokens=("<script>", '"&', "a'b"))
        svg = heatmap_svg(found_in(picture))
        assert "<script" not in svg
        words = [each.text for each in ElementTree.fromstring(svg).iter("text")]
        assert words[:3] == ["<script>", '"&', "a'b"]

    def test_nothing_is_drawn_for_nothing(self) -> None:
        ElementTree.fromstring(heatmap_svg(found_in(seen((), ()))))


numbers = st.none() | st.floats(allow_nan=False, allow_infinity=False)
matrices = st.lists(st.lists(numbers, max_size=7).map(tuple), max_size=7).map(tuple)
words = st.lists(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc"])))


@given(
    found=matrices,
    expected=matrices,
    tokens=words.map(tuple),
    causal=st.booleans(),
    shares=st.booleans(),
    told=st.booleans(),
)
def test_any_matrix_gives_valid_markup_and_blocks(
    found: Matrix,
    expected: Matrix,
    tokens: tuple[str, ...],
    causal: bool,
    shares: bool,
    told: bool,
) -> None:
    picture = seen(found, expected, tokens=tokens, causal=causal, shares=shares)
    for pair in grids(picture, numbers=told):
        for grid in pair:
            svg = heatmap_svg(grid).replace("￾", "").replace("￿", "")  # no characters of XML
            tree = ElementTree.fromstring(svg)
            assert {each.tag for each in tree.iter()} <= {"svg", "text", "rect", "path"}
            for rect in tree.iter("rect"):
                opacity = float(rect.get("fill-opacity", "0"))
                assert 0 <= opacity <= 1
    assert blocks(picture, numbers=told)


class TestBlocks:
    def test_found_stands_beside_expected_in_eighty_columns(self) -> None:
        words = ("Your", "journey", "starts", "with", "one", "step")
        size = range(6)
        found = tuple(tuple(0.5 if column <= row + 1 else 0.0 for column in size) for row in size)
        right = tuple(tuple(1 / (row + 1) * (column <= row) for column in size) for row in size)
        text = blocks(seen(found, right, tokens=words))
        first = next(line for line in text.splitlines() if "Your" in line)
        assert first.count("Your") == 2
        assert max(map(len, text.splitlines())) <= 80

    def test_marks_are_characters_and_explained(self) -> None:
        text = blocks(seen(((0.7, 0.3, 0.0), (None, 0.6, 0.0), RIGHT[2])))
        for told in (".70*", ".30!", "–?", "Σ – ≠ 1"):
            assert told in text
        assert "!  1 weight on words that come later" in text

    def test_what_is_drawn_is_named(self) -> None:
        assert blocks(seen(RIGHT)).startswith("CausalAttention: how much each word (row) attends")
        assert "instead of weights" in caption(seen(RIGHT, sure=False))


class TestDetails:
    def test_pictures_survive_the_gradebook(self) -> None:
        details = Details(attention=(seen(((None, 0.5, 0.5), *RIGHT[1:])),))
        assert read_details(msgspec.json.encode(details)) == details

    def test_numbers_that_are_none_become_none(self) -> None:
        told = msgspec.json.encode({"attention": [seen(((math.nan, math.inf, 0.0),))]})
        assert read_details(told).attention[0].heads[0].found == ((None, None, 0.0),)

    @pytest.mark.parametrize("data", [b"", b"details", b"{}", b'{"standings": 3}', b"\xff"])
    def test_what_cannot_be_read_is_nothing(self, data: bytes) -> None:
        assert read_details(data) == Details()

    def test_a_part_that_cannot_be_read_costs_nothing_but_itself(self) -> None:
        told = b'{"titles": {"a": "b"}, "fingerprints": {"softmax": [0.5]}, "attention": 3}'
        assert read_details(told) == Details(titles={"a": "b"})

    def test_parts_of_a_later_kit_are_passed_over(self) -> None:
        assert read_details(b'{"titles": {"a": "b"}, "new": 1}') == Details(titles={"a": "b"})
