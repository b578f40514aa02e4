"""Submissions that are more alike than the assignment makes likely. A place to look, no verdict.

Code is cut into overlapping pieces with its names left out, by copydetect (a kept library; its
other choice, compare50, asks for an attrs older than nbformat does). What the solutions, the
template and the handouts have is known and does not count, nor does what many of the class have;
of the rest a pair is told whose common share stands out from what is usual in this class.

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
MOST_PAIRS = 50  # told
MANY = 10  # a piece that more submissions have, and more than a tenth of the class, comes from
# a book or a lecture that all of them know
MOST_SOURCE = 200_000  # characters read of one submission

#: A submission's own pieces, as numbers.
Pieces = frozenset[int]


class Pair(msgspec.Struct, frozen=True):
    """Two submissions with code in common that neither got from the assignment.

    of_first, of_second: the share of each one's own code that the other has too. common: how many
    pieces of code that is.
    """

    first: str
    second: str
    of_first: float
    of_second: float
    common: int

    @property
    def share(self) -> float:
        """The share of whichever holds less code: the whole of a copy that was added to."""
        return max(self.of_first, self.of_second)


def similar_pairs(submissions: Sequence[Submission], assignment: Assignment) -> tuple[Pair, ...]:
    """The pairs that stand out, most alike first. `MissingRequirement` without copydetect."""
    known = frozenset[int]().union(*(pieces_of(text) for text in known_sources(assignment)))
    return ranked({each.name: pieces_of(source_of(each)) - known for each in submissions})


def ranked(pieces: Mapping[str, Collection[int]]) -> tuple[Pair, ...]:
    """The pairs that stand out among all pairs of these sets of pieces. Pure."""
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
    return min(middle + OUTLYING * deviation, 0.9)  # a copy is told in whatever class


def pieces_of(text: str) -> Pieces:
    """The pieces of a source. `MissingRequirement` without copydetect."""
    require_copydetect()
    from copydetect import CodeFingerprint

    # With a window of 1 every piece is kept: copydetect chooses by Python's hashes, which change.
    found = CodeFingerprint("handed_in.py", PIECE, 1, fp=io.StringIO(text))
    return frozenset(map(int, found.hashes))


def require_copydetect() -> None:
    """Raise `MissingRequirement` where it is not installed: before a class is graded, say."""
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
    """What everybody has: solutions, template, and the code in the handouts."""
    folders: list[Path] = [assignment.solutions]
    if assignment.template is not None and assignment.template.is_dir():
        folders.append(assignment.template)
    texts = [file.read_text() for folder in folders for file in sorted(folder.rglob("*.py"))]
    for stage in assignment.stages:
        texts += re.findall(r"```python\n(.*?)```", stage.handout.read_text(), re.DOTALL)
    return texts
