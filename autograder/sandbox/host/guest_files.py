"""What lies in the room: Python, torch and the few packages around it, the guest's own modules.

Everything stands at a neutral path. The folders `guest` and `protocol`, which run inside, are laid
there file by file under the package name `room`; the kit around them, the solutions and the checks
are never within reach.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import MissingRequirement

HERE = Path(__file__).parents[1]
NAME = "room"
INSIDE = ("guest", "protocol")  # the folders that lie in the room, whole
_PREFIX, _LOCK = "attention-room-", "in-use"
_NEEDED = ("torch", "torchgen", "numpy", "msgspec", "typing_extensions")
_WELCOME = ("functorch", "sympy", "mpmath")  # what torch itself may import later
# Which code torch and MKL choose for this processor: where somebody settles it, for the guest too.
KERNELS = ("ATEN_CPU_CAPABILITY", "MKL_CBWR")
_allowed: list[str] = []  # what an assignment asks for besides, see `allow`
_IPYTHON = ("IPython/core/inputtransformer2.py", "IPython/utils/tokenutil.py")


@dataclass(frozen=True)
class Piece:
    """One file or folder, and where it stands, relative to the room."""

    source: Path
    place: str

    @property
    def own(self) -> bool:
        """Whether it is one of the guest's own modules."""
        return self.place.startswith(f"{NAME}/")


def _package(name: str) -> Path | None:
    """Where a package or single module lies, without importing it."""
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        return None
    origin = Path(found.origin)
    return origin.parent if origin.name == "__init__.py" else origin


def allow(names: Iterable[str]) -> None:
    """Let students of this process's assignment import further packages, where they are there."""
    _allowed.extend(name for name in names if name not in (*_NEEDED, *_WELCOME, *_allowed))


def is_there(name: str) -> bool:
    """Whether a package is installed here."""
    try:
        return _package(name) is not None
    except (ImportError, ValueError):
        return False


def packages() -> list[Piece]:
    """The packages that a student may import besides Python's own."""
    pieces: list[Piece] = []
    for name in (*_NEEDED, *_WELCOME, *filter(is_there, _allowed)):
        found = _package(name)
        if found is None:
            if name in _NEEDED:
                raise MissingRequirement(f"the package {name} is missing; `pip install {name}`")
            continue
        pieces.append(Piece(found, f"packages/{found.name}"))
        beside = found.parent / f"{name}.libs"  # shared libraries that a wheel brings along
        if beside.is_dir():
            pieces.append(Piece(beside, f"packages/{beside.name}"))
    ipython = _package("IPython")
    if ipython is None:
        raise MissingRequirement("the package IPython is missing; `pip install ipython`")
    pieces += [Piece(ipython.parent / file, f"packages/{file}") for file in _IPYTHON]
    return pieces


def modules() -> list[Piece]:
    """The guest's own modules."""
    pieces = [Piece(HERE / "__init__.py", f"{NAME}/__init__.py")]
    for folder in INSIDE:
        for path in sorted((HERE / folder).rglob("*.py")):
            pieces.append(Piece(path, f"{NAME}/{path.relative_to(HERE).as_posix()}"))
    return pieces


@dataclass(frozen=True)
class Interpreter:
    """The Python that the zygote runs: the one that this environment was made from."""

    binary: Path
    library: Path  # the standard library
    shared: tuple[Path, ...]  # libpython, where the binary needs it

    @property
    def hidden(self) -> list[Path]:
        """Packages of that Python, which the room does without; the kit may be among them."""
        folders = (self.library / name for name in ("site-packages", "dist-packages"))
        return [folder for folder in folders if folder.is_dir()]


def interpreter() -> Interpreter:
    """Find the base Python of this environment and what belongs to it."""
    binary = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    library = Path(os.__file__).parent
    name = sysconfig.get_config_var("INSTSONAME") or sysconfig.get_config_var("LDLIBRARY") or ""
    folder = sysconfig.get_config_var("LIBDIR") or ""
    candidates = [Path(folder) / name] if ".so" in name or ".dylib" in name else []
    return Interpreter(binary, library, tuple(path for path in candidates if path.exists()))


def readable(python: Interpreter, pieces: list[Piece]) -> list[Path]:
    """What a guest must be able to read where it sees the whole file system.

    The standard library goes in entry by entry, without the packages that lie in it.
    """
    found = [Path("/usr/lib"), Path("/usr/lib64"), *python.shared]
    found += sorted(set(python.library.iterdir()) - set(python.hidden))
    found += [piece.source.resolve() for piece in pieces if not piece.own]
    for path in found:
        if HERE.resolve().is_relative_to(path.resolve()):
            raise MissingRequirement(
                f"the kit lies in {path}, which guests must be able to read; "
                "install it in a virtual environment"
            )
    return found


def command(python: Interpreter, room: str) -> list[str]:
    """The zygote's command line. The environment is clean, so Python may look at it."""
    start = (
        f"import sys; sys.path[:] = [p for p in sys.path if p]; "
        f"sys.path += [{room + '/packages'!r}, {room!r}]; "
        f"from {NAME}.guest.zygote import main; main()"
    )
    return [str(python.binary), "-s", "-S", "-B", "-c", start]


def environment(python: Interpreter) -> dict[str, str]:
    """All that the zygote's environment holds; a guest can read every letter of it."""
    settings = {
        "LANG": "C.UTF-8",
        "HOME": "/",
        "USER": "student",
        "PATH": "/usr/bin:/bin",
        "PYTHONHASHSEED": "0",  # the order of sets must not differ from run to run
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        # Else every thread reserves 64 MB of its own, where they happen to fit: whether so many
        # threads have room under the limit of memory would be a matter of chance.
        "MALLOC_ARENA_MAX": "1",
        # Large pages for what is allocated: a guest is forked, taken down and given the megabytes
        # of a large mask in half the time.
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    }
    settings |= {name: os.environ[name] for name in KERNELS if name in os.environ}
    folders = sorted({str(path.parent) for path in python.shared})
    if folders:
        settings["LD_LIBRARY_PATH"] = ":".join(folders)
    return settings


class Folder:
    """The room as a folder, for the levels without a file system of their own.

    A judge that is killed leaves its folder behind; the next one sweeps it up. What is still in
    use is told by a lock, which the system lets go of with whoever holds it.
    """

    def __init__(self) -> None:
        _sweep()
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        new = self.path / f"{_LOCK}.new"
        self._lock = os.open(new, os.O_CREAT | os.O_RDONLY | os.O_CLOEXEC, 0o600)
        _try_to_lock(self._lock)
        new.rename(self.path / _LOCK)  # locked before anybody looks for it

    def close(self) -> None:
        """Take it away."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _try_to_lock(descriptor: int) -> bool:
    import fcntl  # which Windows lacks

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _sweep() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            descriptor = os.open(folder / _LOCK, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:  # not one of these, or not ours
            continue
        if _try_to_lock(descriptor):
            shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def furnish(folder: Path, pieces: list[Piece]) -> None:
    """Set the room up in a folder.

    Packages are linked, the guest's own modules copied: nothing inside points to the kit.
    """
    folder.chmod(0o755)
    for piece in pieces:
        place = folder / piece.place
        place.parent.mkdir(parents=True, exist_ok=True)
        if piece.own:
            shutil.copyfile(piece.source, place)
        else:
            place.symlink_to(piece.source.resolve())
