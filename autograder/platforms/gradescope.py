"""What `run_autograder` starts on Gradescope: one submission in, one `results.json` out.

There is a valid file at the end, whatever happens. One that says that grading did not finish is
written first, and replaced when there is more to say.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Literal

import msgspec

from autograder.assignment.assignment import Assignment, load_assignment
from autograder.errors import AutograderError, InternalError, MissingRequirement
from autograder.grading.grading import WEAK_ISOLATION
from autograder.grading.result_files import write
from autograder.grading.worker import Worker
from autograder.platforms.results_json import Results, encode, failed, results_of
from autograder.platforms.warm import unreadable
from autograder.results.result import Result
from autograder.submissions.submission import Submission, Unreadable, read_submission

SETTINGS = "settings.json"
KIT = "kit"
TRIES = 2


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the bundle was built with.

    Attributes:
        assignment: The assignment's folder, relative to the bundle's.
        isolation: The level asked for by name; None for the best.
        leaderboard: Whether Gradescope shows a leaderboard.
        seconds: Wall time after which the kit gives up; the platform gives ten minutes.
    """

    assignment: str
    isolation: Literal["bubblewrap", "landlock", "process"] | None = None
    leaderboard: bool = False
    seconds: float = 540.0


def main(root: Path) -> int:
    """Grade `root`/submission into `root`/results.

    Args:
        root: The platform's folder, `/autograder`.

    Returns:
        The exit code: 1 if the kit failed, otherwise 0.
    """
    place = root / "results" / "results.json"
    write(place, encode(failed("grading did not finish")))
    try:
        results = _results(root)
    except AutograderError as error:
        results = failed(str(error))
    except Exception as error:
        results = failed(f"{type(error).__name__}: {error}")
    write(place, encode(results))
    if not results.extra_data.get("kit_failed"):
        return 0
    print(results.output, file=sys.stderr)
    return 1


def _results(root: Path) -> Results:
    began = time.monotonic()
    source = root / "source"
    settings = msgspec.json.decode((source / SETTINGS).read_bytes(), type=Settings)
    assignment = load_assignment(source / settings.assignment)
    try:
        submission = read_submission(root / "submission", assignment.limits, "submission")
    except Unreadable as error:
        result = unreadable(assignment, "submission", str(error))
    else:
        result = _graded(assignment, submission, settings, began + settings.seconds)
    results = results_of(result, assignment, leaderboard=settings.leaderboard)
    return msgspec.structs.replace(results, execution_time=round(time.monotonic() - began, 1))


def _graded(
    assignment: Assignment, submission: Submission, settings: Settings, until: float
) -> Result:
    """The result; if a worker dies, a new one tries once more, as long as there is time."""
    for attempt in range(1, TRIES + 1):
        left = until - time.monotonic()
        if left <= 0:
            break
        with Worker(assignment.folder, settings.isolation) as worker:
            watch = threading.Timer(left, worker.kill)
            watch.daemon = True
            watch.start()
            try:
                if worker.isolation == WEAK_ISOLATION and settings.isolation is None:
                    raise MissingRequirement(
                        "no isolation is available here but a separate process, which student code"
                        " can get out of; `autograder release gradescope --isolation process` makes"
                        " a bundle that accepts it"
                    )
                result = worker.grade(submission).result
                worker.kill()  # quicker than an orderly end
                return result
            except InternalError:
                if attempt == TRIES and time.monotonic() < until:
                    raise
            finally:
                watch.cancel()
    raise InternalError(f"this machine did not finish within {settings.seconds:g} seconds")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
