"""What all tests share: the assignment, one worker, one thread, and what may be skipped."""

import os
import re
import sys
from collections.abc import Callable, Generator, Iterator
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import msgspec
import pytest
import torch
from hypothesis import settings

from autograder.assignment.assignment import load_assignment
from autograder.diagnosis.fingerprint import Trace
from autograder.gradebook.gradebook import Gradebook, Record
from autograder.grading.class_report import report_class
from autograder.grading.worker import Worker
from autograder.results.details import Details
from autograder.results.grading_key import GradingKey
from autograder.results.result import decode_result

ROOT = Path(__file__).resolve().parents[1]
ASSIGNMENT = load_assignment(ROOT)
GOLDEN = Path(__file__).parent / "golden"

# The self-check is imported alone: the template's folder on the path would make its `attention` a
# library to everything that is loaded in this process.
SELFCHECK = ROOT / "student_template" / "selfcheck"
_spec = spec_from_file_location("selfcheck", SELFCHECK / "__init__.py")
assert _spec is not None
assert _spec.loader is not None
sys.modules["selfcheck"] = module_from_spec(_spec)
_spec.loader.exec_module(sys.modules["selfcheck"])

# The same examples on every run, and no limit of time: a busy machine fails no test.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


#: Why a test may be skipped even with CI=true, as patterns of reasons. Any other skip is a failure
#: there: a browser or a tool that is missing has to be installed.
MAY_BE_SKIPPED = (
    r"root may read everything",
    r"the extra (`similarity` )?is (not )?installed",  # tests of both cases; one can be run
    r"bubblewrap does not work here: .*",  # a container may forbid it,
    r"this kernel has no Landlock .*",
    r"no level with a wall stands here",  # or both
    r"numbers of another processor",
    r"there is one core, or no way to choose one",
    r"another libseccomp \(.*\) than wrote them \(.*\)",
)


def _must_run(report: pytest.TestReport | pytest.CollectReport) -> None:
    """With CI=true, make a failure of a skip that is not among those."""
    if os.environ.get("CI") != "true" or not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    reason = reason.removeprefix("Skipped: ")
    if not any(re.fullmatch(pattern, reason) for pattern in MAY_BE_SKIPPED):
        report.outcome = "failed"
        report.longrepr = f"skipped, though with CI=true nothing may be missing: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _must_run(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _must_run(report)
    return report


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    """As in the worker: for small tensors, and on a busy machine, threads only wait."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def worker() -> Iterator[Worker]:
    """The worker of the assignment, for whoever neither ends it nor needs limits of his own."""
    with Worker(ASSIGNMENT.folder, "process") as held:
        yield held


@pytest.fixture(scope="session")
def class_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """Gives, for a number of students, a folder with their gradebook and pages.

    The results are those of the example class, multiplied; some share an unknown mistake.
    """
    results = [decode_result(file.read_bytes()) for file in sorted(GOLDEN.glob("*.json"))]

    def record(number: int) -> Record:
        result = results[number % len(results)]
        name = f"{result.submission} {number:03}"
        details = Details(
            titles={"no-mask": "no mask in force"},
            fingerprints=FINGERPRINTS.get(result.submission, {}),
        )
        return Record(
            msgspec.structs.replace(result, submission=name), details=msgspec.json.encode(details)
        )

    @cache
    def made(size: int) -> Path:
        folder = tmp_path_factory.mktemp(f"class-{size}")
        with Gradebook(folder, create=True) as book:
            run = book.begin(ASSIGNMENT.folder, GradingKey(*"abcdefghi"), ())
            for number in range(size):
                book.add(run, record(number), reusable=True)
            book.finish(run, "finished")
        report_class(folder)
        return folder

    return made


#: Two who share an unknown mistake in one name, and one whose own is another.
FINGERPRINTS: dict[str, dict[str, tuple[Trace, ...]]] = {
    student: {"MultiHeadAttention": (Trace((2, 3), numbers, 2.0),)}
    for student, numbers in [
        ("nora", (0.25, None, 1.0)),
        ("omar", (0.251, None, 1.0)),
        ("sven", (0.35, None, 1.0)),
    ]
}
