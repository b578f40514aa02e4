"""What this machine offers for grading."""

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from autograder.assignment.assignment import Assignment
from autograder.grading.executor import cores
from autograder.results.grading_key import kit_version
from autograder.sandbox.host.guest_files import allow, is_there
from autograder.sandbox.host.wall import offered

WORKER_MB = 700  # worker, zygote and guest together
EXTRAS = {"nbgrader": "nbgrader", "otter": "otter-grader", "cluster": "distributed"}


def findings(assignment: Assignment) -> Iterator[tuple[str, str]]:
    """Look at what grading depends on.

    Args:
        assignment: The assignment that would be graded; its limits decide whether a level holds.

    Yields:
        Pairs of what was looked at and what was found, as text.
    """
    yield "kit", kit_version()
    yield "assignment", f"{assignment.id}: {assignment.folder}"
    yield "python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    yield "torch", _version("torch")
    allow(assignment.runtime.packages)
    for name in assignment.runtime.packages:
        there = (
            f"{_version(name)}, for graded code" if is_there(name) else "this package is not here"
        )
        yield f"package {name}", there
    in_force = ""
    for level, holds, reason in offered(assignment.limits):
        if holds and not in_force:
            in_force = level
        word = "holds, in use" if level == in_force else "holds"
        yield f"isolation {level}", word if holds else f"unavailable: {reason}"
    if not in_force:
        yield "isolation", "none: nothing can be graded here"
    yield "cores", f"{cores()}: as many submissions are graded at a time"
    yield "memory", _memory()
    for extra, distribution in EXTRAS.items():
        yield f"extra {extra}", _version(distribution)


def _memory() -> str:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return "unknown"
    kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in lines if ":" in line}
    free = kilobytes.get("MemAvailable", 0) // 1000
    return f"{free} MB free, enough for {free // WORKER_MB} submissions at a time"


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "not installed"
