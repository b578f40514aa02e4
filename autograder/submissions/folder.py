"""Folders, read within bounds: no link is followed, nothing but ordinary files is opened."""

import os
import stat
from pathlib import Path

from autograder.submissions.intake import Intake, Unreadable, clean_path, shown

MAX_DEPTH = 30
MAX_SEEN = 50_000  # entries looked at, including those that are ignored


def read_folder(folder: Path, intake: Intake, below: str = "") -> None:
    """Offer every file under a folder to `intake`.

    Args:
        folder: The folder.
        intake: Where the files go.
        below: The folder's own path within the hand-in, with its slash; empty if it is the
            hand-in.

    Raises:
        Unreadable: A link, a special file, too many entries, no permission. Nothing else is
            raised.
    """
    seen = 0
    waiting = [(folder, below)]
    while waiting:
        place, prefix = waiting.pop()
        try:
            entries = sorted(os.scandir(place), key=lambda entry: os.fsencode(entry.name))
        except OSError as error:
            where = prefix or "the folder"
            raise intake.refuse(f"{shown(where)} cannot be read ({error.strerror})") from None
        for entry in entries:
            seen += 1
            if seen > MAX_SEEN:
                raise intake.refuse(f"more than {MAX_SEEN} entries; hand in the work alone")
            mode = entry.stat(follow_symlinks=False).st_mode
            path = _path(prefix + entry.name, intake)
            if intake.ignores(path + "/" * stat.S_ISDIR(mode)):
                continue
            if stat.S_ISLNK(mode):
                raise intake.refuse(f"{shown(path)} is a link; hand in the file itself")
            if stat.S_ISDIR(mode):
                if path.count("/") >= MAX_DEPTH:
                    raise intake.refuse(f"folders more than {MAX_DEPTH} deep")
                waiting.append((Path(entry.path), path + "/"))
            else:
                _take(Path(entry.path), path, intake)


def read_file(file: Path, path: str, intake: Intake) -> None:
    """Offer a single file to `intake`; it may be behind a link that the teacher made."""
    _take(file.resolve(), path, intake)


def _path(name: str, intake: Intake) -> str:
    try:
        return clean_path(name)
    except ValueError as reason:
        raise intake.refuse(f"{reason}: {shown(name)}") from None


def _take(file: Path, path: str, intake: Intake) -> None:
    # Neither follow nor block: the name may point elsewhere between `lstat` and `open`.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        found = os.lstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise intake.refuse(f"{shown(path)} is no ordinary file; leave it out")
        if found.st_size and not intake.room_for(path, found.st_size):
            return
        with os.fdopen(os.open(file, flags), "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise intake.refuse(f"{shown(path)} is no ordinary file; leave it out")
            intake.add(path, opened.read(found.st_size) if found.st_size else b"")
    except Unreadable:
        raise
    except OSError as error:
        raise intake.refuse(f"{shown(path)} cannot be read ({error.strerror})") from None
