"""What a file is whose name promises code: told by its first bytes, without running or parsing it.

Students hand in word processors' files, archives and pointers under the name of their work. None
of that is a mistake in attention, and none of it may end as 0 points without a word.
"""

import re

_LOOKED_AT = 200_000  # bytes in which the marks of a kind are looked for
_SAVE_AS_TEXT = "save it as plain text in a code editor and hand in that file"

# By the first bytes: what it is, and what to do.
_FORMS: tuple[tuple[bytes, str, str], ...] = (
    (b"{\\rtf", "a rich-text document (RTF)", _SAVE_AS_TEXT),
    (b"%PDF-", "a PDF document", "hand in the source file that it was made from"),
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "a document of an office program (such as .doc)",
        _SAVE_AS_TEXT,
    ),
    (
        b"version https://git-lfs.github.com/spec/",
        "a Git LFS pointer, which stands for a file and does not hold it",
        "run `git lfs pull` and hand in the file itself",
    ),
    (b"\x1f\x8b", "a gzip archive", "unpack it and hand in the files, or a .zip of them"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it and hand in the files, or a .zip of them"),
    (b"Rar!\x1a\x07", "a RAR archive", "unpack it and hand in the files, or a .zip of them"),
    (b"\x89PNG\r\n", "an image (PNG)", "hand in the code as text"),
    (b"\xff\xd8\xff", "an image (JPEG)", "hand in the code as text"),
    (b"bplist00", "a link or bookmark of macOS", "hand in the file that it leads to"),
)
_ZIP = b"PK\x03\x04"
_HTML = re.compile(rb"\s*<(?:!doctype\s+html|html|head|body|\?xml)\b", re.IGNORECASE)
_NOTEBOOK = re.compile(rb'"cell_type"\s*:|"cells"\s*:\s*\[|"nbformat"\s*:')
_PYTHON = re.compile(
    r"^[ \t]*(?:(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(|class[ \t]+\w+[^\n]*:"
    r"|import[ \t]+(?:torch|numpy)\b|from[ \t]+[\w.]+[ \t]+import\b)",
    re.MULTILINE,
)


def foreign(data: bytes) -> tuple[str, str] | None:
    """What a file called `.py` is instead of Python, and what to do; None for what may be source.

    Source that is wrong, and source of another language, is read where it runs.
    """
    for start, what, remedy in _FORMS:
        if data.startswith(start):
            return what, remedy
    head = data[:_LOOKED_AT]
    if data.startswith(_ZIP):
        return _packed(data)
    if _HTML.match(head.removeprefix(b"\xef\xbb\xbf")):
        return "a web page (HTML)", "hand in the code as a .py file of its own"
    if is_notebook(data):
        return "a notebook (JSON)", "give it the ending .ipynb and hand it in anew"
    return None


def foreign_notebook(data: bytes) -> tuple[str, str] | None:
    """What a file called `.ipynb` is instead, and what to do; None where nothing tells."""
    found = None if is_notebook(data) else foreign(data)
    if found is None and holds_python(data) and not data.lstrip().startswith(b"{"):
        return "Python source", "give it the ending .py and hand it in anew"
    return found


def is_blank(data: bytes) -> bool:
    """Whether a file holds nothing but white space and byte-order marks."""
    return not data.replace(b"\0", b"").strip(b" \t\r\n\f\v\xef\xbb\xbf\xff\xfe")


def is_notebook(data: bytes) -> bool:
    """Whether a file is the JSON of a notebook."""
    head = data[:_LOOKED_AT].removeprefix(b"\xef\xbb\xbf").lstrip()
    return head.startswith(b"{") and _NOTEBOOK.search(head) is not None


def holds_python(data: bytes) -> bool:
    """Whether Python code seems to be in a text."""
    head = data[:_LOOKED_AT]
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if head.startswith(mark):
            return _PYTHON.search(head[2:].decode(encoding, "replace")) is not None
    return _PYTHON.search(head.decode("utf-8", "replace")) is not None


def _packed(data: bytes) -> tuple[str, str]:
    # The names of members stand at the beginning and once more at the end.
    ends = data[:_LOOKED_AT] + data[-_LOOKED_AT:]
    for folder, what in (
        (b"word/", "a Word document (.docx)"),
        (b"xl/", "a spreadsheet (.xlsx)"),
        (b"ppt/", "a presentation (.pptx)"),
    ):
        if folder in ends:
            return what, _SAVE_AS_TEXT
    if b"content.xml" in ends and b"mimetype" in ends:
        return "a document of an office program (such as .odt)", _SAVE_AS_TEXT
    return "a zip archive", "give it the ending .zip and hand it in anew"
