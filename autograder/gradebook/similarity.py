"""Submissions that are more alike than the assignment makes likely: a place to look, not a verdict.

copydetect cuts code into overlapping pieces with its names left out. (It is maintained; compare50,
the alternative, needs an older attrs than nbformat does.) Pieces from the solutions, the template
and the handouts do not count, nor do those that many of the class have. Of the rest, a pair is
reported if its common share stands out from what is usual in this class.

Source of the method: Schleimer, Wilkerson and Aiken 2003, "Winnowing".
"""

from __future__ import annotations

import importlib.util
import io
import itertools
import re
import statistics
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from autograder.assignment.assignment import Assignment
from autograder.errors import MissingRequirement
from autograder.submissions.submission import Submission

PIECE = 30  # characters of a piece, after names and blanks were left out
LEAST_COMMON = 200  # pieces in common; less is a line or two that many write
LEAST_SHARE = 0.3  # of the smaller submission's own code
OUTLYING = 4.0  # deviations above what is usual in the class
MOST_PAIRS = 50  # reported
# A piece that more submissions than this have, and more than a tenth of the class, comes from a
# book or a lecture that all of them know.
MANY = 10
MOST_SOURCE = 200_000  # characters read of one submission

#: A submission's own pieces, as numbers.
Pieces = frozenset[int]


class Pair(msgspec.Struct, frozen=True):
    """Two submissions with code in common that neither got from the assignment.

    Attributes:
        first: The name of one entry.
        second: The name of the other.
        of_first: The share of the first one's own code that the second has too, 0 to 1.
        of_second: The same share of the second one's code.
        common: How many pieces they have in common.
    """

    first: str
    second: str
    of_first: float
    of_second: float
    common: int

    @property
    def share(self) -> float:
        """The share of the one with less code: 1 for a copy to which something was added."""
        return max(self.of_first, self.of_second)


def similar_pairs(submissions: Sequence[Submission], assignment: Assignment) -> tuple[Pair, ...]:
    """The pairs that stand out, most alike first.

    Raises:
        MissingRequirement: copydetect is not installed.
    """
    known = frozenset[int]().union(*(pieces_of(text) for text in known_sources(assignment)))
    return ranked({each.name: pieces_of(source_of(each)) - known for each in submissions})


def ranked(pieces: Mapping[str, Collection[int]]) -> tuple[Pair, ...]:
    """The pairs that stand out among all pairs of these sets of pieces, most alike first."""
    holders = Counter(piece for each in pieces.values() for piece in set(each))
    many = max(MANY, len(pieces) // 10)
    own = {
        name: frozenset(piece for piece in each if holders[piece] <= many)
        for name, each in pieces.items()
    }
    pairs = [
        Pair(first, second, len(both) / len(one), len(both) / len(other), len(both))
        for (first, one), (second, other) in itertools.combinations(own.items(), 2)
        if (both := one & other)
    ]
    count = len(pieces) * (len(pieces) - 1) // 2
    least = max(LEAST_SHARE, _usual([pair.share for pair in pairs], count))
    told = [pair for pair in pairs if pair.common >= LEAST_COMMON and pair.share >= least]
    told.sort(key=lambda pair: (-pair.share, -pair.common, pair.first, pair.second))
    return tuple(told[:MOST_PAIRS])


def _usual(shares: Sequence[float], count: int) -> float:
    """How alike two of a class may be before it is worth a look; pairs not listed share nothing."""
    if count < 10:
        return 0.0  # too few to say what is usual
    every = [*shares, *([0.0] * (count - len(shares)))]
    middle = statistics.median(every)
    deviation = 1.4826 * statistics.median(abs(share - middle) for share in every)
    return min(middle + OUTLYING * deviation, 0.9)  # a copy is reported in any class


def pieces_of(text: str) -> Pieces:
    """The pieces of a source.

    Raises:
        MissingRequirement: copydetect is not installed.
    """
    require_copydetect()
    from copydetect import CodeFingerprint

    # With a window of 1 every piece is kept: copydetect chooses by Python's hashes, which change.
    found = CodeFingerprint("handed_in.py", PIECE, 1, fp=io.StringIO(text))
    return frozenset(map(int, found.hashes))


def require_copydetect() -> None:
    """Make sure that copydetect is installed, for instance before a class is graded.

    Raises:
        MissingRequirement: It is not.
    """
    if importlib.util.find_spec("copydetect") is None:
        raise MissingRequirement(
            "similarity needs copydetect: pip install 'attention-autograder[similarity]'"
        )


def source_of(submission: Submission) -> str:
    """A submission's code as one text, notebooks' cells included."""
    parts = []
    for file in submission.files:
        if file.kind == "module":
            parts.append(file.data.decode("utf-8", "replace"))
        elif file.kind == "notebook":
            parts += file.cells
    return "\n".join(parts)[:MOST_SOURCE]


def known_sources(assignment: Assignment) -> list[str]:
    """The sources that everybody has: solutions, template, and the code in the handouts."""
    folders: list[Path] = [assignment.solutions]
    if assignment.template is not None and assignment.template.is_dir():
        folders.append(assignment.template)
    texts = [file.read_text() for folder in folders for file in sorted(folder.rglob("*.py"))]
    for stage in assignment.stages:
        texts += re.findall(r"```python\n(.*?)```", stage.handout.read_text(), re.DOTALL)
    return texts
