"""A look at the class as a whole before anybody is graded.

A folder of sections, the parts of a download, one student's own folder: each would give results in
which two students are one, or one is four. So it ends with one line that says what to type.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from autograder.errors import UsageError
from autograder.submissions.entries import Entry, absentees, strangers
from autograder.submissions.intake import is_ignored, listed, shown, suffix_of
from autograder.submissions.roster import Roster

OVERRIDE = "--one-student-each"
_PART = re.compile(r"(?P<whole>.+)-\d{8}T\d{6}Z(?:-\d+)?-\d{3}", re.IGNORECASE)
_SECTION = re.compile(
    r"(?:section|sec|group|gruppe|tutorium|tutorial|tut|lab|class|klasse|cohort|kurs|course|part"
    r"|teil|übung|uebung|grupo|groupe|sección|seccion|sezione|turma|班|组|组别)"
    r"[ _.-]*\w{0,12}|\w{1,3}[ _-]?(?:班|组)",
    re.IGNORECASE,
)
_DEFINED = re.compile(rb"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)
_IN_NOTEBOOK = re.compile(rb'"(?:async )?(?:def|class) (\w+)')
_WORK = (".py", ".ipynb", ".zip")
_SEEN_AT_MOST = 400  # files of an entry that are looked into
_BYTES_AT_MOST = 1_000_000


def look_at_class(
    folder: Path, entries: Sequence[Entry], modules: Iterable[str], package: str
) -> None:
    """`UsageError` where a folder is no class with a student an entry; the line says what it is.

    `modules`: the files of which one student's work consists; `package`: the folder they are in.
    """
    if not folder.is_dir():
        return
    plain = [entry for entry in entries if not entry.pieces]
    if not plain:
        return
    _no_parts(folder, plain)
    _no_single_student(folder, plain, frozenset(modules), package)
    _no_sections(folder, plain)


def look_at_roster(source: Path, entries: Sequence[Entry], roster: Roster) -> None:
    """`UsageError` where a roster fits not one of the entries: it is another class's, or unread."""
    if len(strangers(entries)) < len(entries) or not roster.people:
        return
    known = listed(person.name or person.student for person in absentees(entries, roster)[:3])
    handed = listed(entry.name for entry in entries[:3])
    raise UsageError(
        f"{source}: nobody in it fits any of the {len(entries)} entries; it has {known}, and the"
        f" entries are called {handed}; give the names of the entries in a column student, or leave"
        " --roster out"
    )


def _no_parts(folder: Path, entries: Sequence[Entry]) -> None:
    if all(suffix_of(each.path.name) == ".zip" and _PART.fullmatch(each.name) for each in entries):
        raise UsageError(
            f"{folder}: {listed(each.path.name for each in entries)}: this is a drive's download,"
            " in parts, and no student each; unpack them into one folder"
            f" (unzip -n '{folder}/*.zip' -d class) and grade the folder in it"
        )


def _no_single_student(
    folder: Path, entries: Sequence[Entry], modules: frozenset[str], package: str
) -> None:
    files = {each.path.stem for each in entries if suffix_of(each.path.name) == ".py"}
    packages = [
        each.name
        for each in entries
        if each.path.is_dir() and _holds_modules(each.path, modules) and each.name == package
    ]
    found = sorted(files & modules) if len(files & modules) > 1 else packages
    if found:
        raise UsageError(
            f"{folder}: {listed(found)} is what one student hands in, not a class: grade it with"
            f" autograder check {folder}; or name the folder above it; or, if they are students,"
            f" add {OVERRIDE}"
        )


def _holds_modules(package: Path, modules: frozenset[str]) -> bool:
    return any((package / f"{module}.py").is_file() for module in modules)


def _no_sections(folder: Path, entries: Sequence[Entry]) -> None:
    sections = {
        each.name: works
        for each in entries
        if each.path.is_dir() and _SECTION.fullmatch(each.name)
        for works in [_works(each.path)]
        if len(works) > 1
    }
    if not sections:
        return
    told = "; ".join(f"{shown(name)} has {listed(works)}" for name, works in sections.items())
    first = next(iter(sections))
    raise UsageError(
        f"{folder}: several students seem to be in one entry ({told}): grade each section by"
        f" itself, as in: autograder grade '{folder / first}' --out '{first} results'; or, if each"
        f" entry is one student's, add {OVERRIDE}"
    )


def _works(folder: Path) -> list[str]:
    """The parts of a folder that are works of their own: they define mostly the same names."""
    found: dict[str, frozenset[bytes]] = {}
    for path in sorted(folder.iterdir()):
        if is_ignored(path.name, folder=path.is_dir()) or path.is_symlink():
            continue
        if path.is_dir() or suffix_of(path.name) in _WORK:
            names = frozenset(_names_in(path))
            if names or suffix_of(path.name) == ".zip" or _is_source(path):
                found[path.name] = names
    zips = [name for name in found if suffix_of(name) == ".zip"]
    alike = [
        name
        for name, own in found.items()
        if any(
            other != name and len(own & theirs) * 2 > len(own | theirs)
            for other, theirs in found.items()
        )
    ]
    if not alike and len(zips) < 2:
        return []
    return list(found)


def _is_source(path: Path) -> bool:
    return suffix_of(path.name) in (".py", ".ipynb")


def _names_in(place: Path) -> Iterator[bytes]:
    """The functions and classes that a file or folder seems to define."""
    files: Iterable[Path] = [place]
    if place.is_dir():
        files = (Path(top) / name for top, _, names in os.walk(place) for name in sorted(names))
    for number, path in enumerate(files):
        if number >= _SEEN_AT_MOST:
            return
        if not _is_source(path) or path.is_symlink():
            continue
        try:
            with path.open("rb") as file:
                data = file.read(_BYTES_AT_MOST)
        except OSError:  # whoever reads it as a hand-in will tell
            continue
        yield from (_IN_NOTEBOOK if suffix_of(path.name) == ".ipynb" else _DEFINED).findall(data)
