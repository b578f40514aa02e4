"""Mistakes as edits of a correct source, and two of them in one submission.

`tests/variants/edits` has a file for each right variant that is edited. Every edit is a mistake of
the catalogue as a student would make it, given as the text before and after. Edits in different
places compose: the result is still a source that a student could have written, in which two steps
of one name went wrong, or one step in each of two names.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from zlib import crc32

import msgspec

from autograder.assignment.assignment import Assignment
from autograder.calibration.cases import Case, Mistake, one_mistake, two_mistakes
from autograder.calibration.variants import overlaid, right_variant
from autograder.diagnosis.catalogue import stage_catalogue
from autograder.errors import UsageError
from autograder.submissions.submission import Submission


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A text and its replacement; it must occur `times` times in the name's definition."""

    before: str
    after: str
    times: int = 1


class Edit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One mistake in one name, as changes of its source. `also`: see `Mistake`."""

    name: str
    id: str
    changes: tuple[Change, ...]
    also: tuple[str, ...] = ()


class OneProgram(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Two mistakes that together are a different program, or of which one hides the other.

    Attributes:
        ids: The ids of both.
        why: The reason.
        names: The names in which that is so; empty for all.
    """

    ids: tuple[str, str]
    why: str
    names: tuple[str, ...] = ()

    def covers(self, first: Edit, second: Edit) -> bool:
        """Whether the two edits are such a pair."""
        here = not self.names or (first.name in self.names and second.name in self.names)
        return here and {first.id, second.id} == set(self.ids)


class _Edits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    base: str
    edit: tuple[Edit, ...]


class _Together(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    one_program: tuple[OneProgram, ...]


#: The file of pairs that do not count as two mistakes.
TOGETHER = "together.toml"


class Overlap(Exception):
    """Two edits change the same place."""


@dataclass(frozen=True, slots=True)
class Edited:
    """A right submission and the edits that can be made in it."""

    assignment: Assignment
    name: str
    submission: Submission
    edits: tuple[Edit, ...]

    def mistake(self, edit: Edit) -> Mistake:
        """What an edit must be charged with."""
        stage = self.assignment.stage_of(edit.name)
        entry = stage_catalogue(self.assignment, stage).named(edit.id)
        return Mistake(edit.id, stage.id, entry.criterion, edit.also)

    def source(self, module: str) -> str:
        """The source of a module of the base.

        Raises:
            UsageError: There is no such module.
        """
        for file in self.submission.files:
            if file.path.rpartition("/")[2] == f"{module}.py":
                return file.data.decode("utf-8")
        raise UsageError(f"{self.name} has no {module}.py to edit")

    def with_edits(self, *edits: Edit) -> Submission:
        """The base with these mistakes, all in names of one stage.

        Raises:
            Overlap: Two of them change the same place.
        """
        module = self.assignment.stage_of(edits[0].name).module
        source = edited(self.source(module), edits)
        label = " + ".join(f"{edit.id} in {edit.name}" for edit in edits)
        return overlaid(self.submission, f"{module}.py", source.encode(), f"{self.name}: {label}")


def edited(source: str, edits: Iterable[Edit]) -> str:
    """Make all edits in a source at once.

    Args:
        source: The source.
        edits: The edits.

    Raises:
        Overlap: Two of them change the same place.
        UsageError: A text is not there as often as its edit says.
    """
    places: list[tuple[int, int, str]] = []
    for edit in edits:
        start, end = _definition(source, edit.name)
        for change in edit.changes:
            found = list(_occurrences(source, change.before, start, end))
            if len(found) != change.times:
                raise UsageError(
                    f"edit {edit.id} of {edit.name}: {change.before!r} occurs "
                    f"{len(found)} times, not {change.times}"
                )
            places += [(place, place + len(change.before), change.after) for place in found]
    places.sort()
    for (_, end, _), (start, _, _) in pairwise(places):
        if start < end:
            raise Overlap
    for start, end, after in reversed(places):
        source = source[:start] + after + source[end:]
    return source


def _definition(source: str, name: str) -> tuple[int, int]:
    """Where the function or class `name` begins and ends in `source`."""
    lines = source.splitlines(keepends=True)
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            assert node.end_lineno is not None
            ends = [0]
            for line in lines:
                ends.append(ends[-1] + len(line))
            return ends[node.lineno - 1], ends[node.end_lineno]
    raise UsageError(f"there is no {name} to edit")


def _occurrences(source: str, text: str, start: int, end: int) -> Iterator[int]:
    place = source.find(text, start, end)
    while place >= 0:
        yield place
        place = source.find(text, place + len(text), end)


def _read(file: Path, kind: type[msgspec.Struct]) -> msgspec.Struct:
    try:
        return msgspec.convert(tomllib.loads(file.read_text("utf-8")), kind)
    except (OSError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"{file}: {error}") from error


def all_edited(assignment: Assignment, folder: Path) -> Iterator[Edited]:
    """Every right variant with edits, as `tests/variants/edits` has them."""
    for file in sorted((folder / "edits").glob("*.toml")):
        if file.name == TOGETHER:
            continue
        read = _read(file, _Edits)
        assert isinstance(read, _Edits)
        base = right_variant(assignment, folder / "right" / read.base)
        yield Edited(assignment, read.base, base, read.edit)


def one_programs(folder: Path) -> tuple[OneProgram, ...]:
    """The pairs of mistakes that do not count as two, with the reason."""
    file = folder / "edits" / TOGETHER
    if not file.is_file():
        return ()
    read = _read(file, _Together)
    assert isinstance(read, _Together)
    return read.one_program


def edit_cases(assignment: Assignment, folder: Path) -> Iterator[Case]:
    """Each edit by itself, as one mistake."""
    for base in all_edited(assignment, folder):
        for edit in base.edits:
            submission = base.with_edits(edit)
            yield Case(submission.name, submission, one_mistake(base.mistake(edit)))


#: One in so many pairs of edits is tried: within one name, where steps affect each other, and in
#: two names. A pair's own label decides, so that a new edit changes no other pair.
ONE_IN, ONE_IN_TWO_NAMES = 3, 9


def pair_cases(assignment: Assignment, folder: Path) -> Iterator[Case]:
    """Two mistakes in one submission: in two steps of one name, or in two names of one stage."""
    for base, first, second in pairs(assignment, folder):
        submission = base.with_edits(first, second)
        judge = two_mistakes(base.mistake(first), base.mistake(second))
        yield Case(submission.name, submission, judge)


def pairs(assignment: Assignment, folder: Path) -> Iterator[tuple[Edited, Edit, Edit]]:
    """The pairs that are tried."""
    together = one_programs(folder)
    for base in all_edited(assignment, folder):
        for first, second in combinations(base.edits, 2):
            if _is_pair(base, first, second, together):
                yield base, first, second


def _is_pair(base: Edited, first: Edit, second: Edit, together: Sequence[OneProgram]) -> bool:
    one, other = base.mistake(first), base.mistake(second)
    if one.stage != other.stage or one.accepted & other.accepted:
        return False
    if first.name == second.name and one.criterion == other.criterion:
        return False
    label = f"{base.name}:{first.name}:{first.id}:{second.name}:{second.id}"
    if crc32(label.encode()) % (ONE_IN if first.name == second.name else ONE_IN_TWO_NAMES):
        return False
    if any(each.covers(first, second) for each in together):
        return False
    try:
        base.with_edits(first, second)
    except Overlap:
        return False
    return True
