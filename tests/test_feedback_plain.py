"""Students' text cannot steer a terminal, a spreadsheet or a file system."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.feedback.plain import FORMULA_STARTS, file_name, one_line, plain, spreadsheet_cell


@pytest.mark.parametrize("code", ["\x1b[31m", "\x07", "\x00", "\x9b2J", "\u202e", "\u2028", "\r"])
def test_control_codes_are_taken_out(code: str) -> None:
    assert not set(plain(f"a{code}b")) & set("\x1b\x07\x00\x9b\u202e\u2028\r")


def test_text_of_any_language_stays() -> None:
    assert plain("naïve 注意 → ok\n\tnext") == "naïve 注意 → ok\n\tnext"


def test_one_line_has_no_breaks() -> None:
    assert one_line("a\n b\t\tc \r\n") == "a b c \N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "|cmd", "%0A", "  =1+1", "\n=1+1", "=HYPERLINK(1)"]
)
def test_a_formula_becomes_text(text: str) -> None:
    assert spreadsheet_cell(text).startswith("'")


def test_an_ordinary_cell_stays() -> None:
    assert spreadsheet_cell("Ada Lovelace") == "Ada Lovelace"


@given(st.text())
def test_no_cell_starts_like_a_formula(text: str) -> None:
    assert not spreadsheet_cell(text).startswith(FORMULA_STARTS)


@pytest.mark.parametrize("name", ["ada", "Ada Lovelace", "zoë", "a.b-c_d", "李"])
def test_a_name_is_its_folders_name(name: str) -> None:
    assert file_name(name) == name


@pytest.mark.parametrize(
    ("name", "folder"), [("..", "_.."), (".", "_."), ("", "_"), ("a/b", "a_b"), ("a\0b", "a_b")]
)
def test_a_name_cannot_leave_its_place(name: str, folder: str) -> None:
    assert file_name(name) == folder


def test_long_names_stay_apart() -> None:
    first, second = file_name("李" * 200 + "a"), file_name("李" * 200 + "b")
    assert first != second
    assert len(first.encode()) <= 150


@given(st.text())
def test_every_name_is_one_part_of_a_path(name: str) -> None:
    folder = file_name(name)
    assert folder not in ("", ".", "..")
    assert not set(folder) & {"/", "\\", "\0"}
