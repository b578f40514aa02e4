"""What counts as work in a hand-in, and how much of it may be read.

Folders and archives offer their members here one by one, by name and size, before any byte of them
is read. Names are made harmless, what is not the student's work is ignored, and a hand-in that is
too large ends the reading with one line. The order of the members does not matter.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

import msgspec

from autograder.assignment.assignment import Limits
from autograder.errors import UsageError

MEGABYTE = 1_000_000
MAX_NAME = 1_000  # characters of one path
MAX_DATA_FILE = 1 * MEGABYTE  # a text that a notebook reads is kept, a file of weights is not
MAX_DATA_TOTAL = 8 * MEGABYTE
NOTED_AT_MOST = 6  # names in one note

IGNORED_FOLDERS = frozenset(
    (
        "__macosx",
        "__pycache__",
        "env",
        "node_modules",
        "selfcheck",
        "site-packages",
        "tests",
        "venv",
    )
)
IGNORED_FILES = frozenset(("conftest.py", "desktop.ini", "setup.py", "thumbs.db"))
# These are ignored without a note.
UNMENTIONED = frozenset(("__macosx", "__pycache__", "desktop.ini", "thumbs.db"))
ARCHIVES = (".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".7z", ".rar")
COMPILED = (".pyc", ".pyo", ".so", ".pyd", ".dll", ".dylib", ".exe", ".o", ".a")


class Unreadable(UsageError):
    """A hand-in that cannot be read; one line says what, where and what to do."""


class Member(msgspec.Struct, frozen=True):
    """One file of a hand-in: a clean relative path and its bytes."""

    path: str
    data: bytes


class Intake:
    """Takes the members of one hand-in within the limits, and remembers what it ignored."""

    def __init__(self, name: str, limits: Limits, *, any_name: bool = False) -> None:
        """`any_name`: a source counts even where it is called as tests or set-up files are."""
        self.name = name
        self._any_name = any_name
        self.limits = limits
        self._members: dict[str, bytes] = {}
        self._ignored: set[str] = set()
        self._odd_names: set[str] = set()
        self._left_out: list[str] = []
        self._inner_archives: set[str] = set()
        self._twice: set[str] = set()
        self._bytes = 0
        self._data_bytes = 0

    def refuse(self, what: str) -> Unreadable:
        """The error that ends the reading; the caller has to raise it."""
        return Unreadable(f"{shown(self.name)}: {what}")

    def ignores(self, path: str) -> bool:
        """Whether a path is not the student's work; remembers it for a note."""
        parts = path.split("/")
        for position, part in enumerate(parts):
            if is_ignored(part, folder=position < len(parts) - 1 or path.endswith("/")):
                if position == len(parts) - 1 and has_odd_name(path):
                    self._odd_names.add(path)
                    if self._any_name:
                        return False
                if part.casefold() not in UNMENTIONED and not part.startswith("."):
                    is_folder = position < len(parts) - 1
                    self._ignored.add("/".join(parts[: position + 1]) + "/" * is_folder)
                return True
        return False

    def room_for(self, path: str, size: int) -> int:
        """How many bytes of a member may be read.

        Args:
            path: Its clean path.
            size: Its size in bytes, as the folder or the archive claims. Empty files are the
                caller's business.

        Returns:
            The size, or 0 to leave the member out.

        Raises:
            Unreadable: The hand-in as a whole is too large.
        """
        suffix = suffix_of(path)
        if suffix in ARCHIVES:
            self._inner_archives.add(path)
            return 0
        if suffix in COMPILED:
            self._ignored.add(path)
            return 0
        if len(self._members) >= self.limits.max_files:
            raise self.refuse(f"more than {self.limits.max_files} files; hand in the work alone")
        bound = self._bound(suffix)
        if size > bound:
            self._left_out.append(f"{shown(path)} ({megabytes(size)}, at most {megabytes(bound)})")
            return 0
        left = self.limits.max_total_mb * MEGABYTE - self._bytes
        if size > left:
            raise self.refuse(
                f"more than {self.limits.max_total_mb} MB in all; hand in the work alone"
            )
        if suffix not in (".py", ".ipynb"):
            if self._data_bytes + size > MAX_DATA_TOTAL:
                self._left_out.append(f"{shown(path)} (too much data in all)")
                return 0
            self._data_bytes += size
        self._bytes += size
        return size

    def add(self, path: str, data: bytes) -> None:
        """Keep a member for which there was room. Of two with the same name the later counts."""
        if path in self._members:
            self._twice.add(path)
        self._members[path] = data

    @property
    def inner_archives(self) -> tuple[str, ...]:
        """Archives found within the hand-in, not opened."""
        return tuple(sorted(self._inner_archives))

    def members(self) -> tuple[Member, ...]:
        """What was kept, sorted by path, without a folder that only wraps it."""
        prefix = _wrapping(self._members)
        return tuple(
            Member(path.removeprefix(prefix), data) for path, data in sorted(self._members.items())
        )

    @property
    def odd_names(self) -> tuple[str, ...]:
        """Sources that only their names tell to be tests or set-up files."""
        return tuple(sorted(self._odd_names))

    def notes(self) -> Iterator[str]:
        """What a student should know about the reading, one line a matter."""
        for path in self.odd_names if self._any_name else ():
            yield read_all_the_same(path)
        if self._ignored:
            yield f"ignored, being no part of the work: {listed(sorted(self._ignored))}"
        if self._left_out:
            yield f"too large to read: {listed(self._left_out)}"
        if self._inner_archives:
            yield f"archives within the hand-in are not opened: {listed(self.inner_archives)}"
        if self._twice:
            yield f"there twice under one name, the later one was read: {listed(self._twice)}"
        for spellings in _case_collisions(self._members):
            yield f"names that differ only in case, all were read: {listed(spellings)}"

    def _bound(self, suffix: str) -> int:
        if suffix == ".ipynb":
            return self.limits.max_notebook_mb * MEGABYTE
        if suffix == ".py":
            return self.limits.max_file_mb * MEGABYTE
        return MAX_DATA_FILE


