"""The class as a whole is looked at before it is graded: never two students in one."""

import re
import zipfile
from pathlib import Path

import pytest

from autograder.errors import UsageError
from autograder.exports.filling import matched
from autograder.submissions.class_folder import look_at_class, look_at_roster
from autograder.submissions.downloads.handin import Origin
from autograder.submissions.entries import Entry, entries_of, passed_over_in
from autograder.submissions.roster import Person, Roster, people_of, read_roster
from autograder.submissions.sheet import Sheet

HERE = Path(__file__).parent / "surroundings"
WORK = (HERE / "name_test_prefix" / "test_hw3.py").read_text()
MODULES = ("simplified", "trainable", "causal", "multi_head")
OUT = Path("elsewhere")


def lay(folder: Path, *names: str, text: str = WORK) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def unpacked(archive: Path, folder: Path) -> Path:
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
    return folder / archive.stem


def line(folder: Path) -> str:
    with pytest.raises(UsageError) as caught:
        look_at_class(folder, entries_of(folder, OUT), MODULES, "attention")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def fine(folder: Path) -> list[str]:
    entries = entries_of(folder, OUT)
    look_at_class(folder, entries, MODULES, "attention")
    return [entry.name for entry in entries]


class TestSections:
    def test_a_folder_of_sections_says_what_to_type(self, tmp_path: Path) -> None:
        told = line(unpacked(HERE / "sections_merged" / "sections.zip", tmp_path))
        assert "several students seem to be in one entry" in told
        assert "Section 1 has ada, ben.py" in told
        assert "autograder grade" in told
        assert "--one-student-each" in told

    def test_the_parts_of_a_drives_download(self) -> None:
        told = line(HERE / "sections_merged" / "drive")
        assert "in parts" in told
        assert "unzip -n" in told

    @pytest.mark.parametrize("name", ["Gruppe 2", "lab-3", "Tutorial B", "Sección 1", "3班"])
    def test_sections_in_other_words(self, tmp_path: Path, name: str) -> None:
        lay(tmp_path, f"{name}/ada/hw.py", f"{name}/ben/hw.py", "cleo.py")
        assert "ada, ben" in line(tmp_path)

    def test_a_section_of_zips(self, tmp_path: Path) -> None:
        lay(tmp_path, "section-1/ada.zip", "section-1/ben.zip")
        assert "ada.zip, ben.zip" in line(tmp_path)

    def test_a_group_with_one_package_is_one_entry(self, tmp_path: Path) -> None:
        for number in (1, 2):
            for module in MODULES:
                lay(tmp_path, f"Group {number}/{module}.py", text=f"def {module}(): ...\n")
        assert fine(tmp_path) == ["Group 1", "Group 2"]

    def test_a_student_with_two_versions_is_one_entry(self, tmp_path: Path) -> None:
        lay(tmp_path, "ada/hw.py", "ada/old/hw.py", "ben/hw.py")
        assert fine(tmp_path) == ["ada", "ben"]


class TestOneStudent:
    def test_a_students_own_package(self, tmp_path: Path) -> None:
        lay(tmp_path, *(f"attention/{module}.py" for module in MODULES), "notebooks/a.ipynb")
        told = line(tmp_path)
        assert "attention is what one student hands in, not a class" in told
        assert f"autograder check {tmp_path}" in told

    def test_a_students_own_modules(self, tmp_path: Path) -> None:
        lay(tmp_path, "simplified.py", "causal.py")
        assert "causal, simplified is what one student hands in" in line(tmp_path)

    def test_a_student_called_causal_is_a_student(self, tmp_path: Path) -> None:
        lay(tmp_path, "ada.py", "causal.py")
        assert fine(tmp_path) == ["ada", "causal"]


