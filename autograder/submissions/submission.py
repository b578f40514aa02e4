"""From what a student handed in to a `Submission`: files in memory, a digest, notes.

A hand-in is a package folder, a single `.py`, a notebook, or a zip of these. Source is never
parsed here: that happens where the student's code runs.
"""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from autograder.assignment.assignment import Limits
from autograder.submissions.archive import read_archive
from autograder.submissions.folder import read_file, read_folder
from autograder.submissions.intake import (
    ARCHIVES,
    MEGABYTE,
    Intake,
    Member,
    Unreadable,
    clean_text,
    shown,
    suffix_of,
)
from autograder.submissions.notebook import code_cells

__all__ = [
    "Kind",
    "SourceFile",
    "Submission",
    "Unreadable",
    "name_of",
    "read_submission",
    "submission_of",
]

Kind = Literal["module", "notebook", "data"]
SINGLE_FILES = (".py", ".ipynb", ".zip")


class SourceFile(msgspec.Struct, frozen=True, gc=False):
    """One file of a submission; a notebook has its code cells instead of its bytes."""

    path: str
    kind: Kind
    data: bytes = b""
    cells: tuple[str, ...] = ()


class Submission(msgspec.Struct, frozen=True, gc=False):
    """A student's work as it is graded. Same work, same digest, however it was packed."""

    name: str
    files: tuple[SourceFile, ...]
    digest: str
    notes: tuple[str, ...] = ()


def name_of(path: Path) -> str:
    """Whose work it is: the entry's name, of a file without `.py`, `.ipynb` or `.zip`."""
    name = path.name or path.resolve().name
    if suffix_of(name) in SINGLE_FILES and not path.is_dir():
        name = name.rsplit(".", 1)[0] or name
    return clean_text(name) or "submission"


def read_submission(path: Path, limits: Limits, name: str | None = None) -> Submission:
    """Read a hand-in.

    Args:
        path: A folder, a `.py`, a notebook or a zip.
        limits: How much of it may be read.
        name: What the result is filed under; by default the name of `path` without its suffix.

    Raises:
        Unreadable: Whatever is wrong with it, in one line.
    """
    _look(path)
    intake = Intake(clean_text(path.name or path.resolve().name), limits)
    suffix = suffix_of(path.name)
    notes: list[str] = []
    if path.is_dir():
        read_folder(path, intake)
        intake = _unpacked(path, intake, notes)
    elif suffix == ".zip":
        read_archive(path, intake)
    elif suffix in (".py", ".ipynb"):
        read_file(path, intake.name, intake)
    else:
        kind = f"a {suffix} archive" if suffix in ARCHIVES else "this kind of file"
        raise intake.refuse(f"{kind} is not read; hand in a .py, a notebook, a .zip or a folder")
    return submission_of(name or name_of(path), intake, notes)


def submission_of(name: str, intake: Intake, before: Sequence[str] = ()) -> Submission:
    """What an intake has taken, as a submission.

    Args:
        name: What the result is filed under.
        intake: The members that were kept.
        before: Notes on the reading that come first.

    Raises:
        Unreadable: There is no source in it, or only notebooks that are damaged.
    """
    notes = list(before)
    limits = intake.limits
    members = intake.members()
    files, broken = _source_files(members, limits)
    notes += intake.notes()
    if not any(file.kind != "data" for file in files):
        if broken:
            where, reason = next(iter(broken.items()))
            inside = "" if where == intake.name else f"{shown(where)} is "
            raise intake.refuse(f"{inside}{reason}; save it again and hand it in anew")
        hint = f" ({notes[0]})" if notes else ""
        raise intake.refuse(f"no .py file and no notebook in it{hint}; hand in your work")
    notes += (f"{shown(where)} is left out: {reason}" for where, reason in broken.items())
    return Submission(name, files, _digest(members), tuple(notes))


def _look(path: Path) -> None:
    """Make sure that the path exists and can be looked at."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise Unreadable(f"no such file or folder: {clean_text(str(path))}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise Unreadable(f"{shown(str(path))}: cannot be read ({reason})") from None


def _unpacked(folder: Path, intake: Intake, notes: list[str]) -> Intake:
    """Read a folder whose only content is one zip, as platforms hand it over, as that zip."""
    inner = intake.inner_archives
    has_sources = any(suffix_of(each.path) in (".py", ".ipynb") for each in intake.members())
    if has_sources or len(inner) != 1 or suffix_of(inner[0]) != ".zip":
        return intake
    notes.append(f"read from {shown(inner[0])}")
    archive = Intake(intake.name, intake.limits)
    read_archive(folder / inner[0], archive)
    return archive


def _source_files(
    members: Iterable[Member], limits: Limits
) -> tuple[tuple[SourceFile, ...], dict[str, str]]:
    """The files that are kept, and what is wrong with each notebook that cannot be read."""
    files = []
    broken = {}
    for member in members:
        suffix = suffix_of(member.path)
        if suffix == ".ipynb":
            try:
                cells = code_cells(member.data, limits.max_file_mb * MEGABYTE)
            except ValueError as reason:
                broken[member.path] = str(reason)
                continue
            files.append(SourceFile(member.path, "notebook", cells=cells))
        else:
            kind: Kind = "module" if suffix == ".py" else "data"
            files.append(SourceFile(member.path, kind, member.data))
    return tuple(files), broken


def _digest(members: Iterable[Member]) -> str:
    """SHA-256 over the sorted paths and bytes, each with its length before it."""
    state = hashlib.sha256()
    for member in members:
        path = member.path.encode()
        state.update(b"%d:%b%d:" % (len(path), path, len(member.data)))
        state.update(member.data)
    return state.hexdigest()