def is_ignored(part: str, *, folder: bool) -> bool:
    """Whether a part of a path marks what is not work: tests, caches, environments, dot files."""
    lower = part.casefold()
    if lower.startswith((".", "test_")):
        return True
    return lower in (IGNORED_FOLDERS if folder else IGNORED_FILES)


def has_odd_name(path: str) -> bool:
    """Whether a source is called as tests and set-up files are; students' own files can be."""
    name = path.rsplit("/", 1)[-1].casefold()
    return suffix_of(name) in (".py", ".ipynb") and (
        name.startswith("test_") or name in IGNORED_FILES
    )


def read_all_the_same(path: str) -> str:
    """The note on a source of such a name that was read, there being no other."""
    name = path.rsplit("/", 1)[-1]
    return (
        f"{shown(name)} has the name of a test or set-up file, which is passed over beside other"
        " files; it is the only one, so it was read as the work: give it another name"
    )


def clean_path(name: str) -> str:
    """A member's name as a relative path that can be shown, sent and written anywhere.

    Bytes that are not text become U+FFFD, control characters `_`. Accents are composed, since
    some systems store them so and others do not.

    Args:
        name: The name as the folder or archive has it.

    Returns:
        The path, with `/` between its parts; empty for the hand-in itself.

    Raises:
        ValueError: The name is absolute, too long, or leads out of the hand-in; says which.
    """
    name = clean_text(name)
    if name.startswith("/") or re.match(r"[A-Za-z]:", name):
        raise ValueError("an absolute name")
    if len(name) > MAX_NAME:
        raise ValueError(f"a name of {len(name)} characters")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ValueError("a name that leads out of the hand-in (..)")
    return "/".join(parts)


def clean_text(text: str) -> str:
    """Text without anything that could break a terminal, a file name or a JSON file."""
    if text.isascii() and text.isprintable():  # nearly every name: there is nothing to clean
        return text
    whole = text.encode("utf-8", "surrogateescape" if _is_escaped(text) else "replace")
    composed = unicodedata.normalize("NFC", whole.decode("utf-8", "replace"))
    return "".join("_" if _is_control(character) else character for character in composed)


def shown(name: str) -> str:
    """A name for a message: clean, and no longer than a line."""
    name = clean_text(name)
    return name if len(name) <= 100 else f"{name[:60]}...{name[-30:]}"


def listed(names: Iterable[str]) -> str:
    """Some names in one line, the rest counted."""
    ordered = [shown(name) for name in sorted(names)]
    rest = len(ordered) - NOTED_AT_MOST
    return ", ".join(ordered[:NOTED_AT_MOST]) + (f" and {rest} more" if rest > 0 else "")


def suffix_of(path: str) -> str:
    """The last suffix in lower case, with its dot; "" where there is none."""
    name = path.rsplit("/", 1)[-1]
    return "." + name.rsplit(".", 1)[1].casefold() if "." in name else ""


def megabytes(size: int) -> str:
    """A size for a message."""
    return f"{size / MEGABYTE:.0f} MB" if size >= MEGABYTE else f"{size / 1000:.0f} kB"


def _is_escaped(text: str) -> bool:
    """Whether every surrogate in it stands for a byte that the file system had."""
    return all("\udc80" <= each <= "\udcff" for each in text if "\ud800" <= each <= "\udfff")


def _is_control(character: str) -> bool:
    # Cf holds the marks that change the direction of writing, with which a name can deceive.
    return unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp")


def _wrapping(paths: Iterable[str]) -> str:
    """The folder that holds everything and is no package itself, as a prefix; "" for none."""
    prefix = ""
    while True:
        rest = [path.removeprefix(prefix) for path in paths]
        tops = {path.split("/", 1)[0] for path in rest if "/" in path}
        if len(tops) != 1 or not all("/" in path for path in rest):
            return prefix
        top = tops.pop()
        is_package = top.isidentifier() and any(
            suffix_of(path) == ".py" and path.count("/") == 1 for path in rest
        )
        if is_package:
            return prefix
        prefix += top + "/"


def _case_collisions(paths: Iterable[str]) -> Iterator[list[str]]:
    spellings: dict[str, list[str]] = {}
    for path in sorted(paths):
        spellings.setdefault(path.casefold(), []).append(path)
    yield from (each for each in spellings.values() if len(each) > 1)