class TestNobodysFiles:
    def test_what_systems_editors_and_teachers_leave_is_passed_over(self, tmp_path: Path) -> None:
        folder = unpacked(HERE / "junk_entries" / "junk.zip", tmp_path)
        assert fine(folder) == ["ada"]
        told = passed_over_in(folder, OUT)
        assert "rubric.pdf" in told
        assert "Thumbs.db" not in told

    @pytest.mark.parametrize("name", ["ada.pdf", "hw by ada.docx", "ada.py.txt", "ada.md"])
    def test_what_may_be_a_students_is_kept(self, tmp_path: Path, name: str) -> None:
        lay(tmp_path, "ben.py", name)
        assert len(fine(tmp_path)) == 2

    def test_a_new_folder_with_work_is_kept(self, tmp_path: Path) -> None:
        lay(tmp_path, "ben.py", "New folder (2)/hw.py")
        assert fine(tmp_path) == ["New folder (2)", "ben"]


class TestRosters:
    def test_one_that_fits_nobody_is_refused(self, tmp_path: Path) -> None:
        folder = lay(tmp_path / "class", "ada.py", "ben.py")
        roster = Roster([Person("zoe", "Zoe Sample"), Person("yan", "Yan Sample")])
        entries = entries_of(folder, OUT, roster)
        with pytest.raises(UsageError, match="nobody in it fits any of the 2 entries"):
            look_at_roster(Path("roster.csv"), entries, roster)

    def test_one_that_fits_somebody_is_taken(self, tmp_path: Path) -> None:
        folder = lay(tmp_path / "class", "ada.py", "ben.py")
        roster = Roster([Person("ada", "Ada Sample")])
        look_at_roster(Path("roster.csv"), entries_of(folder, OUT, roster), roster)

    def test_a_student_of_two_sections_is_one_person(self, tmp_path: Path) -> None:
        roster = read_roster(HERE / "roster" / "dup_id.csv")
        assert [person.name for person in roster.people] == ["Ada Sample", "Jörg Müller"]
        assert len(roster.find(Person(name="Ada Sample"))) == 1

    def test_so_it_is_in_canvas(self) -> None:
        roster = read_roster(HERE / "roster" / "gb_dup.csv")
        assert [each.id for each in roster.people if each.login == "ada"] == ["1001"]
        assert len({each.student for each in roster.people}) == len(roster.people)

    def test_two_of_one_name_stay_two(self) -> None:
        sheet = Sheet(b"name,student id\nAda Sample,1\nAda Sample,2\n", "roster.csv")
        assert len(Roster(people_of(sheet).values()).people) == 2

    def test_both_rows_of_a_student_get_the_score(self) -> None:
        sheet = Sheet.read(HERE / "roster" / "gb_dup.csv")

        class Graded:
            student = "Sample, Ada"
            origin = Origin("canvas")

            def people(self, platform: str) -> list[tuple[Person, ...]]:
                return [(Person(id="1001"),)]

        rows, filled = matched(sheet, [Graded()], "canvas")  # type: ignore[list-item]
        assert len(rows) == 2
        assert filled.strangers == []


def test_the_columns_of_several_languages_are_found() -> None:
    text = (
        "Matrikelnummer;Nachname;Vorname;E-Mail\n00123;Sample;Ada;ada@x.org\n",
        "Numéro d'identification;Nom de famille;Prénom;Adresse de courriel\n00123;Sample;Ada;a@x\n",
        "Número de ID;Apellido(s);Nombre;Dirección de correo\n00123;Sample;Ada;a@x\n",
        "学号;姓;名;电子邮件地址\n00123;Sample;Ada;a@x\n",
    )
    for each in text:
        (person,) = people_of(Sheet(each.encode(), "roster.csv")).values()
        assert (person.number, person.name) == ("00123", "Sample, Ada")


def test_a_german_worksheet_gives_names_to_the_entries(tmp_path: Path) -> None:
    roster = read_roster(HERE / "german_moodle" / "worksheet.csv")
    folder = unpacked(HERE / "german_moodle" / "moodle.zip", tmp_path)
    entries = entries_of(folder, OUT, roster)
    known = {entry.name for entry in entries if entry.origin and entry.origin.people}
    assert len(known) == 5
    assert not [name for name in known if re.fullmatch(r"\d+", name)]


def test_an_entry_of_a_download_is_never_taken_for_a_section(tmp_path: Path) -> None:
    folder = unpacked(HERE / "german_moodle" / "moodle.zip", tmp_path)
    entries: tuple[Entry, ...] = entries_of(folder, OUT)
    look_at_class(folder, entries, MODULES, "attention")
