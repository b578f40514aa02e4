"""What lateness costs: computed at every export, never stored with a result.

Times come from a CSV file with a line for each student or group: `submitted_at` and, if one was
granted, an `extension`, which is a new due date or a duration such as `2d`, `36h` or `1d 12h`.
"""

import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from autograder.assignment.assignment import Late
from autograder.errors import UsageError
from autograder.submissions.downloads.handin import Origin
from autograder.submissions.roster import Person, Roster, people_of
from autograder.submissions.sheet import Sheet

SUBMITTED = ("submitted_at", "submission time", "submission_timestamp", "submission_time")
DAY = 24 * 60 * 60
DURATION = re.compile(r"(?:(?P<d>\d+)\s*d)?\s*(?:(?P<h>\d+)\s*h)?\s*(?:(?P<m>\d+)\s*m)?")


class Handed(msgspec.Struct, frozen=True):
    """A line of the times.

    Attributes:
        submitted: When the work was handed in.
        extended: A new due date, or how much more time was granted.
    """

    submitted: datetime | None = None
    extended: datetime | timedelta | None = None


class Lateness(msgspec.Struct, frozen=True):
    """What is deducted for lateness, in percent of the points earned, and why."""

    percent: float = 0.0
    reason: str = ""


class Times:
    """When work was handed in, found by any column that identifies students."""

    def __init__(self, handed: dict[Person, Handed]) -> None:
        self._handed = handed
        self._roster = Roster(handed)

    def of(self, candidates: Iterable[Person]) -> tuple[Person, Handed] | None:
        """The line about the first of these people whom it identifies uniquely."""
        for person in candidates:
            found = self._roster.find(person)
            if len(found) == 1:
                return found[0], self._handed[found[0]]
        return None

    @property
    def people(self) -> tuple[Person, ...]:
        """The people whom the lines are about."""
        return self._roster.people


def read_times(path: Path, zone: tzinfo | None) -> Times:
    """Read the times.

    Args:
        path: The CSV file.
        zone: The time zone of times without an offset: the due date's.

    Raises:
        UsageError: A column is missing, or a cell is not a time; names line and column.
    """
    sheet = Sheet.read(path, workbooks=True)
    submitted, extension = sheet.column(*SUBMITTED), sheet.column("extension")
    if submitted is None and extension is None:
        raise UsageError(
            f"{path}: line 1: expected a column submitted_at or extension; found"
            f" {', '.join(sheet.header)}"
        )
    handed: dict[Person, Handed] = {}
    for row, person in people_of(sheet, groups=True).items():
        when, more = sheet.text(row, submitted), sheet.text(row, extension)
        where = f"{path}: line {sheet.line(row)}"
        handed[person] = Handed(
            _time(when, zone, f"{where}, {SUBMITTED[0]}") if when else None,
            _extension(more, zone, f"{where}, extension") if more else None,
        )
    return Times(handed)


def lateness(late: Late, origin: Origin, handed: Handed | None) -> Lateness:
    """What a hand-in loses.

    Args:
        late: The late policy.
        origin: What the platform said about the hand-in.
        handed: The line of the times about it, which takes precedence over the platform.

    Raises:
        UsageError: There is a time, but no due date.
    """
    handed = handed or Handed()
    zone = late.due.tzinfo if late.due else None
    submitted = handed.submitted or (_told(origin.submitted, zone) if late.due else None)
    if submitted is None:
        if not origin.late:
            return Lateness()
        if handed.extended is not None:
            return Lateness(0.0, "late, with an extension")
        percent = min(late.flat_percent, late.cap_percent)
        return Lateness(percent, "late, unknown by how much")
    due = _due(late, handed.extended)
    # Of two times in one zone Python compares what the clocks say, which leaps twice a year.
    seconds = (submitted.astimezone(UTC) - due.astimezone(UTC)).total_seconds()
    if seconds <= late.grace_minutes * 60:
        return Lateness()
    days = math.ceil(seconds / DAY)
    percent = min(days * late.percent_per_day, late.cap_percent)
    return Lateness(percent, f"{_span(seconds)} late")


def _due(late: Late, extended: datetime | timedelta | None) -> datetime:
    if isinstance(extended, datetime):
        return extended
    if late.due is None:
        raise UsageError(
            "there are times, but no due date to compare them with: give one with --due, or as"
            " due in [late] of assignment.toml"
        )
    return late.due + (extended or timedelta())


def zone_of(name: str) -> ZoneInfo:
    """A time zone by its place; `UsageError` where there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f"no time zone is called {name!r}; name one by its place, such as Europe/Berlin"
        ) from None


def parse_time(text: str, zone: tzinfo | None) -> datetime | None:
    """Parse a time as platforms write it.

    Args:
        text: The time, in ISO format or close to it.
        zone: The time zone of a time without an offset.

    Returns:
        The time with its offset; None if it is not a time, or has no offset and `zone` is None.
    """
    text = re.sub(r"\s*(?:UTC|Z)$", "+00:00", text.strip())
    text = re.sub(r"\s+([+-]\d\d:?\d\d)$", r"\1", text)
    text = re.sub(r"(\.\d{6})\d+", r"\1", text)  # Ruby writes nanoseconds
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    found = found if found.tzinfo else found.replace(tzinfo=zone)
    return found if found.tzinfo else None


def _time(text: str, zone: tzinfo | None, where: str) -> datetime:
    found = parse_time(text, zone)
    if found is None:
        missing = "" if zone else " with its offset, since there is no due date to take it from"
        raise UsageError(
            f"{where}: expected a time such as 2026-10-01 23:59 or 2026-10-01T23:59:00+02:00"
            f"{missing}; found {text!r}"
        )
    return found


def _extension(text: str, zone: tzinfo | None, where: str) -> datetime | timedelta:
    span = DURATION.fullmatch(text.strip())
    if span and any(span.groups()):
        days, hours, minutes = (int(each or 0) for each in span.groups())
        if days < 10_000 and hours < 10_000 and minutes < 1_000_000:
            return timedelta(days=days, hours=hours, minutes=minutes)
    found = parse_time(text, zone)
    if found is None:
        raise UsageError(
            f"{where}: expected a time such as 2026-10-03 23:59, or 2d, 36h, 1d 12h; found {text!r}"
        )
    return found


def _told(text: str, zone: tzinfo | None) -> datetime | None:
    return parse_time(text, zone) if text else None


def _span(seconds: float) -> str:
    minutes = math.ceil(seconds / 60)
    days, hours, minutes = minutes // 1440, minutes // 60 % 24, minutes % 60
    parts = ((days, "d"), (hours, "h"), (minutes, "min"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "less than 1 min"
