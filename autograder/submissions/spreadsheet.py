"""An Excel workbook as the rows of a table: its first sheet that holds anything, values alone."""

import csv
import datetime
import io
import zipfile

from autograder.errors import MissingRequirement, UsageError

PACKED = b"PK\x03\x04"
OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_UNPACKED_AT_MOST = 200_000_000  # bytes
_ROWS_AT_MOST = 200_000
_COLUMNS_AT_MOST = 500


def is_workbook(data: bytes) -> bool:
    """Whether a file is a workbook, whatever it is called."""
    return data.startswith((PACKED, OLD))


def as_csv(data: bytes, name: str) -> bytes:
    """A workbook's first sheet as CSV. `UsageError` for what cannot be read so."""
    if data.startswith(OLD):
        raise UsageError(f"{name}: an old workbook (.xls); save it as .xlsx or CSV")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            size = sum(info.file_size for info in packed.infolist())
    except Exception as error:  # a damaged archive can raise about anything in zipfile
        raise UsageError(f"{name}: a damaged workbook ({error}); save it as CSV") from None
    if size > _UNPACKED_AT_MOST:
        raise UsageError(
            f"{name}: a workbook that unpacks to {size // 1_000_000} MB; save it as CSV"
        )
    try:
        from openpyxl import load_workbook
    except ModuleNotFoundError as error:
        raise MissingRequirement(
            f"{name}: a workbook needs the package openpyxl (pip install openpyxl); or save it as"
            " CSV"
        ) from error
    try:
        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        for sheet in book.worksheets:
            rows = _rows(sheet)
            if rows:
                return _written(rows)
    except UsageError:
        raise
    except Exception as error:  # what a damaged workbook raises is nobody's promise
        reason = f"{type(error).__name__}: {error}"
        raise UsageError(
            f"{name}: a workbook that cannot be read ({reason}); save it as CSV"
        ) from None
    raise UsageError(f"{name}: an empty workbook")


def _rows(sheet: object) -> list[list[str]]:
    found: list[list[str]] = []
    for row in sheet.iter_rows(  # type: ignore[attr-defined]
        max_row=_ROWS_AT_MOST, max_col=_COLUMNS_AT_MOST, values_only=True
    ):
        cells = [_text(cell) for cell in row]
        if found or any(cells):
            found.append(cells)
    return found


def _text(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, datetime.datetime | datetime.date):
        return cell.isoformat(sep=" ") if isinstance(cell, datetime.datetime) else cell.isoformat()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))  # a number of a student's, which workbooks keep as 4021.0
    return str(cell)


def _written(rows: list[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8", "replace")
