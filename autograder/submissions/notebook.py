"""Notebooks: the code cells and nothing else, decoded by a struct that skips the rest."""

import codecs
import re
from collections.abc import Sequence

import msgspec

from autograder.submissions.intake import listed

MAX_CELLS = 5_000
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DEFINED = re.compile(r"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)[ \t]*[(:]", re.MULTILINE)


class _Cell(msgspec.Struct):
    cell_type: str = ""
    source: str | list[str] = ""
    input: str | list[str] = ""  # where notebooks of format 3 keep a code cell's source


class _Worksheet(msgspec.Struct):
    cells: list[_Cell] = []


class _Notebook(msgspec.Struct):
    cells: list[_Cell] | None = None
    worksheets: list[_Worksheet] | None = None  # format 3


class Notebook(msgspec.Struct, frozen=True):
    """What is read of a notebook, and what should be told of the reading."""

    code: tuple[str, ...]  # the sources of its code cells
    remarks: tuple[str, ...] = ()  # each to be read after the notebook's name


_decoder = msgspec.json.Decoder(_Notebook)


def code_cells(data: bytes, most: int) -> tuple[str, ...]:
    """The sources of a notebook's code cells, in order.

    Args:
        data: The file's bytes, of notebook format 3 or 4.
        most: The characters that all cells together may have.

    Raises:
        ValueError: Not a notebook, or too much in it. The reason is for a reader who knows
            notebooks and not this kit.
    """
    return read_notebook(data, most).code


def read_notebook(data: bytes, most: int) -> Notebook:
    """A notebook's code, in whatever encoding it was saved. Raises `ValueError` as `code_cells`."""
    remarks: list[str] = []
    data, remark = _as_utf_8(data)
    if remark is not None:
        remarks.append(remark)
    try:
        notebook = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = "empty file" if not data.strip() else str(error)
        raise ValueError(f"not a notebook ({reason})") from None
    cells = notebook.cells
    if cells is None and notebook.worksheets is not None:
        cells = [cell for worksheet in notebook.worksheets for cell in worksheet.cells]
    if cells is None:
        raise ValueError("not a notebook (no cells in it)")
    if len(cells) > MAX_CELLS:
        raise ValueError(f"a notebook of more than {MAX_CELLS} cells")
    sources = tuple(_source(cell) for cell in cells if cell.cell_type == "code")
    if sum(map(len, sources)) > most:
        raise ValueError(f"a notebook with more than {most // 1_000_000} MB of code")
    remarks += _unrun(cells, sources)
    return Notebook(sources, tuple(remarks))


def _source(cell: _Cell) -> str:
    source = cell.source or cell.input
    return source if isinstance(source, str) else "".join(source)


def _as_utf_8(data: bytes) -> tuple[bytes, str | None]:
    """The notebook's JSON as UTF-8, with a remark where it was saved in something else.

    As for `.py` files: by the byte-order mark, then UTF-8, then the encoding of Windows.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            if encoding == "utf-8":
                return data[len(mark) :], None
            text = data.decode(encoding, "replace")
            return text.encode(), f"is written in {encoding}; save it in UTF-8"
    if data[:2] in (b"{\0", b"\0{"):
        encoding = "utf-16-le" if data[:1] == b"{" else "utf-16-be"
        text = data.decode(encoding, "replace")
        return text.encode(), f"is written in {encoding}; save it in UTF-8"
    try:
        data.decode()
    except UnicodeDecodeError:
        try:
            text = data.decode("cp1252")
        except UnicodeDecodeError:
            text = data.decode("latin-1")
        return text.encode(), "is no valid utf-8; it was read as cp1252"
    return data, None


def _unrun(cells: Sequence[_Cell], sources: Sequence[str]) -> list[str]:
    """A remark on what is defined in cells that nobody runs, and in no code cell."""
    found: dict[str, list[str]] = {"Markdown": [], "raw": []}
    kinds = {"markdown": "Markdown", "raw": "raw"}
    for cell in cells:
        if cell.cell_type in kinds:
            found[kinds[cell.cell_type]] += _DEFINED.findall(_source(cell))
    if not any(found.values()):
        return []
    run = {name for source in sources for name in _DEFINED.findall(source)}
    told = []
    for kind, names in found.items():
        left = dict.fromkeys(name for name in names if name not in run and name[:2] != "__")
        if left:
            told.append(
                f"has code in {kind} cells, which nobody runs ({listed(left)}): change the type of"
                " these cells to Code, run the notebook and hand it in anew"
            )
    return told
