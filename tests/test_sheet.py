"""`autograder.submissions.sheet`: one cell is written, every other byte stays."""

import csv
import io
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.errors import UsageError
from autograder.submissions.sheet import Sheet, written

CANVAS = (
    '\ufeffStudent,ID,"Homework 1, part A (5567)",Final Score\r\n'
    "    Points Possible,,10,(read only)\r\n"
    '"García Márquez, Gabriel ""Gabo""",4021,,\r\n'
    "Ngũgĩ,4022,7.50,x\r\n"
)


def sheet(text: str, encoding: str = "utf-8") -> Sheet:
    return Sheet(text.encode(encoding), "grades.csv")


class TestReading:
    def test_cells_are_what_csv_says(self) -> None:
        found = sheet(CANVAS)
        assert found.header == ("Student", "ID", "Homework 1, part A (5567)", "Final Score")
        assert [found.text(row, 0) for row in found.rows] == [
            "Points Possible",
            'García Márquez, Gabriel "Gabo"',
            "Ngũgĩ",
        ]

    def test_columns_are_found_whatever_their_case(self) -> None:
        assert sheet(CANVAS).column("sis id", "id") == 1
        assert sheet(CANVAS).column("login") is None

    @pytest.mark.parametrize("delimiter", [",", ";", "\t"])
    def test_the_delimiter_is_the_headers(self, delimiter: str) -> None:
        text = f'"a,b;c"{delimiter}d{delimiter}e\n1{delimiter}2{delimiter}3\n'
        assert sheet(text).delimiter == delimiter
        assert sheet(text).text(1, 2) == "3"

    def test_a_row_that_is_too_short_has_empty_cells(self) -> None:
        assert sheet("a,b\n1\n").text(1, 1) == ""

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
    def test_encodings_are_told_apart(self, encoding: str) -> None:
        assert sheet("name,n\nJosé,1\n", encoding).text(1, 0) == "José"

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "empty"),
            ('a,b\n"1,2\n', "quote"),
        ],
    )
    def test_what_is_no_csv_is_refused_by_name(self, text: str, message: str) -> None:
        with pytest.raises(UsageError, match=f"grades.csv.*{message}"):
            sheet(text)

    def test_a_file_that_is_not_there_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="no.csv: cannot be read"):
            Sheet.read(tmp_path / "no.csv")


class TestWriting:
    def test_what_was_not_touched_keeps_its_bytes(self) -> None:
        found = sheet(CANVAS)
        found.put(2, 2, "8.5")
        assert found.encode() == CANVAS.replace("4021,,", "4021,8.5,").encode()

    def test_a_cell_in_quotes_stays_in_quotes(self) -> None:
        found = sheet('a,b\n"1","2"\n')
        found.put(1, 1, "3")
        assert found.encode() == b'a,b\n"1","3"\n'

    def test_text_that_needs_quotes_gets_them(self) -> None:
        found = sheet("a;b\n1;2\n")
        found.put(1, 1, 'x;"y"')
        assert found.encode() == b'a;b\n1;"x;""y"""\n'

    def test_a_short_row_is_filled_up_to_the_cell(self) -> None:
        found = sheet("a,b,c\n1\n")
        found.put(1, 2, "9")
        assert found.encode() == b"a,b,c\n1,,9\n"

    def test_a_new_column_moves_only_what_is_behind_it(self) -> None:
        found = sheet('a,"b"\n1,"2"\n\n3,4')
        found.insert(1, "new")
        found.put(1, 1, "x")
        assert found.encode() == b'a,new,"b"\n1,x,"2"\n\n3,,4'

    @pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
    def test_a_byte_order_mark_and_wide_letters_come_back(self, encoding: str) -> None:
        data = "\ufeffname\tn\nJosé\t1\n".encode(encoding)
        assert Sheet(data, "x").encode() == data

    def test_a_letter_that_the_encoding_lacks_is_no_error(self) -> None:
        found = sheet("name,n\nJosé,1\n", "cp1252")
        found.put(1, 1, "ngũgĩ")
        assert found.encode() == "name,n\nJosé,ng?g?\n".encode("cp1252")


cells = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff"), max_size=12
)
tables = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(cells, min_size=width, max_size=width), min_size=2, max_size=5
    ).filter(lambda rows: rows[0] != [""])
)


class TestAnyTable:
    @given(
        tables,
        st.sampled_from([",", ";", "\t"]),
        st.sampled_from(["\n", "\r\n"]),
        st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
        st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    )
    def test_reading_and_writing_again_gives_the_same_bytes(
        self, rows: list[list[str]], delimiter: str, end: str, quoting: Literal[0, 1], encoding: str
    ) -> None:
        text = io.StringIO()
        csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(rows)
        data = text.getvalue().encode(encoding)
        assert Sheet(data, "x").encode() == data

    @given(tables, cells.map(str.strip), st.data())
    def test_one_cell_is_changed_and_no_other(
        self, rows: list[list[str]], new: str, data: st.DataObject
    ) -> None:
        row = data.draw(st.integers(1, len(rows) - 1))
        column = data.draw(st.integers(0, len(rows[0]) - 1))
        header = [f"h{number}" for number in range(len(rows[0]))]
        rows = [header, *rows[1:]]
        found = Sheet(written(rows).encode(), "x")
        found.put(row, column, new)
        rows[row][column] = new
        again = csv.reader(io.StringIO(found.encode().decode(), newline=""))
        assert [each or [""] for each in again] == rows
