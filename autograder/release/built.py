"""Built files: in memory first, then written, or compared with what is on disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from autograder.errors import MissingRequirement

Files = Mapping[str, bytes]


def write_files(files: Files, out: Path, *, private: bool = False) -> tuple[Path, ...]:
    """Write files into a folder; files with other names stay.

    Args:
        files: Contents by path within the folder.
        out: The folder.
        private: Whether only the owner may read them.

    Returns:
        The paths written.

    Raises:
        MissingRequirement: A file cannot be written.
    """
    written = []
    for name, data in files.items():
        path = out / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if private:
                path.touch(0o600)
                path.chmod(0o600)
            path.write_bytes(data)
        except OSError as error:
            raise MissingRequirement(f"{path}: cannot be written ({error.strerror})") from None
        written.append(path)
    return tuple(written)


def drift(files: Files, out: Path, pattern: str = "*") -> tuple[str, ...]:
    """What building would change in a folder.

    Args:
        files: Contents by path within the folder.
        out: The folder.
        pattern: A glob for the files below the folder that are built.

    Returns:
        A line for each file; empty if the folder is up to date.
    """
    found = []
    for name, data in files.items():
        path = out / name
        if not path.is_file():
            found.append(f"{name} is missing")
        elif path.read_bytes() != data:
            found.append(f"{name} is not what the solutions give")
    for path in sorted(out.rglob(pattern)):
        name = path.relative_to(out).as_posix()
        if path.is_file() and name not in files and not name.startswith("."):
            found.append(f"{name} is left over")
    return tuple(found)
