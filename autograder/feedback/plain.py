"""Text that came from a student, made harmless for where it is shown.

Web pages escape by themselves. This module is for terminals, spreadsheets and file names.
"""

import hashlib
import unicodedata

HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # Unicode categories that are not shown but obeyed
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")
LONGEST_NAME = 150  # bytes: file systems allow 255, and a name stands beside others


def plain(text: str) -> str:
    """Text without control codes: colours, cursor moves, changes of direction, null bytes."""
    if text.replace("\n", "").replace("\t", "").isprintable():  # most text: nothing to look for
        return text
    return "".join(each if _is_shown(each) else "\N{REPLACEMENT CHARACTER}" for each in text)


def one_line(text: str) -> str:
    """Plain text with its line breaks and tabs turned into spaces."""
    return " ".join(plain(text).split())


def spreadsheet_cell(text: str) -> str:
    """One line of text that a spreadsheet shows and never computes."""
    line = one_line(text)
    return f"'{line}" if line.startswith(FORMULA_STARTS) else line


def file_name(name: str) -> str:
    """A student's name as a folder's name, unchanged if possible."""
    clean = "".join("_" if each in "/\\\0" or not _is_shown(each) else each for each in name)
    if clean in ("", ".", ".."):
        clean = "_" + clean
    if len(clean.encode()) > LONGEST_NAME:
        digest = hashlib.sha256(name.encode()).hexdigest()[:12]
        start = clean.encode()[: LONGEST_NAME - 13].decode(errors="ignore")
        clean = f"{start}-{digest}"
    return clean


def _is_shown(character: str) -> bool:
    return character in "\n\t" or unicodedata.category(character) not in HIDDEN
