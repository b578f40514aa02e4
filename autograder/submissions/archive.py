"""Zip archives, read within bounds: nothing is written to disk, no link leads out of them."""

import contextlib
import stat
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from autograder.submissions.intake import MEGABYTE, Intake, Unreadable, clean_path, shown

MAX_DIRECTORY = 4 * MEGABYTE  # a member takes 46 bytes and its name: under 90,000 members
MAX_RATIO = 150  # text shrinks to a third or a tenth, seldom to a fiftieth
SUSPICIOUS_SIZE = MEGABYTE  # smaller members may shrink as they like
ENCRYPTED = 0x1
UTF_8_NAME = 0x800
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others can ask for much memory at once
CHUNK = 65_536


class _Bounded:
    """A file that never gives out more at a time than the largest directory allowed.

    `zipfile` reads an archive's directory in one piece, of the size that the archive claims, and
    makes an object for each member in it. Bounding a read bounds both.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(min(size, MAX_DIRECTORY + 1) if size >= 0 else MAX_DIRECTORY + 1)
        if len(data) > MAX_DIRECTORY:
            raise OverflowError
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True


def bounded(file: BinaryIO) -> _Bounded:
    """A file for `zipfile` whose `read` raises `OverflowError` if the directory is too large."""
    return _Bounded(file)


def read_archive(source: Path | BinaryIO, intake: Intake, below: str = "") -> None:
    """Offer every member of a zip to `intake`.

    Args:
        source: The archive.
        intake: Where the members go.
        below: A folder within the hand-in to put them in, with its slash; empty for the top.

    Raises:
        Unreadable: Whatever is wrong with the archive. Nothing else is raised.
    """
    with _told(intake):
        opened = source.open("rb") if isinstance(source, Path) else contextlib.nullcontext(source)
        with opened as file, zipfile.ZipFile(bounded(file)) as archive:
            for info in archive.infolist():
                name = name_of_member(info)
                try:
                    path = clean_path(name)
                except ValueError as reason:
                    raise intake.refuse(
                        f"the archive holds {reason}: {shown(name)};"
                        " zip the folder of your work again"
                    ) from None
                _take(archive, info, below + path if path else "", intake)


def read_members(
    archive: zipfile.ZipFile, members: Iterable[tuple[str, zipfile.ZipInfo]], intake: Intake
) -> None:
    """Offer some members of an open zip to `intake`.

    Args:
        archive: The open zip.
        members: Pairs of a path within the hand-in and the member.
        intake: Where they go.

    Raises:
        Unreadable: Whatever is wrong with the archive. Nothing else is raised.
    """
    with _told(intake):
        for path, info in members:
            _take(archive, info, path.rstrip("/"), intake)


@contextlib.contextmanager
def _told(intake: Intake) -> Iterator[None]:
    """Turn whatever is wrong with an archive into one line."""
    try:
        yield
    except OverflowError:
        raise intake.refuse("the archive has too many members; hand in the work alone") from None
    except PermissionError:
        raise intake.refuse("no permission to read it") from None
    except Unreadable:
        raise
    except Exception as error:  # a damaged archive can raise about anything in zipfile
        reason = shown(str(error)) or type(error).__name__
        raise intake.refuse(
            f"not a zip archive, or a damaged one ({reason}); zip it again"
        ) from None


def _take(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: str, intake: Intake) -> None:
    is_folder = info.is_dir() or name_of_member(info).endswith("/")
    if not path or intake.ignores(path + "/" * is_folder):
        return
    kind = stat.S_IFMT(info.external_attr >> 16)
    if stat.S_ISLNK(kind):
        raise intake.refuse(f"{shown(path)} is a link; put the file itself into the archive")
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise intake.refuse(f"{shown(path)} is no ordinary file; leave it out")
    if is_folder:
        return
    if info.flag_bits & ENCRYPTED:
        raise intake.refuse("the archive is encrypted; zip it again without a password")
    if info.compress_type not in METHODS:
        raise intake.refuse(f"{shown(path)} is packed in an unusual way; use an ordinary zip")
    if info.file_size > max(SUSPICIOUS_SIZE, MAX_RATIO * info.compress_size):
        raise intake.refuse(
            f"{shown(path)} would unpack to {info.file_size // max(1, info.compress_size)} times"
            " its size; hand in the work alone"
        )
    if info.file_size == 0:
        intake.add(path, b"")
    elif intake.room_for(path, info.file_size):
        intake.add(path, _unpack(archive, info))


def _unpack(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """The bytes of a member, no more than it claims to have; `zipfile` verifies the checksum."""
    chunks = []
    with archive.open(info) as member:
        while chunk := member.read(CHUNK):
            chunks.append(chunk)
    data = b"".join(chunks)
    if len(data) != info.file_size:
        raise zipfile.BadZipFile("a member ends early")
    return data


def name_of_member(info: zipfile.ZipInfo) -> str:
    """A member's name. Many systems write UTF-8 without saying so, some write backslashes."""
    name = info.orig_filename.split("\0", 1)[0]
    if not info.flag_bits & UTF_8_NAME:
        raw = name.encode("cp437", "replace")
        with contextlib.suppress(UnicodeDecodeError):  # else it is truly of the old encoding
            name = raw.decode("utf-8")
    return name.replace("\\", "/")
