"""Files beside the work that bear the name of a library, which neither is nor hides it here."""

from __future__ import annotations

from collections.abc import Iterator

from .course import ROOT, course
from .reading.files import is_library

OURS = ("selfcheck", "tests", "handouts", "notebooks")


def shadows() -> Iterator[str]:
    """One line for each such file or folder."""
    for each in sorted(ROOT.glob("*.py")):
        if each.stem not in (course().package, *OURS) and is_library(each.stem):
            yield (
                f"{each.name} has the name of a library: `import {each.stem}` means the library"
                " here, and when you are graded; elsewhere it means your file. Rename it."
            )
