"""The names in a bulk download, a folder or a zip, without anything being unpacked."""

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from autograder.archive import MAX_DIRECTORY, bounded, name_of_member
from autograder.errors import WrongUse
from autograder.intake import clean_path, shown


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
    """A download that was unpacked."""

    def __init__(self, source: Path, prefix: str = "") -> None:
        self.source = source
        self.prefix = prefix

    def names(self) -> tuple[str, ...]:
        place = self.source / self.prefix
        try:
            found = [
                entry.name + "/" * entry.is_dir(follow_symlinks=False)
                for entry in os.scandir(place)
            ]
        except OSError as error:
            if self.prefix:
                return ()  # somebody's own folder: whoever reads it will tell
            raise WrongUse(f"{place}: cannot be read ({error.strerror or error})") from None
        return tuple(sorted(found, key=os.fsencode))

    def inside(self, folder: str) -> "FolderListing":
        return FolderListing(self.source, self.prefix + folder)

    def head(self, name: str, at_most: int) -> bytes:
        path = self.source / self.prefix / name
        try:
            if path.is_symlink() or not path.is_file():
                return b""
            with path.open("rb") as file:
                return file.read(at_most)
        except OSError:
            return b""


class ZipListing:
    """A download as the platform packed it."""

    def __init__(self, source: Path) -> None:
        """Read the directory of a zip; `WrongUse` where it is none."""
        self.source = source
        self.prefix = ""
        self._members: dict[str, str] = {}  # clean path to the name in the zip
        self.refused: list[str] = []  # names that lead out of the archive
        try:
            with source.open("rb") as file, zipfile.ZipFile(bounded(file)) as archive:
                for info in archive.infolist():
                    self._add(info)
        except OverflowError:
            limit = MAX_DIRECTORY // 1_000_000
            raise WrongUse(
                f"{source}: its directory has more than {limit} MB; unpack it and name the folder"
            ) from None
        except OSError as error:
            raise WrongUse(f"{source}: cannot be read ({error.strerror or error})") from None
        except Exception as error:  # a damaged archive can raise about anything in zipfile
            reason = shown(str(error)) or type(error).__name__
            raise WrongUse(f"{source}: not a zip, or a damaged one ({reason})") from None

    def names(self) -> tuple[str, ...]:
        tops: dict[str, None] = {}
        for path in self._below():
            first, slash, _ = path.partition("/")
            tops[first + slash] = None
        return tuple(sorted(tops))

    def inside(self, folder: str) -> "ZipListing":
        inner = object.__new__(ZipListing)
        inner.source, inner.prefix = self.source, self.prefix + folder
        inner._members, inner.refused = self._members, []
        return inner

    def head(self, name: str, at_most: int) -> bytes:
        stored = self._members.get(self.prefix + name)
        if stored is None:
            return b""
        try:
            with (
                self.source.open("rb") as file,
                zipfile.ZipFile(bounded(file)) as archive,
                archive.open(stored) as member,
            ):
                return member.read(at_most)
        except Exception:  # damaged or encrypted: whoever reads the rest of it will tell
            return b""

    def _below(self) -> Iterator[str]:
        for path in self._members:
            if path.startswith(self.prefix) and len(path) > len(self.prefix):
                yield path[len(self.prefix) :]

    def _add(self, info: zipfile.ZipInfo) -> None:
        name = name_of_member(info)
        try:
            path = clean_path(name)
        except ValueError:
            self.refused.append(name)
            return
        if path:
            is_folder = info.is_dir() or name.endswith("/")
            self._members[path + "/" * is_folder] = info.filename
