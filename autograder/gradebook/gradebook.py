"""The gradebook: a SQLite file that keeps every run and every result of a class.

One process writes at a time; a lock on the folder makes sure of it. Each result is committed as
soon as it is known, so a run that is killed loses nothing, and the next one continues it.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from autograder.errors import UsageError
from autograder.gradebook.adjustments import Adjustment
from autograder.gradebook.database_file import GradebookFile
from autograder.gradebook.similarity import Pair
from autograder.results.grading_key import GradingKey
from autograder.results.result import Result, decode_result, encode_result
from autograder.submissions.downloads.handin import Origin

Outcome = Literal["running", "finished", "interrupted", "failed"]


class Run(msgspec.Struct, frozen=True):
    """One run over a class. Times are in UTC, in ISO format; `key` is the grading key's digest."""

    id: int
    started: str
    finished: str | None
    outcome: Outcome
    assignment: str
    stages: tuple[str, ...]
    key: str
    isolation: str


class Record(msgspec.Struct, frozen=True):
    """A result as it is stored, with what `result.json` does not hold.

    Attributes:
        result: What goes into `result.json`.
        notes: The notes on the reading.
        details: What only a teacher may read, as JSON.
        cpu_seconds: CPU time of judge and guests together.
        wall_seconds: Time by the clock.
        isolation: The level in use.
    """

    result: Result
    notes: tuple[str, ...] = ()
    details: bytes = b""
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    isolation: str = ""


#: Results that are kept in memory, since they are asked for again.
MOST_KNOWN = 200


