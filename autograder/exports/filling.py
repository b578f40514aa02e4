"""Whose row is whose, when a platform's own sheet is filled in, and what could not be."""

from collections.abc import Iterable, Sequence

import msgspec

from autograder.assignment.assignment import Stage
from autograder.errors import UsageError
from autograder.exports.final import Final
from autograder.submissions.roster import Person, Roster, people_of
from autograder.submissions.sheet import Sheet


class Wanted(msgspec.Struct, frozen=True):
    """What is asked for beside the sheet."""

    title: str  # the assignment's
    id: str
    stages: tuple[Stage, ...]
    by_stage: bool = False
    column: str | None = None  # by its title, or on Canvas its number

    @property
    def points(self) -> float:
        """What the graded stages are worth together."""
        return float(sum(stage.points for stage in self.stages))


class Filled(msgspec.Struct):
    """What came of filling a sheet in."""

    rows: dict[int, Final] = msgspec.field(default_factory=dict)  # that got a score
    strangers: list[tuple[str, str]] = msgspec.field(default_factory=list)  # without a row, and why
    left: list[tuple[str, str]] = msgspec.field(default_factory=list)  # rows left as they were
    notes: list[str] = msgspec.field(default_factory=list)


def matched(
    sheet: Sheet, finals: Iterable[Final], platform: str
) -> tuple[dict[int, Final], Filled]:
    """Each row's score, and an account that has everybody in it for whom there is no row.

    `platform`: whose sheet it is.
    """
    people = people_of(sheet)
    roster = Roster(people.values())
    row_of = {id(person): row for row, person in people.items()}
    rows: dict[int, Final] = {}
    filled = Filled()
    for final in finals:
        for candidates in final.people(platform):
            who = who_of(final, candidates)
            found = found_in(roster, candidates)
            if not found:
                filled.strangers.append((who, "no row fits"))
                continue
            if len(found) > 1:
                lines = ", ".join(str(sheet.line(row_of[id(each)])) for each in found)
                filled.strangers.append((who, f"several rows fit: lines {lines}"))
                continue
            row = row_of[id(found[0])]
            other = rows.setdefault(row, final)
            if other is not final:
                filled.strangers.append(
                    (who, f"line {sheet.line(row)} has {other.student} already")
                )
    for row, person in people.items():
        if row not in rows:
            filled.left.append((person.name or person.student, "nothing was graded of them"))
    return rows, filled


def number(text: str) -> float | None:
    """A number as a sheet has it, with a comma or a point; None for what is none."""
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return None


def shown(score: float, *, comma: bool = False) -> str:
    """A score for a cell: two places at most."""
    text = f"{score:.2f}".rstrip("0").rstrip(".")
    return text.replace(".", ",") if comma else text


def scaled(score: float, ours: float, theirs: float | None) -> float:
    """A score of `ours` points as one of `theirs`."""
    return score if not theirs or not ours or theirs == ours else score * theirs / ours


def required(sheet: Sheet, *titles: str, platform: str) -> int:
    """A column that has to be there; `UsageError` names it and what is there."""
    column = sheet.column(*titles)
    if column is None:
        raise UsageError(
            f"{sheet.name}: line 1: expected a column {' or '.join(titles)}, as {platform} exports"
            f" it; found {', '.join(sheet.header)}"
        )
    return column


def found_in(roster: Roster, candidates: Sequence[Person]) -> tuple[Person, ...]:
    """The first marks by which anybody is found decide."""
    several: tuple[Person, ...] = ()
    for candidate in candidates:
        found = roster.find(candidate)
        if len(found) == 1:
            return found
        several = several or found
    return several


def who_of(final: Final, candidates: Sequence[Person]) -> str:
    """A result's student for a list; of a group the member, too."""
    if len(final.origin.people) < 2:
        return final.student
    person = candidates[0]
    return f"{person.student or person.name or person.email} ({final.student})"
