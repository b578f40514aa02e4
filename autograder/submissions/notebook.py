"""Notebooks: the code cells and nothing else, decoded by a struct that skips the rest."""

import msgspec

MAX_CELLS = 5_000


class _Cell(msgspec.Struct):
    cell_type: str = ""
    source: str | list[str] = ""
    input: str | list[str] = ""  # where notebooks of format 3 keep a code cell's source


class _Worksheet(msgspec.Struct):
    cells: list[_Cell] = []


class _Notebook(msgspec.Struct):
    cells: list[_Cell] | None = None
    worksheets: list[_Worksheet] | None = None  # format 3


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
    try:
        notebook = _decoder.decode(data.removeprefix(b"\xef\xbb\xbf"))
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
    return sources


def _source(cell: _Cell) -> str:
    source = cell.source or cell.input
    return source if isinstance(source, str) else "".join(source)
