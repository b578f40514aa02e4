"""What a result depends on besides the submission itself.

Two results with the same submission digest and the same grading key are the same result, so a
stored one is used again. If any part of the key has changed, the submission is graded again.
"""

import hashlib
import platform
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from autograder.assignment.assignment import FILE_NAME, PACKAGE, Assignment

#: The rooms in which a change can change a result. What students and teachers read is made from
#: results, and changes none; checks and misconceptions have a part of the key to themselves.
GRADING = (
    "assignment",
    "checks",
    "diagnosis",
    "grading",
    "results",
    "sandbox",
    "scoring",
    "submissions",
)
SUBJECT = "attention"


class GradingKey(msgspec.Struct, frozen=True):
    """The parts of the key, each a digest or a version, so that a change can be reported."""

    assignment: str
    solutions: str
    checks: str
    misconceptions: str
    kit: str
    limits: str
    secret: str
    torch: str
    python: str

    @property
    def digest(self) -> str:
        """One SHA-256 digest of all parts."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()

    def changed(self, other: "GradingKey") -> tuple[str, ...]:
        """The names of the parts in which two keys differ."""
        mine, theirs = msgspec.structs.asdict(self), msgspec.structs.asdict(other)
        return tuple(part for part in mine if mine[part] != theirs[part])


def grading_key(assignment: Assignment, secret: bytes = b"") -> GradingKey:
    """The key of an assignment, with this kit, this torch and the course's secret.

    Args:
        assignment: The assignment, whose files are read.
        secret: The course's secret; only a digest of it goes into the key.
    """
    checks = PACKAGE / SUBJECT / "checks"
    misconceptions = PACKAGE / SUBJECT / "misconceptions"
    kit = (file for room in GRADING for file in (PACKAGE / room).rglob("*.py"))
    return GradingKey(
        assignment=_digest(assignment.folder, [assignment.folder / FILE_NAME]),
        solutions=_digest(assignment.solutions, assignment.solutions.rglob("*.py")),
        checks=_digest(checks, checks.rglob("*.py")),
        misconceptions=_digest(misconceptions, _written_in(misconceptions)),
        kit=_digest(PACKAGE, kit),
        limits=hashlib.sha256(msgspec.json.encode(assignment.limits)).hexdigest(),
        secret=hashlib.sha256(b"attention autograder secret:" + secret).hexdigest(),
        torch=_version_of("torch"),
        python=" ".join(
            (
                f"{platform.python_version()} {platform.machine()}",
                *(f"{name} {_version_of(name)}" for name in assignment.runtime.packages),
            )
        ),
    )


def kit_version() -> str:
    """The version of this kit, as installed."""
    return _version_of("attention-autograder")


def _version_of(distribution: str) -> str:
    # From the metadata: importing torch for its version would take seconds.
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "not installed"


def _written_in(folder: Path) -> Iterator[Path]:
    """Code and texts."""
    yield from folder.rglob("*.py")
    yield from folder.rglob("*.toml")


def _digest(folder: Path, files: Iterable[Path]) -> str:
    state = hashlib.sha256()
    for file in sorted(files):
        data = file.read_bytes()
        state.update(b"%b:%d:" % (str(file.relative_to(folder)).encode(), len(data)))
        state.update(data)
    return state.hexdigest()
