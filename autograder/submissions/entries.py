"""Who is in a class: the entries of its folder or of a platform's bulk download."""

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from autograder.assignment.assignment import Limits
from autograder.errors import UsageError
from autograder.submissions.downloads.handin import HandIn, Origin, Piece
from autograder.submissions.downloads.reading import read_pieces
from autograder.submissions.downloads.recognise import Download, recognise
from autograder.submissions.intake import Unreadable, clean_text, shown, suffix_of
from autograder.submissions.nobodys import is_new_folder, is_nobodys, is_worth_telling
from autograder.submissions.roster import Person, Roster
from autograder.submissions.submission import Submission, name_of, read_submission


class Entry(msgspec.Struct, frozen=True):
    """One student's entry in a class folder, or one hand-in of a download.

    Attributes:
        name: What the results are filed under.
        path: The entry itself; of a hand-in, the download.
        pieces: The files of a hand-in within the download.
        origin: What platform and roster say of it; None without either.
        notes: What the student should know about the reading.
    """

    name: str
    path: Path
    pieces: tuple[Piece, ...] = ()
    origin: Origin | None = None
    notes: tuple[str, ...] = ()

    def read(self, limits: Limits) -> Submission:
        """Read what was handed in, within `limits`.

        Raises:
            Unreadable: Whatever is wrong with it, in one line.
        """
        if self.pieces:
            return read_pieces(self.path, self.pieces, limits, self.name, self.notes)
        if self.path.is_symlink():
            raise Unreadable(f"{shown(self.path.name)}: a link; hand in the work itself")
        return read_submission(self.path, limits, self.name)

    @property
    def where(self) -> str:
        """The name that it has in its folder, for messages."""
        return shown(self.pieces[0].where.rstrip("/") if self.pieces else self.path.name)


def entries_of(folder: Path, out: Path, roster: Roster | None = None) -> tuple[Entry, ...]:
    """The entries of a class folder or download.

    Args:
        folder: The class folder, or a bulk download as a folder or zip.
        out: Where the results go; passed over if it lies within `folder`.
        roster: Who is in the class. An entry goes by its student's name there; one without a
            match, or with several, keeps its own.

    Returns:
        The entries, sorted by name.

    Raises:
        UsageError: The folder is missing or empty, or two entries have the same name.
    """
    if not folder.exists():
        raise UsageError(f"no such folder: {folder}")
    if not folder.is_dir() and suffix_of(folder.name) != ".zip":
        raise UsageError(f"{folder}: expected a folder, or a platform's bulk download as a zip")
    if out.resolve() == folder.resolve():
        raise UsageError(f"{out}: the results need a folder of their own")

    def passed_over(name: str) -> bool:
        if is_nobodys(name) or is_new_folder(folder / name):
            return True
        return folder.is_dir() and (folder / name).resolve() == out.resolve()

    download = recognise(folder, passed_over)
    found: dict[str, Entry] = {}
    for entry in _entries(folder, download, passed_over):
        entry = entry if roster is None else _matched(entry, roster)
        other = found.setdefault(entry.name.casefold(), entry)
        if other is not entry:
            raise UsageError(
                f"{folder}: {other.where} and {entry.where} both belong to {entry.name};"
                " keep one of them"
            )
    if not found:
        raise UsageError(
            f"{folder}: no submissions found; expected one file, folder or zip for each student"
        )
    return tuple(sorted(found.values(), key=lambda entry: entry.name))


def passed_over_in(folder: Path, out: Path) -> tuple[str, ...]:
    """What of a class folder is nobody's work, as far as somebody may ask for it."""
    if not folder.is_dir():
        return ()
    return tuple(
        shown(path.name)
        for path in sorted(folder.iterdir())
        if path.resolve() != out.resolve()
        and (is_nobodys(path.name) or is_new_folder(path))
        and is_worth_telling(path.name)
    )


def strangers(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """The entries without a match in the roster."""
    return tuple(entry for entry in entries if entry.origin is None or not entry.origin.people)


def absentees(entries: Iterable[Entry], roster: Roster) -> tuple[Person, ...]:
    """The people in the roster who handed in nothing."""
    seen = {
        person for entry in entries if entry.origin is not None for person in entry.origin.people
    }
    return tuple(person for person in roster.people if person not in seen)


def _entries(
    folder: Path, download: Download | None, passed_over: Callable[[str], bool]
) -> Iterable[Entry]:
    if download is None:
        for path in sorted(folder.iterdir()):
            if not passed_over(path.name):
                yield Entry(name_of(path), path)
        return
    for hand_in in download.hand_ins:
        yield _of(hand_in, folder)
    for where in download.others:  # not of the platform's form, but perhaps somebody's work
        name = where.rstrip("/").rpartition("/")[2]
        piece = Piece(where, "" if where.endswith("/") else name)
        yield Entry(name_of(folder / where), folder, (piece,), Origin(""))
    for where in dict.fromkeys(download.refused):  # leads out of the zip; reading it says so
        yield Entry(clean_text(where), folder, (Piece(where, where),), Origin(""))


def _of(hand_in: HandIn, source: Path) -> Entry:
    return Entry(hand_in.label, source, hand_in.pieces, hand_in.origin, hand_in.notes)


def _matched(entry: Entry, roster: Roster) -> Entry:
    """An entry under the name of its student or group in the roster."""
    origin = entry.origin or Origin("")
    said = origin.said if origin.platform else Person(student=entry.name)
    members = roster.members(said.name or said.student)
    if not members and origin.people:  # a group whose members the platform named
        members = tuple(person for each in origin.people for person in roster.find(each)[:1])
    people = members or roster.find(said)
    if not members and len(people) != 1:
        return msgspec.structs.replace(entry, origin=msgspec.structs.replace(origin, people=()))
    known = msgspec.structs.replace(origin, people=people)
    name = people[0].student if len(people) == 1 else entry.name
    return msgspec.structs.replace(entry, name=name, origin=known)