class Gradebook(GradebookFile):
    """The gradebook of an output folder, locked while it is open."""

    def __init__(self, folder: Path, *, create: bool = False) -> None:
        """Open a gradebook; see `GradebookFile`."""
        super().__init__(folder, create=create)
        # What was stored or read here, by number: it never changes. Only part of a large class is
        # kept, so that memory does not grow with the class.
        self._known: dict[int, Record] = {}

    def begin(self, assignment: Path, key: GradingKey, stages: tuple[str, ...]) -> Run:
        """Begin a run, or continue the last one if it was interrupted.

        Args:
            assignment: The assignment's folder.
            key: The grading key in effect.
            stages: The ids of the stages to grade; empty for all.
        """
        last = self.last_run()
        with self._writing():
            self._database.execute(
                "update runs set outcome = 'interrupted' where outcome = 'running'"
            )
            if (
                last is not None
                and last.outcome in ("running", "interrupted")
                and (last.key, last.stages) == (key.digest, stages)
            ):
                self._database.execute(
                    "update runs set outcome = 'running' where id = ?", (last.id,)
                )
                return self.run(last.id)
            cursor = self._database.execute(
                "insert into runs (started, outcome, assignment, stages, key, key_parts, isolation)"
                " values (?, 'running', ?, ?, ?, ?, '')",
                (
                    _now(),
                    str(assignment),
                    ",".join(stages),
                    key.digest,
                    msgspec.json.encode(key).decode(),
                ),
            )
            return self.run(int(cursor.lastrowid or 0))

    def isolated(self, run: Run, isolation: str) -> None:
        """Record the level of isolation that a run uses."""
        with self._writing():
            self._database.execute(
                "update runs set isolation = ? where id = ?", (isolation, run.id)
            )

    def finish(self, run: Run, outcome: Outcome) -> None:
        """Close a run with its outcome."""
        with self._writing():
            self._database.execute(
                "update runs set outcome = ?, finished = ? where id = ?", (outcome, _now(), run.id)
            )

    def find(
        self, run: Run, student: str, digest: str, notes: tuple[str, ...], *, fresh: bool
    ) -> int | None:
        """Find a stored result that is still valid.

        Args:
            run: The run that wants it.
            student: The name of the entry.
            digest: The digest of what was handed in.
            notes: The notes on the reading, which the digest does not cover.
            fresh: Whether only results of this very run count.

        Returns:
            The result's number; None if there is none.
        """
        row = self._database.execute(
            "select max(id) from results where student = ? and digest = ? and notes = ?"
            " and key = ? and stages = ? and (run = ? or not ?)",
            (student, digest, _lines(notes), run.key, ",".join(run.stages), run.id, fresh),
        ).fetchone()
        return None if row[0] is None else int(row[0])

    def keep(self, run: Run, number: int) -> Record:
        """Use a stored result in this run too."""
        with self._writing():
            self._database.execute(
                "insert or replace into entries (run, student, result)"
                " select ?, student, id from results where id = ?",
                (run.id, number),
            )
        return self._record(number)

    def add(self, run: Run, record: Record, *, reusable: bool) -> bytes:
        """Store a new result.

        Args:
            run: The run that graded it.
            record: The result.
            reusable: Whether later runs may use it; if not, they try again.

        Returns:
            The bytes of its `result.json`.
        """
        result = record.result
        encoded = encode_result(result)
        with self._writing():
            cursor = self._database.execute(
                "insert into results (run, student, digest, notes, key, stages, result, details,"
                " cpu_seconds, wall_seconds, isolation) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    run.id,
                    result.submission,
                    result.digest,
                    _lines(record.notes),
                    run.key if reusable else "",
                    ",".join(run.stages),
                    encoded,
                    record.details,
                    record.cpu_seconds,
                    record.wall_seconds,
                    record.isolation,
                ),
            )
            self._database.execute(
                "insert or replace into entries (run, student, result) values (?, ?, ?)",
                (run.id, result.submission, cursor.lastrowid),
            )
        notes = _read_lines(_lines(record.notes))
        self._know(int(cursor.lastrowid or 0), msgspec.structs.replace(record, notes=notes))
        return encoded

    def prune(self, run: Run, students: set[str]) -> None:
        """Remove from a continued run whoever is no longer in the class."""
        known = {
            row[0]
            for row in self._database.execute(
                "select student from entries where run = ?", (run.id,)
            )
        }
        with self._writing():
            self._database.executemany(
                "delete from entries where run = ? and student = ?",
                [(run.id, student) for student in sorted(known - students)],
            )

    def remember(self, run: Run, origins: Mapping[str, Origin]) -> None:
        """Store where the entries of a run came from, replacing what was stored before."""
        with self._writing():
            self._database.execute("delete from origins where run = ?", (run.id,))
            self._database.executemany(
                "insert into origins (run, student, origin) values (?, ?, ?)",
                [(run.id, name, msgspec.json.encode(each)) for name, each in origins.items()],
            )

    def origins(self, run: Run) -> dict[str, Origin]:
        """Where the entries of a run came from, by student, as far as it is known."""
        rows = self._database.execute(
            "select student, origin from origins where run = ? order by student", (run.id,)
        )
        return {name: msgspec.json.decode(origin, type=Origin) for name, origin in rows}

    def last_run(self) -> Run | None:
        """The newest run; None in a new gradebook."""
        row = self._database.execute("select max(id) from runs").fetchone()
        return None if row[0] is None else self.run(row[0])

    def run(self, number: int) -> Run:
        """A run by its number.

        Raises:
            UsageError: There is no such run.
        """
        row = self._database.execute(
            "select id, started, finished, outcome, assignment, stages, key, isolation"
            " from runs where id = ?",
            (number,),
        ).fetchone()
        if row is None:
            raise UsageError(f"{self.file}: no run {number}")
        stages = tuple(filter(None, row[5].split(",")))
        return Run(row[0], row[1], row[2], row[3], row[4], stages, row[6], row[7])

    def runs(self) -> tuple[Run, ...]:
        """Every run, the oldest first."""
        numbers = self._database.execute("select id from runs order by id").fetchall()
        return tuple(self.run(number) for (number,) in numbers)

    def key_of(self, run: Run) -> GradingKey | None:
        """A run's grading key, part by part; None if an older kit wrote another form of it."""
        row = self._database.execute("select key_parts from runs where id = ?", (run.id,))
        try:
            return msgspec.json.decode(row.fetchone()[0], type=GradingKey)
        except msgspec.DecodeError:
            return None

    def adjust(self, adjustment: Adjustment) -> None:
        """Store a teacher's change; it replaces an earlier one of the same criterion."""
        with self._writing():
            self._database.execute(
                "insert into adjustments (made, student, stage, criterion, points, reason)"
                " values (?, ?, ?, ?, ?, ?)",
                (
                    adjustment.made or _now(),
                    adjustment.student,
                    adjustment.stage,
                    adjustment.criterion,
                    adjustment.points,
                    adjustment.reason,
                ),
            )

    def adjustments(self) -> tuple[Adjustment, ...]:
        """The teacher's changes in effect, in the order in which they were made."""
        rows = self._database.execute(
            "select student, stage, criterion, points, reason, made from adjustments where id in"
            " (select max(id) from adjustments group by student, stage, criterion)"
            " and points is not null order by id"
        )
        return tuple(Adjustment(*row) for row in rows)

    def keep_similar(self, run: Run, pairs: Sequence[Pair]) -> None:
        """Store which submissions of a run were found alike, for its pages."""
        with self._writing():
            self._database.execute(
                "insert or replace into similar (run, pairs) values (?, ?)",
                (run.id, msgspec.json.encode(pairs)),
            )

    def similar(self, run: Run) -> tuple[Pair, ...] | None:
        """Which submissions of a run were found alike; None if they were not compared."""
        row = self._database.execute(
            "select pairs from similar where run = ?", (run.id,)
        ).fetchone()
        return None if row is None else msgspec.json.decode(row[0], type=tuple[Pair, ...])

    def records(self, run: Run) -> tuple[Record, ...]:
        """Every student's result in a run, sorted by name."""
        numbers = self._database.execute(
            "select result from entries where run = ? order by student", (run.id,)
        ).fetchall()
        return tuple(self._record(number) for (number,) in numbers)

    def _record(self, number: int) -> Record:
        known = self._known.get(number)
        if known is None:
            known = self._read(number)
            self._know(number, known)
        return known

    def _know(self, number: int, record: Record) -> None:
        if len(self._known) < MOST_KNOWN:
            self._known[number] = record

    def _read(self, number: int) -> Record:
        row = self._database.execute(
            "select result, notes, details, cpu_seconds, wall_seconds, isolation"
            " from results where id = ?",
            (number,),
        ).fetchone()
        return Record(decode_result(row[0]), _read_lines(row[1]), *row[2:])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _lines(notes: tuple[str, ...]) -> str:
    return "\n".join(notes)


def _read_lines(lines: str) -> tuple[str, ...]:
    return tuple(filter(None, lines.split("\n")))
