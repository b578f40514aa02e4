"""A class run: what has to be graded, and what is done with the results."""

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

import msgspec

from autograder.assignment.assignment import Assignment, Stage
from autograder.errors import AutograderError, InternalError, MissingRequirement, UsageError
from autograder.gradebook.adjustments import adjusted_results
from autograder.gradebook.gradebook import Gradebook, Outcome, Record, Run
from autograder.grading.class_report import stages_of, with_details
from autograder.grading.exchange import Graded as Answer
from autograder.grading.executor import Executor
from autograder.grading.result_files import write_class, write_student
from autograder.results.grading_key import GradingKey
from autograder.results.result import SCHEMA, Result, encode_result
from autograder.submissions.entries import Entry as Entry
from autograder.submissions.entries import entries_of as entries_of
from autograder.submissions.submission import Submission, Unreadable

WEAK_ISOLATION = "process"


class Progress(Protocol):
    """Something that follows a run, such as a progress bar."""

    def begin(self, total: int) -> None:
        """Begin a run over `total` entries."""

    def done(self, result: Result, *, again: bool) -> None:
        """Note that one entry is done; `again` if its stored result was used."""


Starter = Callable[[], Executor]


class Job(msgspec.Struct, frozen=True):
    """How a class is to be graded.

    Attributes:
        assignment: The assignment.
        key: Its grading key.
        stages: The ids of the stages to grade; empty for all.
        fresh: Whether stored results are ignored.
        isolation: The level asked for by name; None for the best.
    """

    assignment: Assignment
    key: GradingKey
    stages: tuple[str, ...] = ()
    fresh: bool = False
    isolation: str | None = None

    @property
    def graded_stages(self) -> tuple[Stage, ...]:
        """The stages that count in this run."""
        return stages_of(self.assignment, self.stages)


def grade_class(
    entries: tuple[Entry, ...],
    out: Path,
    job: Job,
    start: Starter,
    progress: Progress,
) -> tuple[Result, ...]:
    """Grade a class into a folder.

    Stored results that are still valid are used again.

    Args:
        entries: Who is in the class.
        out: The folder for gradebook, pages and tables.
        job: How to grade.
        start: Makes the executor; called when the first submission needs grading.
        progress: Follows the run.

    Returns:
        Every result, sorted by name, with a teacher's changes applied. A result without a score
        is one that the kit failed on: see `ungraded`.

    Raises:
        MissingRequirement: No isolation, no disk space, or the folder is in use.
        UsageError: The folder holds something else.
        KeyboardInterrupt: On Ctrl-C; finished results are kept.
    """
    with Gradebook(out, create=True) as book:
        run = book.begin(job.assignment.folder, job.key, job.stages)
        book.prune(run, {entry.name for entry in entries})
        book.remember(run, {entry.name: entry.origin for entry in entries if entry.origin})
        progress.begin(len(entries))
        results: list[Result] = []
        with _closing(book, run, job, results):
            _Grading(book, run, job, start, progress).go_through(entries)
        return adjusted_results(results, book.adjustments(), job.graded_stages)


def ungraded(results: tuple[Result, ...]) -> InternalError | None:
    """The error to end with if the kit failed on some submissions; None if it did not."""
    names = [result.submission for result in results if result.score is None]
    if not names:
        return None
    told = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
    return InternalError(
        f"the kit failed on {len(names)} of {len(results)} submissions ({told});"
        " they have no score; run again to retry them"
    )


