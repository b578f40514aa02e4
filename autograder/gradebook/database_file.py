"""The file of a gradebook: its lock, its tables, its transactions."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from filelock import FileLock, Timeout

from autograder.errors import MissingRequirement, UsageError
from autograder.gradebook.tables import ADDED, TABLES, VERSION

FILE_NAME = "gradebook.sqlite"
LOCK_NAME = ".lock"


class GradebookFile:
    """An open gradebook, and the lock on its folder."""

    def __init__(self, folder: Path, *, create: bool = False) -> None:
        """Open a gradebook.

        Args:
            folder: The folder of the class's results.
            create: Whether to make folder and gradebook if they are missing.

        Raises:
            UsageError: No gradebook, or a file that is not one, or one of another version.
            MissingRequirement: The folder is in use or cannot be written.
        """
        self.folder = folder
        self.file = folder / FILE_NAME
        if not create and not self.file.is_file():
            raise UsageError(f"{folder}: no {FILE_NAME} in it; expected a folder that grade wrote")
        self._lock = _locked(folder)
        try:
            self._database = self._connect()
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database and release the folder."""
        try:
            self._database.close()
        finally:
            self._lock.release()

    def _connect(self) -> sqlite3.Connection:
        try:
            database = sqlite3.connect(self.file, isolation_level=None, timeout=10)
            version = database.execute("pragma user_version").fetchone()[0]
            database.execute("pragma journal_mode = wal")
            database.execute("pragma synchronous = normal")
            database.execute("pragma foreign_keys = on")
            if version == 0:
                database.executescript(f"begin; {TABLES} pragma user_version = {VERSION}; commit;")
            if version in (0, VERSION):
                database.executescript(ADDED)
        except sqlite3.OperationalError as error:
            raise self._lack(error) from None
        except sqlite3.DatabaseError as error:
            raise UsageError(f"{self.file}: not a gradebook ({error})") from None
        if version not in (0, VERSION):
            raise UsageError(
                f"{self.file}: version {version} of the gradebook; this kit reads {VERSION}"
            )
        return database

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction. What the disk refuses becomes `MissingRequirement`."""
        try:
            self._database.execute("begin immediate")
            yield
            self._database.execute("commit")
        except sqlite3.OperationalError as error:
            self._roll_back()
            raise self._lack(error) from None
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        if self._database.in_transaction:
            self._database.execute("rollback")

    def _lack(self, error: sqlite3.OperationalError) -> MissingRequirement:
        return MissingRequirement(
            f"{self.file}: cannot be written ({error}); finished results are kept:"
            " make room or name another folder, and run again"
        )


def _locked(folder: Path) -> FileLock:
    lock = FileLock(folder / LOCK_NAME)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise MissingRequirement(
            f"{folder}: in use by another run; wait for it, or name another folder"
        ) from None
    except FileExistsError:
        raise UsageError(f"{folder}: a file, not a folder; give a folder for the results") from None
    except OSError as error:
        raise MissingRequirement(
            f"{folder}: cannot be written ({error.strerror or error}); name another folder"
        ) from None
    return lock
