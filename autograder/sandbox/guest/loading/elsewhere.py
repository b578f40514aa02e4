"""Where the missing names are after all, or what was handed in instead of them.

Looked for by lines of text: this is told beside the result and never decides one.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from .notes import listed
from .spelling import folded
from .statements import place

_DEFINED = re.compile(r"^([ \t]+)(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)")
_TOP = re.compile(r"^(?:async[ \t]+)?(?P<kind>class|def)[ \t]+(?P<name>\w+)|^if\b(?P<test>[^\n]*)")
_LARGEST = 2_000_000  # characters looked through
_TOLD = 5  # places

# The first pattern that occurs names the language; each must be unlikely in Python.
_LANGUAGES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("C or C++", re.compile(r"^\s*#\s*include\s*[<\"]", re.M)),
    ("Java", re.compile(r"^\s*(?:import java[.x]|public (?:final )?class \w+)", re.M)),
    ("C#", re.compile(r"^\s*using [\w.]+;\s*$", re.M)),
    (
        "JavaScript or TypeScript",
        re.compile(
            r"^\s*(?:export )?(?:(?:async )?function \w*\(|(?:const|let) \w+\s*(?::\s*\w+\s*)?=)",
            re.M,
        ),
    ),
    ("Rust", re.compile(r"^\s*(?:pub )?fn \w+.*\{\s*$", re.M)),
    ("Go", re.compile(r"^package \w+\s*$", re.M)),
    ("R", re.compile(r"^\s*[\w.]+\s*<-\s*function\s*\(|^\s*library\(\w+\)", re.M)),
    ("Julia or MATLAB", re.compile(r"^function .*\n(?:.*\n)*?end\s*;?\s*$", re.M)),
)


class Text(Protocol):
    """A module's text, or a cell's."""

    @property
    def path(self) -> str:
        """Where it lies in the hand-in."""

    @property
    def cell(self) -> int | None:
        """Its number in a notebook."""

    @property
    def lines(self) -> Sequence[str]:
        """Its lines."""


def lying_deeper(missing: Iterable[str], texts: Mapping[str, Text]) -> list[str]:
    """Where missing names are defined within something else, and what to do, a line a place."""
    wanted = {folded(name): name for name in missing}
    found: dict[tuple[str, str], list[str]] = {}
    left = _LARGEST
    for text in texts.values():
        left -= sum(map(len, text.lines))
        if not wanted or left < 0:
            break
        top: tuple[str, str] | None = None
        for number, line in enumerate(text.lines, 1):
            if line[:1] not in ("", " ", "\t", "#", ")", "]", "}"):
                top = _within(line, text, number)
                continue
            deeper = _DEFINED.match(line)
            if top is not None and deeper and folded(deeper[2]) in wanted:
                names = found.setdefault(top, [])
                if deeper[2] not in names:
                    names.append(deeper[2])
    return [
        f"{listed(names)} {'is' if len(names) == 1 else 'are'} defined {where}; {remedy}"
        for (where, remedy), names in list(found.items())[:_TOLD]
    ]


def instead(
    texts: Mapping[str, Text], defined: Iterable[str], deeper: Sequence[str], broken: bool
) -> str:
    """What was handed in, where no name that is graded is in it; and what to do."""
    start = "no graded name was found"
    if deeper:
        return f"{start}: {deeper[0]}"
    if broken:
        joined = "\n".join("\n".join(text.lines) for text in texts.values())[:_LARGEST]
        for language, pattern in _LANGUAGES:
            if pattern.search(joined):
                return f"{start}: this looks like {language}, and Python is what is asked for"
        return (
            f"{start}: this is no Python, or broken beyond reading; run the file with Python"
            " before you hand it in"
        )
    names = list(dict.fromkeys(name for name in defined if not name.startswith("_")))
    if not names:
        return f"{start}: nothing is defined here; was this the right file, and was it saved?"
    return (
        f"{start}: what is defined here is {listed(names)}; was this the right file? The names of"
        " the template have to be kept"
    )


def _within(line: str, text: Text, number: int) -> tuple[str, str] | None:
    """What a top-level line begins, in words, and how what lies in it comes to count."""
    top = _TOP.match(line)
    if top is None:
        return None
    at = place(text.cell, number)
    if top["kind"] is None:
        if "__name__" in line:
            return (
                f'under `if __name__ == "__main__"` ({text.path} {at}), which is for running the'
                " file by hand and is not run here",
                "write them above it, at the left margin",
            )
        return f"under an `if` ({text.path} {at})", "write them at the left margin"
    kind = "class" if top["kind"] == "class" else "function"
    return (
        f"inside the {kind} {top['name']} ({text.path} {at}), where they are not looked for",
        "write them outside of it, at the left margin",
    )