class _Grading:
    """One pass over the entries: read, look up, submit, record."""

    def __init__(
        self, book: Gradebook, run: Run, job: Job, start: Starter, progress: Progress
    ) -> None:
        self._book = book
        self._run = run
        self._job = job
        self._start = start
        self._progress = progress
        self._adjustments = book.adjustments()
        self._executor: Executor | None = None
        self._pending: dict[Future[Answer], Submission] = {}

    def go_through(self, entries: tuple[Entry, ...]) -> None:
        """Do what is left to do; the executor is closed whatever happens."""
        try:
            for entry in entries:
                self._take(entry)
            while self._pending:
                self._collect()
        except (KeyboardInterrupt, AutograderError):
            # What is graded but not yet recorded is kept too, as far as it can be written.
            while any(future.done() for future in self._pending):
                with suppress(AutograderError):
                    self._collect()
            raise
        finally:
            if self._executor is not None:
                self._executor.close()

    def _take(self, entry: Entry) -> None:
        assignment = self._job.assignment
        try:
            submission = entry.read(assignment.limits)
        except Unreadable as error:
            result = self._without_grading(entry.name, "", 0.0, str(error), ())
            self._record(Record(msgspec.structs.replace(result, status="error")), reusable=False)
            return
        stored = self._book.find(
            self._run, entry.name, submission.digest, submission.notes, fresh=self._job.fresh
        )
        if stored is not None:
            kept = self._book.keep(self._run, stored)
            self._tell(kept, encode_result(kept.result), again=True)
            return
        executor = self._started()
        self._pending[executor.submit(submission, self._job.stages or None)] = submission
        # A few wait in the queue, so that no worker has to; more would only fill the memory.
        while len(self._pending) > 2 * executor.width:
            self._collect()

    def _started(self) -> Executor:
        if self._executor is None:
            self._executor = self._start()
            isolation = self._executor.isolation
            if isolation == WEAK_ISOLATION and self._job.isolation is None:
                raise MissingRequirement(
                    "this machine offers no isolation but a separate process, which student code"
                    " can get out of; see autograder doctor, or accept it with --isolation process"
                )
            self._book.isolated(self._run, isolation)
        return self._executor

    def _collect(self) -> None:
        """Record what has been graded; if nothing has, wait for one result."""
        done, _ = wait(self._pending, return_when=FIRST_COMPLETED)
        for future in done:
            self._finish(self._pending.pop(future), future)

    def _finish(self, submission: Submission, future: Future[Answer]) -> None:
        try:
            graded = future.result()
        except (MissingRequirement, UsageError):
            raise  # concerns everybody, not this submission
        except InternalError as error:
            self._fail(submission, str(error))
        except Exception as error:  # a fault of the kit as well: it costs nobody else a result
            self._fail(submission, f"{type(error).__name__}: {error}")
        else:
            record = Record(
                graded.result,
                submission.notes,
                graded.details,
                graded.cpu_seconds,
                graded.wall_seconds,
                graded.isolation,
            )
            self._record(record, reusable=True)

    def _fail(self, submission: Submission, reason: str) -> None:
        message = f"{submission.name}: the kit failed, which is no fault of the work ({reason})"
        result = self._without_grading(
            submission.name, submission.digest, None, message, submission.notes
        )
        self._record(Record(result, submission.notes), reusable=False)

    def _record(self, record: Record, *, reusable: bool) -> None:
        encoded = self._book.add(self._run, record, reusable=reusable)
        self._tell(record, encoded, again=False)

    def _tell(self, record: Record, encoded: bytes, *, again: bool) -> None:
        write_student(
            self._book.folder,
            with_details(record),
            self._job.graded_stages,
            self._job.assignment,
            self._adjustments,
            encoded,
        )
        self._progress.done(record.result, again=again)

    def _without_grading(
        self, name: str, digest: str, score: float | None, message: str, notes: tuple[str, ...]
    ) -> Result:
        return Result(
            schema=SCHEMA,
            submission=name,
            digest=digest,
            assignment=self._job.assignment.id,
            score=score,
            max_score=float(sum(stage.points for stage in self._job.graded_stages)),
            stages=(),
            notes=notes,
            message=message,
        )


@contextmanager
def _closing(book: Gradebook, run: Run, job: Job, results: list[Result]) -> Iterator[None]:
    """Record a run's outcome and write the class's files, however the run ends.

    Args:
        book: The open gradebook.
        run: The run.
        job: How it was graded.
        results: Filled with all results, since reading a large class takes a while.
    """
    outcome: Outcome = "failed"
    records: tuple[Record, ...] | None = None
    try:
        yield
        records = book.records(run)
        results += (record.result for record in records)
        outcome = "failed" if ungraded(tuple(results)) else "finished"
    except KeyboardInterrupt:
        outcome = "interrupted"
        raise
    except MissingRequirement:
        outcome = "running"  # to be continued; perhaps nothing can be written now
        raise
    finally:
        if outcome != "running":
            book.finish(run, outcome)
            _write_class(book, job, book.records(run) if records is None else records)


def _write_class(book: Gradebook, job: Job, records: tuple[Record, ...]) -> None:
    graded = tuple(map(with_details, records))
    write_class(book.folder, graded, job.graded_stages, job.assignment, book.adjustments())
