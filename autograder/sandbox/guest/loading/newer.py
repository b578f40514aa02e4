"""Syntax of a Python newer than the one that runs here, which is no mistake of the student's."""

import re
import sys

_CAPITAL = r"(?:\w+\.)*[A-Z]\w*"  # `except ValueError, e:` is Python 2
_SYNTAX: tuple[tuple[tuple[int, int], str, re.Pattern[str]], ...] = (
    (
        (3, 14),
        "`except` with several types and no parentheses",
        re.compile(rf"^[ \t]*except[ \t]+{_CAPITAL}(?:[ \t]*,[ \t]*{_CAPITAL})+[ \t]*:", re.M),
    ),
    ((3, 14), 'a template string t"..."', re.compile(r"(?<![\w\"'])[tT][rR]?(?:\"|')")),
    (
        (3, 13),
        "a type parameter with a default",
        re.compile(r"^[ \t]*(?:(?:async[ \t]+)?def|class|type)[ \t]+\w+\[[^\]\n]*\w[ \t]*=", re.M),
    ),
    (
        (3, 12),
        "a type parameter in brackets",
        re.compile(r"^[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+\w+[ \t]*\[", re.M),
    ),
    ((3, 12), "a `type` statement", re.compile(r"^[ \t]*type[ \t]+\w+[^\n=]*=", re.M)),
    (
        (3, 12),
        "an f-string that holds its own kind of quotes",
        re.compile(r"\b(?:f|rf|fr)([\"'])[^\"'{}\n]*\{[^{}\n]*?\1[^\n]*\}[^\n]*\1", re.I),
    ),
)
_OLD_F_STRINGS = ("f-string expression part cannot include a backslash",)


def no_python(text: str, message: str) -> str:
    """Why a piece of text could not be parsed: a newer Python's syntax, or none at all.

    To be read after the place of the piece.
    """
    needed = _needed(text, message)
    if needed is None:
        return f"is no Python ({message})"
    (major, minor), what = needed
    here = ".".join(map(str, sys.version_info[:2]))
    return (
        f"needs Python {major}.{minor} or newer ({what}), and the work is graded with {here}:"
        " write it in the older way"
    )


def _needed(text: str, message: str) -> tuple[tuple[int, int], str] | None:
    here = sys.version_info[:2]
    for version, what, pattern in _SYNTAX:
        if here < version and pattern.search(text):
            return version, what
    if here < (3, 12) and message.startswith(_OLD_F_STRINGS):
        return (3, 12), "an f-string with a backslash within the braces"
    return None
