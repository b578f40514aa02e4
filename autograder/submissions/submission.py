"""From what a student handed in to a `Submission`: files in memory, a digest, notes.

A hand-in is a package folder, a single `.py`, a notebook, or a zip of these. Source is never
parsed here: that happens where the student's code runs.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from autograder.assignment.assignment import Limits
from autograder.submissions.archive import read_archive
from autograder.submissions.contents import foreign, foreign_notebook, is_blank
from autograder.submissions.folder import read_file, read_folder
from autograder.submissions.hidden import hidden_code, meant_name, other_documents
from autograder.submissions.intake import (
    ARCHIVES,
    MEGABYTE,
    Intake,
    Member,
    Unreadable,
    clean_text,
    has_odd_name,
    read_all_the_same,
    shown,
    suffix_of,
)
from autograder.submissions.notebook import read_notebook

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
        intake = by_any_name(intake, lambda into: read_folder(path, into))
        intake = _unpacked(path, intake, notes)
    elif suffix == ".zip":
        intake = by_any_name(intake, lambda into: read_archive(path, into))
    elif suffix in (".py", ".ipynb"):
        read_file(path, intake.name, intake)
        if has_odd_name(intake.name):
            notes.append(read_all_the_same(intake.name))
    elif meant_name(path.name) is not None:
        raise intake.refuse(
            f"its name ends in {suffix}, so it is not read: rename it"
            f" {shown(str(meant_name(path.name)))} and hand it in anew"
        )
    else:
        kind = f"a {suffix} archive" if suffix in ARCHIVES else "this kind of file"
        raise intake.refuse(f"{kind} is not read; hand in a .py, a notebook, a .zip or a folder")
    return submission_of(name or name_of(path), intake, notes)


def by_any_name(intake: Intake, read: Callable[[Intake], None]) -> Intake:
    """What `read` offers; a single source is taken even if it is called as tests are."""
    read(intake)
    if len(intake.odd_names) != 1 or _has_sources(intake) or intake.inner_archives:
        return intake
    again = Intake(intake.name, intake.limits, any_name=True)
    read(again)
    return again


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
    files, broken, remarks = _source_files(members, limits)
    notes += intake.notes()
    notes += remarks
    notes += hidden_code(members)
    if not any(file.kind != "data" for file in files):
        if broken:
            where, reason = next(iter(broken.items()))
            inside = "" if where == intake.name else f"{shown(where)} is "
            raise intake.refuse(f"{inside}{reason}")
        documents = other_documents(members)
        if not notes and documents:
            notes.append(f"there is {documents}")
        hint = f" ({notes[0]})" if notes else ""
        raise intake.refuse(f"no .py file and no notebook in it{hint}; hand in your work")
    if not any(_has_content(file) for file in files):
        hint = "".join(f" ({note})" for note in notes[:1])
        raise intake.refuse(
            f"there is no code in it{hint}; was the file saved before it was handed in? Hand in"
            " your work"
        )
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
    if _has_sources(intake) or len(inner) != 1 or suffix_of(inner[0]) != ".zip":
        return intake
    notes.append(f"read from {shown(inner[0])}")
    archive = Intake(intake.name, intake.limits)
    return by_any_name(archive, lambda into: read_archive(folder / inner[0], into))


def _source_files(
    members: Iterable[Member], limits: Limits
) -> tuple[tuple[SourceFile, ...], dict[str, str], list[str]]:
    """The files that are kept, what is wrong with each that is none, remarks on the others."""
    files = []
    broken = {}
    remarks: list[str] = []
    for member in members:
        suffix = suffix_of(member.path)
        if suffix == ".ipynb":
            try:
                notebook = read_notebook(member.data, limits.max_file_mb * MEGABYTE)
            except ValueError as reason:
                other = foreign_notebook(member.data)
                told = f"{reason}; save it again and hand it in anew"
                broken[member.path] = f"not a notebook ({other[0]}); {other[1]}" if other else told
                continue
            remarks += (f"{shown(member.path)} {remark}" for remark in notebook.remarks)
            files.append(SourceFile(member.path, "notebook", cells=notebook.code))
        else:
            other = foreign(member.data) if suffix == ".py" else None
            if other is not None:
                broken[member.path] = f"no Python but {other[0]}; {other[1]}"
                continue
            kind: Kind = "module" if suffix == ".py" else "data"
            files.append(SourceFile(member.path, kind, member.data))
    return tuple(files), broken, remarks


def _has_sources(intake: Intake) -> bool:
    return any(suffix_of(each.path) in (".py", ".ipynb") for each in intake.members())


def _has_content(file: SourceFile) -> bool:
    """Whether a source holds anything at all, be it a comment."""
    if file.kind == "notebook":
        return any(cell.strip() for cell in file.cells)
    return file.kind == "module" and not is_blank(file.data)


def _digest(members: Iterable[Member]) -> str:
    """SHA-256 over the sorted paths and bytes, each with its length before it."""
    state = hashlib.sha256()
    for member in members:
        path = member.path.encode()
        state.update(b"%d:%b%d:" % (len(path), path, len(member.data)))
        state.update(member.data)
    return state.hexdigest()
