"""What a result depends on besides the submission itself.

Two results with the same submission digest and the same grading key are the same result, so a
stored one is used again. If any part of the key has changed, the submission is graded again.
"""

import hashlib
import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from autograder.assignment.assignment import FILE_NAME, PACKAGE, Assignment
from autograder.assignment.subject import subject_files

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
    subject = subject_files(assignment)
    mistakes = _places_of_mistakes(assignment)
    misconceptions = {path: file for path, file in subject.items() if path.startswith(mistakes)}
    checks = {path: file for path, file in subject.items() if path not in misconceptions}
    kit = (file for room in GRADING for file in (PACKAGE / room).rglob("*.py"))
    return GradingKey(
        assignment=_digest(assignment.folder, [assignment.folder / FILE_NAME]),
        solutions=_digest(assignment.solutions, assignment.solutions.rglob("*.py")),
        checks=_digest_of(checks),
        misconceptions=_digest_of(misconceptions),
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


def _places_of_mistakes(assignment: Assignment) -> tuple[str, ...]:
    """How the paths of misconceptions begin: those of their modules, or of folders of their own."""
    places = []
    for stage in assignment.stages:
        *folders, module = stage.misconceptions.split(".")
        own = any(each == "misconceptions" for each in folders)
        places.append("/".join(folders) + "/" if own else "/".join((*folders, f"{module}.py")))
    return tuple(places)


def _digest(folder: Path, files: Iterable[Path]) -> str:
    return _digest_of({file.relative_to(folder).as_posix(): file for file in files})


def _digest_of(files: Mapping[str, Path]) -> str:
    state = hashlib.sha256()
    for path, file in sorted(files.items()):
        data = file.read_bytes()
        state.update(b"%b:%d:" % (path.encode(), len(data)))
        state.update(data)
    return state.hexdigest()
