"""Bytes to text: a module's encoding, line ends, and the paths that hold no work."""

import codecs
import re

VIRTUAL_ROOT = "/submission"  # where the files seem to lie; nothing is there on any disk

_IGNORED_FOLDERS = frozenset(
    (
        "__macosx",
        "__pycache__",
        "env",
        "node_modules",
        "selfcheck",
        "site-packages",
        "tests",
        "venv",
    )
)
_IGNORED_FILES = frozenset(("conftest.py", "setup.py"))
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?$")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def is_ignored(path: str) -> bool:
    """Whether a path leads to tests, caches, environments, dot files: no work of the student's."""
    *folders, name = path.casefold().split("/")
    if any(part.startswith((".", "test_")) for part in (*folders, name)):
        return True
    return name in _IGNORED_FILES or not _IGNORED_FOLDERS.isdisjoint(folders)


def has_odd_name(path: str) -> bool:
    """Whether nothing but a file's own name says that it is a test or a set-up file."""
    *folders, name = path.casefold().split("/")
    return not is_ignored("/".join((*folders, "work.py"))) and (
        name.startswith("test_") or name in _IGNORED_FILES
    )


def decode(data: bytes) -> tuple[str, str | None]:
    """A module's text, with a remark where the bytes were not what Python would have read."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            if encoding == "utf-8":
                data = data[len(mark) :]
                break
            text, remark = _strictly(data, encoding)
            return tidy(text), remark or f"is written in {encoding}, which Python does not read"
    encoding = _declared(data) or "utf-8"
    text, remark = _strictly(data, encoding)
    if "\0" in text:
        remark = "holds null bytes; they were taken out"
    return tidy(text), remark


def tidy(text: str) -> str:
    """Text that Python's parser takes: plain line ends, no null characters, no lone surrogates."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        text = text.replace("\0", "")
    if not text.isascii():
        text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return text


def _declared(data: bytes) -> str | None:
    """The encoding that one of the first two lines names, if Python knows it."""
    for line in data.split(b"\n", 2)[:2]:
        found = _COOKIE.match(line)
        if found:
            name = found.group(1).decode("ascii")
            try:
                known = codecs.lookup(name)
            except (LookupError, ValueError):
                return None
            return known.name if known._is_text_encoding else None
        if not _BLANK.match(line.rstrip(b"\r")):
            return None
    return None


def _strictly(data: bytes, encoding: str) -> tuple[str, str | None]:
    """Decode; where that fails, as latin-1, in which every byte is a character."""
    try:
        return data.decode(encoding), None
    except (UnicodeError, ValueError):
        return data.decode("latin-1"), f"is no valid {encoding}; it was read as latin-1"
