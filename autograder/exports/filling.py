"""Which row belongs to whom when a platform's own sheet is filled in, and what has no match."""

import re
from collections.abc import Iterable, Sequence

import msgspec

from autograder.assignment.assignment import Stage
from autograder.errors import UsageError
from autograder.exports.final import Final
from autograder.submissions.roster import Person, Roster, people_of
from autograder.submissions.sheet import Sheet


class Wanted(msgspec.Struct, frozen=True):
    """What to fill in.

    Attributes:
        title: The assignment's title.
        id: The assignment's id.
        stages: The stages that were graded.
        by_stage: Whether to fill in each stage's score too, where there is a place for it.
        column: The title of the column to fill in; on Canvas also its number.
    """

    title: str
    id: str
    stages: tuple[Stage, ...]
    by_stage: bool = False
    column: str | None = None

    @property
    def points(self) -> float:
        """What the graded stages are worth together."""
        return float(sum(stage.points for stage in self.stages))


class Filled(msgspec.Struct):
    """The account of a sheet that was filled in.

    Attributes:
        rows: The rows that got a score.
        strangers: Students without a row, and why.
        left: Rows left unchanged, and why.
        notes: What else the teacher should know.
    """

    rows: dict[int, Final] = msgspec.field(default_factory=dict)
    strangers: list[tuple[str, str]] = msgspec.field(default_factory=list)
    left: list[tuple[str, str]] = msgspec.field(default_factory=list)
    notes: list[str] = msgspec.field(default_factory=list)


def matched(
    sheet: Sheet, finals: Iterable[Final], platform: str
) -> tuple[dict[int, Final], Filled]:
    """Match scores with the rows of a sheet.

    Args:
        sheet: The platform's sheet.
        finals: The scores.
        platform: Whose sheet it is: `canvas`, `moodle` or `gradescope`.

    Returns:
        Each row's score, and an account that lists everybody without a match.

    Raises:
        UsageError: No column identifies students.
    """
    people = people_of(sheet)
    roster = Roster(people.values())
    rows_of: dict[int, list[int]] = {}
    for row, person in people.items():
        rows_of.setdefault(id(person), []).append(row)
    rows: dict[int, Final] = {}
    filled = Filled()
    for final in finals:
        for candidates in final.people(platform):
            who = who_of(final, candidates)
            found = found_in(roster, candidates)
            if not found:
                filled.strangers.append((who, "no matching row"))
                continue
            if len(found) > 1:
                lines = ", ".join(str(sheet.line(rows_of[id(each)][0])) for each in found)
                filled.strangers.append((who, f"several matching rows: lines {lines}"))
                continue
            for row in rows_of[id(found[0])]:
                other = rows.setdefault(row, final)
                if other is not final:
                    filled.strangers.append(
                        (who, f"line {sheet.line(row)} already has {other.student}")
                    )
                    break
    for row, person in people.items():
        if row not in rows:
            filled.left.append((person.name or person.student, "nothing graded"))
    return rows, filled


def number(text: str, delimiter: str = ",") -> float | None:
    """A number as a sheet has it, with a comma or a point; None for what is none.

    Of "1,500.00" and "1.500,00" the last mark is the decimal one. "1,500" is fifteen hundred, but
    not where cells are parted by semicolons (`delimiter`): there commas are decimal.
    """
    bare = re.sub(r"[\s\u00a0\u202f'\u2019]", "", text)
    if not re.fullmatch(r"[+-]?[\d.,]*\d[\d.,]*%?", bare):
        return None
    bare = bare.rstrip("%")
    comma, point = bare.rfind(","), bare.rfind(".")
    if comma >= 0 and point >= 0:
        thousands = "," if point > comma else "."
        bare = bare.replace(thousands, "")
    elif bare.count(",") > 1 or (delimiter != ";" and re.fullmatch(r"[+-]?\d{1,3},\d{3}", bare)):
        bare = bare.replace(",", "")
    elif bare.count(".") > 1:
        bare = bare.replace(".", "")
    try:
        return float(bare.replace(",", "."))
    except ValueError:
        return None


def shown(score: float, *, comma: bool = False) -> str:
    """A score for a cell, with at most two decimals.

    Args:
        score: The score.
        comma: Whether the sheet writes decimals with a comma.
    """
    text = f"{score:.2f}".rstrip("0").rstrip(".")
    return text.replace(".", ",") if comma else text


def scaled(score: float, ours: float, theirs: float | None) -> float:
    """Scale a score.

    Args:
        score: The score.
        ours: The points that it is out of.
        theirs: The points that the platform's column has; None or 0 for the same.
    """
    return score if not theirs or not ours or theirs == ours else score * theirs / ours


def required(sheet: Sheet, *titles: str, platform: str) -> int:
    """A column that has to be in a sheet.

    Args:
        sheet: The sheet.
        titles: What the column may be called.
        platform: Whose sheet it is, for the message.

    Raises:
        UsageError: It is missing; the message lists the columns that are there.
    """
    column = sheet.column(*titles)
    if column is None:
        raise UsageError(
            f"{sheet.name}: line 1: expected a column {' or '.join(titles)}, as {platform} exports"
            f" it; found {', '.join(sheet.header)}"
        )
    return column


def found_in(roster: Roster, candidates: Sequence[Person]) -> tuple[Person, ...]:
    """The person whom the candidates mean.

    Args:
        roster: Who may be meant.
        candidates: What is known of the person, most reliable first. The first that matches one
            person alone decides.

    Returns:
        One person, nobody, or several if no candidate decides.
    """
    several: tuple[Person, ...] = ()
    for candidate in candidates:
        found = roster.find(candidate)
        if len(found) == 1:
            return found
        several = several or found
    return several


def who_of(final: Final, candidates: Sequence[Person]) -> str:
    """A result's student for a list; for a group, the member too."""
    if len(final.origin.people) < 2:
        return final.student
    person = candidates[0]
    return f"{person.student or person.name or person.email} ({final.student})"
