"""The names in a bulk download, a folder or a zip; nothing is unpacked."""

import os
import zipfile
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from autograder.errors import UsageError
from autograder.submissions.archive import MAX_DIRECTORY, bounded, name_of_member
from autograder.submissions.intake import clean_path, shown


class Listing(Protocol):
    """What a platform's module may ask of a download."""

    @property
    def source(self) -> Path:
        """The folder or the zip."""

    @property
    def prefix(self) -> str:
        """Where within the source this listing begins: empty, or with a slash at its end."""

    def names(self) -> tuple[str, ...]:
        """The names at the top; those of folders end in a slash."""

    def inside(self, folder: str) -> "Listing":
        """The listing of a folder, by its name with the slash."""

    def head(self, name: str, at_most: int) -> bytes:
        """The first bytes of a file; empty where it cannot be read."""


class FolderListing:
    """A download that was unpacked. See `Listing`."""

    def __init__(self, source: Path, prefix: str = "") -> None:
        self.source = source
        self.prefix = prefix

    def names(self) -> tuple[str, ...]:
        """See `Listing`.

        Raises:
            UsageError: The download itself cannot be read.
        """
        place = self.source / self.prefix
        try:
            found = [
                entry.name + "/" * entry.is_dir(follow_symlinks=False)
                for entry in os.scandir(place)
            ]
        except OSError as error:
            if self.prefix:
                return ()  # a student's own folder: reading it will say what is wrong
            raise UsageError(f"{place}: cannot be read ({error.strerror or error})") from None
        return tuple(sorted(found, key=os.fsencode))

    def inside(self, folder: str) -> "FolderListing":
        """See `Listing`."""
        return FolderListing(self.source, self.prefix + folder)

    def head(self, name: str, at_most: int) -> bytes:
        """See `Listing`."""
        path = self.source / self.prefix / name
        try:
            if path.is_symlink() or not path.is_file():
                return b""
            with path.open("rb") as file:
                return file.read(at_most)
        except OSError:
            return b""


class Packed:
    """An open zip of a whole class, its directory read once."""

    def __init__(self, source: Path) -> None:
        """Open a zip.

        Raises:
            UsageError: It is not a zip, cannot be read, or has too large a directory.
        """
        self.members: dict[str, zipfile.ZipInfo] = {}  # by clean path; of folders with a slash
        self.refused: list[str] = []  # names that lead out of the archive
        try:
            self.archive = zipfile.ZipFile(bounded(source.open("rb")))
            for info in self.archive.infolist():
                self._add(info)
        except OverflowError:
            limit = MAX_DIRECTORY // 1_000_000
            raise UsageError(
                f"{source}: its directory is larger than {limit} MB; unpack it and name the folder"
            ) from None
        except OSError as error:
            raise UsageError(f"{source}: cannot be read ({error.strerror or error})") from None
        except Exception as error:  # a damaged archive can raise about anything in zipfile
            reason = shown(str(error)) or type(error).__name__
            raise UsageError(f"{source}: not a zip, or a damaged one ({reason})") from None
        self.paths = sorted(self.members)

    def below(self, prefix: str) -> Iterator[str]:
        """The paths that begin with a prefix, without it."""
        for path in self.paths[bisect_left(self.paths, prefix) :]:
            if not path.startswith(prefix):
                return
            if len(path) > len(prefix):
                yield path[len(prefix) :]

    def _add(self, info: zipfile.ZipInfo) -> None:
        name = name_of_member(info)
        try:
            path = clean_path(name)
        except ValueError:
            self.refused.append(name)
            return
        if path:
            is_folder = info.is_dir() or name.endswith("/")
            self.members[path + "/" * is_folder] = info


def packed(source: Path) -> Packed:
    """The zip at a path. It stays open until another is asked for, since a class has many parts.

    Raises:
        UsageError: See `Packed`.
    """
    try:
        found = source.stat()
    except OSError as error:
        raise UsageError(f"{source}: cannot be read ({error.strerror or error})") from None
    return _packed(source, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=1)
def _packed(source: Path, _changed: int, _size: int) -> Packed:
    return Packed(source)


class ZipListing:
    """A download as the platform packed it. See `Listing`."""

    def __init__(self, source: Path, prefix: str = "") -> None:
        """Read the directory of a zip.

        Raises:
            UsageError: See `Packed`.
        """
        self.source = source
        self.prefix = prefix
        self._packed = packed(source)

    def names(self) -> tuple[str, ...]:
        """See `Listing`."""
        tops: dict[str, None] = {}
        for path in self._packed.below(self.prefix):
            first, slash, _ = path.partition("/")
            tops[first + slash] = None
        return tuple(sorted(tops))

    def inside(self, folder: str) -> "ZipListing":
        """See `Listing`."""
        return ZipListing(self.source, self.prefix + folder)

    def head(self, name: str, at_most: int) -> bytes:
        """See `Listing`."""
        info = self._packed.members.get(self.prefix + name)
        if info is None:
            return b""
        try:
            with self._packed.archive.open(info) as member:
                return member.read(at_most)
        except Exception:  # damaged or encrypted: reading the rest of it will say so
            return b""

    @property
    def refused(self) -> tuple[str, ...]:
        """Names that lead out of the zip."""
        return tuple(self._packed.refused)
