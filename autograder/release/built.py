"""What is built: files in memory first, then written, or compared with what lies there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from autograder.errors import MissingRequirement

Files = Mapping[str, bytes]


def write_files(files: Files, out: Path, *, private: bool = False) -> tuple[Path, ...]:
    """Write files into a folder; what lies there under other names stays.

    private: nobody but the owner may read them.
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
    """What building would change in a folder, one line a file; empty where it is up to date.

    pattern: which files below the folder belong to what is built.
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
