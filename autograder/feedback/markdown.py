"""Text from a student, or about one, made harmless for Markdown."""

import re
import string

from autograder.feedback.plain import plain

_PUNCTUATION = re.compile("([" + re.escape(string.punctuation) + "])")


def markdown(text: str) -> str:
    """Paragraphs of plain text; what is in backticks becomes code, everything else is escaped."""
    lines = (line.strip() for line in plain(text).splitlines())
    return "\n\n".join(_with_code(line) for line in lines if line)


def inline(text: str) -> str:
    """Plain text within a line, every character of it shown as it is."""
    return _PUNCTUATION.sub(r"\\\1", " ".join(plain(text).split()))


def _with_code(line: str) -> str:
    parts = line.split("`")
    if len(parts) % 2 == 0:  # an unpaired backtick is just a character
        return inline(line)
    said = []
    for position, part in enumerate(parts):
        if position % 2:
            said.append(f"`{part}`" if part.strip() else inline(part))
        else:
            # `inline` would take away the spaces between text and code.
            said.append(_PUNCTUATION.sub(r"\\\1", part))
    return "".join(said)
