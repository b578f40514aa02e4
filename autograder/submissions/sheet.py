"""Somebody else's CSV file, in which single cells are filled in.

Every other byte stays as it was: encoding, byte order mark, delimiter, quotes, line ends. A cell's
text is what `csv` reads; its own characters are kept beside it and written again.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from autograder.errors import UsageError
from autograder.submissions.spreadsheet import as_csv, is_workbook

DELIMITERS = (",", ";", "\t")
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Without a byte order mark. The last one accepts any byte, so no file is refused for its letters.
ENCODINGS = ("utf-8", "cp1252", "latin-1")
_HINT = re.compile(r"sep=([,;\t|])[ ]*(?:\r\n|\r|\n)", re.IGNORECASE)
LARGEST = 50_000_000  # bytes: a course's gradebook has a few hundred thousand


class Sheet:
    """The rows of a CSV file, the first of them the header."""

    def __init__(self, data: bytes, name: str) -> None:
        """Read a CSV file's bytes.

        Args:
            data: The file's contents.
            name: Its name, for messages.

        Raises:
            UsageError: Not a CSV file with a header, or quoted in a way that cannot be kept.
        """
        self.name = name
        self._mark, self._encoding, text = _decoded(data)
        hint = _HINT.match(text)  # of Excel, for itself: the line is no row
        self._hint = hint[0] if hint else ""
        text = text[len(self._hint) :]
        self.delimiter = hint[1] if hint else _delimiter(text)
        self._raw, self._ends = _split(text, self.delimiter)
        try:
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=self.delimiter)
            self._texts = [row or [""] for row in reader]
        except csv.Error as error:
            raise UsageError(f"{name}: cannot be read as CSV ({error})") from None
        for number, (raw, row) in enumerate(zip(self._raw, self._texts, strict=False), start=1):
            if not _agree(raw, row):
                raise UsageError(f"{name}: row {number} is quoted in a way that cannot be kept")
        if len(self._raw) != len(self._texts):
            raise UsageError(f"{name}: a quote is not closed")
        self._lines = [2 if self._hint else 1]
        for cells in self._raw:
            self._lines.append(self._lines[-1] + max(1, len("".join(cells).splitlines())))
        if not self._texts or self._texts[0] == [""]:
            raise UsageError(f"{name}: empty; expected a CSV file with a header")

    @classmethod
    def read(cls, path: Path, *, workbooks: bool = False) -> "Sheet":
        """Read a file; `UsageError` where that cannot be.

        `workbooks`: one of Excel will do, where nothing has to be written into it.
        """
        try:
            if path.stat().st_size > LARGEST:
                raise UsageError(
                    f"{path}: larger than {LARGEST // 1_000_000} MB; is it the right file?"
                )
            data = path.read_bytes()
        except OSError as error:
            raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from None
        if is_workbook(data):
            if not workbooks:
                raise UsageError(
                    f"{path}: a workbook of Excel, which no platform takes back; name the CSV file"
                    " that the platform exported"
                )
            data = as_csv(data, str(path))
        return cls(data, str(path))

    @property
    def header(self) -> tuple[str, ...]:
        """The first row, without white space around its cells."""
        return tuple(cell.strip() for cell in self._texts[0])

    @property
    def rows(self) -> Iterator[int]:
        """The numbers of all rows after the header that hold anything."""
        return (
            number
            for number, row in enumerate(self._texts)
            if number > 0 and any(cell.strip() for cell in row)
        )

    def column(self, *titles: str) -> int | None:
        """The first column with one of these titles, in any case; None if there is none."""
        wanted = [title.casefold() for title in titles]
        for title in wanted:
            for number, found in enumerate(self.header):
                if found.casefold() == title:
                    return number
        return None

    def text(self, row: int, column: int | None) -> str:
        """A cell's text; empty if the row has no such cell, or `column` is None."""
        cells = self._texts[row]
        return "" if column is None or column >= len(cells) else cells[column].strip()

    def line(self, row: int) -> int:
        """The line in which a row begins, counted from 1; a cell may span several lines."""
        return self._lines[row]

    def put(self, row: int, column: int, text: str) -> None:
        """Write into a cell.

        Args:
            row: The row's number; 0 is the header.
            column: The column's number; a short row is filled up.
            text: The new text, quoted if the old text was quoted or the new one needs it.
        """
        cells = self._raw[row]
        while len(cells) <= column:
            cells.append("")
            self._texts[row].append("")
        self._texts[row][column] = text
        cells[column] = _quoted(text, self.delimiter, always=cells[column].startswith('"'))

    def insert(self, column: int, title: str) -> None:
        """Insert an empty column with that title before `column`."""
        for row, cells in enumerate(self._raw):
            if len(cells) >= column and cells != [""]:
                cells.insert(column, "")
                self._texts[row].insert(column, "")
        self.put(0, column, title)

    def encode(self) -> bytes:
        """The whole file; a character that its encoding lacks becomes a question mark."""
        lines = (
            self.delimiter.join(cells) + end
            for cells, end in zip(self._raw, self._ends, strict=True)
        )
        return self._mark + (self._hint + "".join(lines)).encode(self._encoding, "replace")


def written(rows: Sequence[Sequence[str]]) -> str:
    """Rows as CSV of our own: commas, line feeds."""
    return "".join(",".join(_quoted(cell, ",") for cell in row) + "\n" for row in rows)


def _quoted(text: str, delimiter: str, *, always: bool = False) -> str:
    # csv.writer leaves a carriage return bare that csv.reader then takes for a line end.
    needs = any(each in text for each in (delimiter, '"', "\r", "\n"))
    if always or needs or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


def _decoded(data: bytes) -> tuple[bytes, str, str]:
    """The byte order mark, the encoding, and the text after the mark."""
    for mark, encoding in MARKS:
        if data.startswith(mark):
            try:
                return mark, encoding, data.removeprefix(mark).decode(encoding)
            except UnicodeDecodeError:
                break
    for encoding in ENCODINGS:
        try:
            return b"", encoding, data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise AssertionError("the last encoding takes every byte")


def _delimiter(text: str) -> str:
    """The delimiter that the header has most of, quoted titles apart."""
    first = next(iter(text.splitlines()), "")
    bare = re.sub(r'"(?:[^"]|"")*"', "", first)
    return max(DELIMITERS, key=bare.count)


def _split(text: str, delimiter: str) -> tuple[list[list[str]], list[str]]:
    """The cells of each row as they stand in the text, and each row's line end."""
    cell = re.compile(rf'(?:"(?:[^"]|"")*")?[^{re.escape(delimiter)}\r\n]*')
    end = re.compile(r"\r\n|\r|\n")
    rows: list[list[str]] = []
    ends: list[str] = []
    position = 0
    while position < len(text):
        row: list[str] = []
        while True:
            found = cell.match(text, position)
            assert found is not None  # the pattern matches nothing at all, too
            row.append(found[0])
            position = found.end()
            if not text.startswith(delimiter, position):
                break
            position += len(delimiter)
        line = end.match(text, position)
        rows.append(row)
        ends.append(line[0] if line else "")
        position = line.end() if line else position
        if line is None and position < len(text):
            return rows, ends  # what cannot be split; the comparison with csv tells
    return rows, ends


def _agree(raw: list[str], row: list[str]) -> bool:
    return len(raw) == len(row) and all(
        cell.startswith('"') or cell == text for cell, text in zip(raw, row, strict=True)
    )
