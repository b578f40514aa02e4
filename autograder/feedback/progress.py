"""The progress of a run: a bar with an estimate on a terminal, plain lines in a pipe."""

from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from autograder.feedback.plain import one_line
from autograder.feedback.words import points, status_of
from autograder.results.result import Result

#: Times a second that the bar is drawn; each takes as long as writing a student's page.
REFRESHED = 3


class RunProgress:
    """Shows a run's progress on a console; a context manager, so that the bar goes away."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            TextColumn("grading"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            refresh_per_second=REFRESHED,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("grading", total=None)
        self._total = 0
        self._done = 0

    def __enter__(self) -> "RunProgress":
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def begin(self, total: int) -> None:
        """See `grading.Progress`."""
        self._total = total
        self._bar.update(self._task, total=total)

    def done(self, result: Result, *, again: bool) -> None:
        """See `grading.Progress`."""
        self._done += 1
        self._bar.update(self._task, completed=self._done)
        if not self._console.is_terminal:
            status = status_of(result)
            told = "" if status == "graded" else f" ({status})"
            # Not by `Console.print`, which would search a plain line for markup.
            print(
                f"[{self._done}/{self._total}] {one_line(result.submission)}:"
                f" {points(result.score)} of {points(result.max_score)}{told}"
                + " (unchanged)"
                * again,
                file=self._console.file,
                flush=True,
            )
