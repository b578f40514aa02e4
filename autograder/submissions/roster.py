"""Who is in the class, and which of them a name, a number or an address means.

A roster is a CSV file or a workbook of Excel with a header. Of its columns are read, whatever their
case and order: `student` (what results are filed under), `name`, `id` (the platform's number),
`number` (the school's), `login`, `email`, `github`, `group`. A gradebook or worksheet that
Canvas, Moodle, Gradescope, Blackboard or GitHub Classroom exported is a roster as it is.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from autograder.errors import UsageError
from autograder.submissions.intake import clean_text
from autograder.submissions.sheet import Sheet

TITLES: dict[str, tuple[str, ...]] = {
    "student": ("student",),
    "name": (
        *("name", "full name", "student name", "vollständiger name", "nom complet"),
        *("nombre completo", "nome completo", "全名", "姓名"),
    ),
    "last_name": (
        *("last name", "last_name", "lastname", "surname", "family name", "nachname"),
        *("nom de famille", "nom", "apellido(s)", "apellidos", "cognome", "姓", "姓氏"),
    ),
    "first_name": (
        *("first name", "first_name", "firstname", "given name", "vorname", "prénom"),
        *("nombre", "nome", "名", "名字"),
    ),
    "id": (
        *("id", "canvas id", "moodle id", "user id", "identifier", "identifiant"),
        *("identificador", "标识符", "编号"),
    ),
    "number": (
        *("number", "sid", "student id", "sis user id", "id number", "orgdefinedid"),
        *("matrikelnummer", "matrikel-nr.", "id-nummer", "numéro d'identification"),
        *("numéro étudiant", "número de id", "número de matrícula", "学号", "学号id"),
    ),
    "login": (
        *("login", "login id", "sis login id", "username", "user name", "roster_identifier"),
        *("anmeldename", "benutzername", "nom d'utilisateur", "nombre de usuario", "用户名"),
    ),
    "email": (
        *("email", "e-mail", "email address", "mail", "e-mail-adresse", "adresse de courriel"),
        *("courriel", "dirección de correo", "dirección email", "correo electrónico"),
        *("电子邮件地址", "电子邮件", "邮箱"),
    ),
    "github": ("github", "github_username", "github username"),
    "repository": ("repository", "student_repository_name"),
    "group": ("group", "team", "group_name", "group name"),
}
MAX_PEOPLE = 100_000


class Person(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of a person. Only what the platform itself wrote is sure to be true."""

    student: str = ""
    name: str = ""
    id: str = ""
    number: str = ""
    login: str = ""
    email: str = ""
    github: str = ""
    repository: str = ""
    group: str = ""


class Roster:
    """The people of a class, found by whatever is known of them."""

    def __init__(self, people: Iterable[Person]) -> None:
        self.people = tuple(dict.fromkeys(people))
        self._by: dict[str, dict[str, list[Person]]] = {}
        for person in self.people:
            for key, value in _keys(person):
                known = self._by.setdefault(key, defaultdict(list))[value]
                if not known or known[-1] is not person:
                    known.append(person)

    def find(self, wanted: Person) -> tuple[Person, ...]:
        """The people who match; the most reliable field that matches anybody decides.

        The order is: the platform's number, the school's number, login, e-mail address, GitHub
        name, name. A bare `student`, such as a file's name, may be any of them.

        Args:
            wanted: What is known of the person.

        Returns:
            Nobody, one person, or several if the field does not tell them apart.
        """
        for keys, values in _marks(wanted):
            found = self._among(keys, values)
            if found:
                return found
        if wanted.repository:
            return self._of_repository(_plain(wanted.repository))
        return ()

    def members(self, group: str) -> tuple[Person, ...]:
        """Everyone in a group, by its name as it is or as file names have it."""
        return self._among(("group",), (_squeezed(group),)) if group else ()

    def _among(self, keys: Iterable[str], values: Iterable[str]) -> tuple[Person, ...]:
        wanted = [value for value in values if value]
        for key in keys:
            index = self._by.get(key, {})
            hits = [person for value in wanted for person in index.get(value, ())]
            if hits:
                return tuple(dict.fromkeys(hits))
        return ()

    def _of_repository(self, repository: str) -> tuple[Person, ...]:
        """Whose name ends a repository's: for `hw1-ada-love`, `ada-love` before `love`."""
        rest = repository
        while "-" in rest:
            rest = rest.partition("-")[2]
            found = self._among(("github", "login", "student"), (rest,))
            if found:
                return found
        return ()


def read_roster(path: Path) -> Roster:
    """Read a roster; `UsageError` names line and column of what is wrong with it."""
    sheet = Sheet.read(path, workbooks=True)
    people = tuple(people_of(sheet).values())
    if not people:
        raise UsageError(f"{path}: no people in it")
    if len(people) > MAX_PEOPLE:
        raise UsageError(f"{path}: more than {MAX_PEOPLE} people")
    return Roster(people)


