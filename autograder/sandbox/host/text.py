"""Strings out of a guest, made harmless for terminals, tables and pages."""

from __future__ import annotations

import unicodedata

_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def clean(text: str) -> str:
    """The text without control codes, escapes and marks that turn the writing direction.

    Line ends stay, tabs become spaces; everything else that cannot be seen goes.
    """
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\t", "    ")
    return "".join(
        letter for letter in text if letter == "\n" or unicodedata.category(letter) not in _UNSEEN
    )


def clean_line(text: str) -> str:
    """The same on one line."""
    if text.isascii() and text.isprintable():
        return text
    return " ".join(clean(text).split("\n"))
