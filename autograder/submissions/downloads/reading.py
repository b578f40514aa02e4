"""From the pieces of a download to a `Submission`, within the same limits as any hand-in."""

import io
import os
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from autograder.assignment.assignment import Limits
from autograder.submissions.archive import read_archive, read_members
from autograder.submissions.downloads.handin import Piece
from autograder.submissions.downloads.listing import Packed, packed
from autograder.submissions.folder import read_file, read_folder
from autograder.submissions.intake import MEGABYTE, Intake, Unreadable, clean_path, shown, suffix_of
from autograder.submissions.submission import Submission, by_any_name, submission_of


def read_pieces(
    source: Path, pieces: Sequence[Piece], limits: Limits, name: str, notes: Iterable[str] = ()
) -> Submission:
    """Read one student's part of a download.

    If there is no source among the pieces but there are zips, their contents are read.

    Args:
        source: The download, a folder or a zip.
        pieces: The student's files in it.
        limits: How much may be read.
        name: What the result is filed under.
        notes: Notes on the reading that come first.

    Raises:
        Unreadable: Whatever is wrong with it, in one line, as for any hand-in.
    """
    intake = by_any_name(Intake(name, limits), lambda into: _read(source, pieces, into))
    told = list(notes)
    has_sources = any(suffix_of(each.path) in (".py", ".ipynb") for each in intake.members())
    zips = [path for path in intake.inner_archives if suffix_of(path) == ".zip"]
    if not has_sources and zips:
        if [piece.path for piece in pieces] != zips:  # else it goes without saying
            told.append(f"read from {', '.join(map(shown, zips))}")
        outer, intake = intake, Intake(name, limits)
        for path in zips:
            # Several zips become a folder each, so that none hides another's files.
            prefix = "" if len(zips) == 1 else path.rsplit(".", 1)[0] + "/"
            with _opened(source, pieces, path, outer) as archive:
                read_archive(archive, intake, prefix)
    return submission_of(name, intake, told)


def _read(source: Path, pieces: Sequence[Piece], intake: Intake) -> None:
    for piece in pieces:
        try:
            clean_path(piece.path)
        except ValueError as reason:
            raise intake.refuse(f"{reason}: {shown(piece.path)}") from None
    if source.is_file():
        archive = packed(source)
        read_members(archive.archive, _members(archive, pieces), intake)
        return
    for piece in pieces:
        place = source / piece.where
        if place.is_symlink():
            raise intake.refuse(f"{shown(piece.where)} is a link; hand in the work itself")
        if piece.where.endswith("/"):
            read_folder(place, intake, piece.path)
            continue
        path = clean_path(piece.path)
        if not intake.ignores(path):
            read_file(place, path, intake)


def _members(archive: Packed, pieces: Iterable[Piece]) -> Iterator[tuple[str, zipfile.ZipInfo]]:
    """The members of the pieces, each with its path within the hand-in."""
    for piece in pieces:
        if piece.where in archive.members:
            yield piece.path, archive.members[piece.where]
        if piece.where.endswith("/"):
            for rest in archive.below(piece.where):
                yield piece.path + rest, archive.members[piece.where + rest]


def _opened(source: Path, pieces: Sequence[Piece], path: str, intake: Intake) -> BinaryIO:
    """A zip among the pieces, by its path within the hand-in, read whole within the limits."""
    most = intake.limits.max_total_mb * MEGABYTE
    too_large = intake.refuse(f"{shown(path)}: more than {intake.limits.max_total_mb} MB")
    try:
        for place in _places(source, pieces, path) if source.is_dir() else ():
            if place.stat().st_size > most:
                raise too_large
            flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)
            with os.fdopen(os.open(place, flags), "rb") as file:
                return io.BytesIO(file.read(most))
        archive = None if source.is_dir() else packed(source)
        for inner, info in _members(archive, pieces) if archive else ():
            if archive and inner == path:
                with archive.archive.open(info) as member:
                    data = member.read(most + 1)
                if len(data) > most:
                    raise too_large
                return io.BytesIO(data)
    except Unreadable:
        raise
    except Exception as error:  # a damaged archive can raise about anything in zipfile
        reason = shown(str(error)) or type(error).__name__
        raise intake.refuse(f"{shown(path)}: cannot be read ({reason})") from None
    raise intake.refuse(f"{shown(path)}: cannot be found again; was the download changed?")


def _places(source: Path, pieces: Iterable[Piece], path: str) -> Iterable[Path]:
    """Where a file of a hand-in lies in an unpacked download.

    Names on disk may be spelled differently than in the hand-in, so folders are searched.
    """
    for piece in pieces:
        if not piece.where.endswith("/"):
            if _clean(piece.path) == path:
                yield source / piece.where
        elif path.startswith(piece.path):
            root = source / piece.where
            for folder, _, files in os.walk(root):
                for file in files:
                    place = Path(folder) / file
                    if _clean(piece.path + place.relative_to(root).as_posix()) == path:
                        yield place


def _clean(path: str) -> str | None:
    try:
        return clean_path(path)
    except ValueError:
        return None