def people_of(sheet: Sheet, *, groups: bool = False) -> dict[int, Person]:
    """The people of a sheet, by row.

    Args:
        sheet: A roster, or a platform's own sheet.
        groups: Whether a row without a person stands for the group that it names.

    Returns:
        The people by the numbers of their rows. Each has a `student` of their own.

    Raises:
        UsageError: No column says who is who, or two rows are about the same student.
    """
    columns = _columns(sheet)
    if not columns.keys() - ({"last_name", "first_name"} if groups else {"group"}):
        raise UsageError(
            f"{sheet.name}: line 1: no column that identifies a student; expected one of student,"
            f" name, id, number, login, email, github; found {', '.join(sheet.header)}"
        )
    people: dict[int, Person] = {}
    taken: dict[str, int] = {}
    known: dict[tuple[str, ...], Person] = {}
    for row in sheet.rows:
        person = _person(sheet, row, columns)
        if person is None:
            continue
        if not person.student:
            if not (groups and person.group):
                continue
            person = msgspec.structs.replace(person, student=person.group)
        again = _same_as(person, known)
        if again is not None:
            people[row] = again
            continue
        if "student" not in columns and person.student.casefold() in taken and person.id:
            person = msgspec.structs.replace(person, student=f"{person.student} {person.id}")
        earlier = taken.setdefault(person.student.casefold(), row)
        if earlier != row:
            raise UsageError(
                f"{sheet.name}: line {sheet.line(row)}: {person.student!r} is already in line"
                f" {sheet.line(earlier)}; give each row a different student"
            )
        people[row] = person
    return people


def _same_as(person: Person, known: dict[tuple[str, ...], Person]) -> Person | None:
    """Who was in an earlier row already: the same number, login or address under the same name.

    Whoever sits in two sections is in the file twice.
    """
    marks = tuple(
        _plain(getattr(person, key)) for key in ("student", "id", "number", "login", "email")
    )
    if not any(marks[1:]):
        return None
    key = (*marks, _plain(person.name), _plain(person.group))
    found = known.setdefault(key, person)
    return None if found is person else found


def _columns(sheet: Sheet) -> dict[str, int]:
    """Which column holds what."""
    titles = dict(TITLES)
    header = {title.casefold() for title in sheet.header}
    if {"student", "id", "section"} <= header:  # Canvas calls the name so
        titles |= {"student": (), "name": ("student",)}
    found = {key: sheet.column(*each) for key, each in titles.items()}
    columns = {key: column for key, column in found.items() if column is not None}
    if "id" not in columns and sheet.column("student", "name", "login", "email") is None:
        columns |= _worksheet(sheet)
    return columns


def _worksheet(sheet: Sheet) -> dict[str, int]:
    """Moodle's worksheet in any language begins with `Participant 123`, then the full name."""
    first = [sheet.text(row, 0) for row in sheet.rows]
    if first and all(re.fullmatch(r"\D+\s\d+", cell) for cell in first):
        return {"id": 0, "name": 1} if len(sheet.header) > 1 else {"id": 0}
    return {}


def _person(sheet: Sheet, row: int, columns: dict[str, int]) -> Person | None:
    """The person in a row; None for rows that are about nobody."""
    said = {key: clean_text(sheet.text(row, column)) for key, column in columns.items()}
    if said.get("name", "") in ("Points Possible", "Student, Test"):
        return None
    last, first = said.pop("last_name", ""), said.pop("first_name", "")
    if not said.get("name"):
        said["name"] = f"{last}, {first}" if last and first else last or first
    # Moodle writes `Participant 123`, Brightspace `#123` and `#ada`.
    said["id"] = re.sub(r"^\D*\s(?=\d+$)", "", said.get("id", ""))
    for key in ("number", "login"):
        said[key] = said.get(key, "").removeprefix("#")
    student = next(
        (
            said[key]
            for key in ("student", "login", "email", "number", "github", "name", "id")
            if said.get(key)
        ),
        "",
    )
    return Person(**{**said, "student": student})


def _keys(person: Person) -> Iterator[tuple[str, str]]:
    """The fields by which a person is found, each with its value."""
    for key in ("student", "id", "number", "login", "email", "github", "repository"):
        value = _plain(getattr(person, key))
        if value:
            yield key, value
    if "@" in person.email:
        yield "mailbox", _plain(person.email.partition("@")[0])
    if person.group:
        yield "group", _squeezed(person.group)
    for name in _orders(person.name):
        yield "name", name
        yield "letters", _letters(name)


def _marks(wanted: Person) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """What to look for, most reliable first: the fields, and the values that may be in them."""
    yield ("repository",), (_plain(wanted.repository),)
    yield ("id", "student"), (_plain(wanted.id),)
    yield ("number", "student"), (_plain(wanted.number),)
    yield ("login", "student", "mailbox"), (_plain(wanted.login),)
    yield ("email", "student", "login"), (_plain(wanted.email),)
    yield ("github", "student"), (_plain(wanted.github),)
    anything = ("student", "login", "email", "mailbox", "github", "number", "id")
    yield anything, (_plain(wanted.student),)
    names = tuple(_orders(wanted.name or wanted.student))
    yield ("name",), names
    yield ("letters",), tuple(_letters(name) for name in names)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip()


def _squeezed(text: str) -> str:
    """Only letters, marks and digits, in lower case: what a platform leaves of a name."""
    return "".join(
        each for each in _plain(text) if each.isalnum() or unicodedata.category(each)[0] == "M"
    )


def _letters(name: str) -> str:
    """A squeezed name without accents; some systems lose them."""
    apart = unicodedata.normalize("NFKD", name)
    return "".join(each for each in apart if unicodedata.category(each)[0] != "M")


def _orders(name: str) -> Iterator[str]:
    """A name squeezed, in each order in which it may be written.

    "Gabriel García Márquez" is "García Márquez, Gabriel" elsewhere and `garcíamárquezgabriel` in a
    file name. Where the surname begins is not known, so every rotation is tried.
    """
    words = [word for word in map(_squeezed, name.replace(",", " ").split()) if word]
    for start in range(min(len(words), 12)):
        yield "".join(words[start:] + words[:start])
