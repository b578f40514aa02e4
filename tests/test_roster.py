"""`autograder.submissions.roster`: who is meant, by whatever is known of them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.errors import UsageError
from autograder.submissions.roster import Person, Roster, people_of, read_roster
from autograder.submissions.sheet import Sheet


def people(text: str) -> list[Person]:
    return list(people_of(Sheet(text.encode(), "roster.csv")).values())


class TestReading:
    def test_its_own_columns_in_any_order_and_case(self) -> None:
        text = "Group,E-Mail,student,GitHub,Login,Name,ID\nT1,a@x.org,ada,AdaL,al1,Ada Sample,7\n"
        assert people(text) == [
            Person("ada", "Ada Sample", "7", "", "al1", "a@x.org", "AdaL", "", "T1")
        ]

    def test_without_a_student_the_surest_short_mark_stands_for_it(self) -> None:
        text = "name,login,email\nAda,al1,a@x\nBen,,b@x\nCy,,\n"
        assert [each.student for each in people(text)] == ["al1", "b@x", "Cy"]

    def test_a_canvas_gradebook_is_a_roster(self) -> None:
        text = (
            "\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,Homework 1 (5567),Final Score\n"
            "    Points Possible,,,,,10,(read only)\n"
            ",,,,,Manual Posting,\n"
            '"Sample, Ada",4021,s123,ada,Sec 1,8.5,\n'
            '"Student, Test",4022,,x,Sec 1,,\n'
        )
        assert people(text) == [Person("ada", "Sample, Ada", "4021", "s123", "ada")]

    def test_a_moodle_worksheet_is_a_roster(self) -> None:
        text = (
            "Identifier,Full name,Email address,Status,Grade\n"
            "Participant 123456,Ada Sample,ada@x.org,Submitted,\n"
        )
        assert people(text) == [
            Person("ada@x.org", "Ada Sample", id="123456", email="ada@x.org"),
        ]

    def test_a_moodle_worksheet_in_another_language_is_a_roster(self) -> None:
        text = "Kennung,Vollständiger Name,Bewertung\nTeilnehmer/in 5,Ada Sample,\n"
        assert people(text) == [Person("Ada Sample", "Ada Sample", id="5")]

    def test_a_gradescope_export_is_a_roster(self) -> None:
        text = "First Name,Last Name,SID,Email\nAda,Sample Example,s1,ada@x.org\n"
        assert people(text) == [
            Person("ada@x.org", "Sample Example, Ada", number="s1", email="ada@x.org")
        ]

    def test_a_classroom_export_is_a_roster(self) -> None:
        text = (
            "assignment_name,github_username,roster_identifier,student_repository_name,group_name\n"
            "hw1,adal,ada,hw1-adal,\n"
        )
        assert people(text) == [
            Person("ada", login="ada", github="adal", repository="hw1-adal"),
        ]

    def test_signs_that_brightspace_adds_are_no_part_of_a_name(self) -> None:
        text = "OrgDefinedId,Username,End-of-Line Indicator\n#2006,#ada.l,#\n"
        assert people(text) == [Person("ada.l", number="2006", login="ada.l")]

    def test_two_of_one_name_are_refused_with_their_rows(self) -> None:
        with pytest.raises(UsageError, match="roster.csv: line 4: 'ADA' is already in line 2"):
            people("student\nada\nben\nADA\n")

    def test_of_two_with_one_name_and_no_other_mark_the_number_tells(self) -> None:
        text = 'Student,ID,Section\n"Sample, Ada",1,S\n"Sample, Ada",2,S\n'
        assert [each.student for each in people(text)] == ["Sample, Ada", "Sample, Ada 2"]

    def test_columns_that_tell_nobody_are_refused(self) -> None:
        with pytest.raises(UsageError, match="line 1: no column that identifies a student.*points"):
            people("points,group\n1,a\n")

    def test_an_empty_roster_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "r.csv").write_text("student\n\n")
        with pytest.raises(UsageError, match="no people in it"):
            read_roster(tmp_path / "r.csv")


ROSTER = Roster(
    [
        Person("ada", "Ada Sample", "7", "s1", "asample", "ada@x.org", "ada-love", group="Team A"),
        Person("gabo", "García Márquez, Gabriel", "8", "s2", "gg2", "gg@x.org", "love"),
        Person("chen1", "Chen Wei", "9", "s3", "cw1", "cw1@x.org", group="Team A"),
        Person("chen2", "Wei Chen", "10", "s4", "cw2", "cw2@x.org"),
        Person("obrien", "Siobhán O'Brien-Ní Example", "11"),
    ]
)


def found(**said: str) -> list[str]:
    return [person.student for person in ROSTER.find(Person(**said))]


class TestFinding:
    @pytest.mark.parametrize(
        "said",
        [
            {"id": "7", "name": "somebody else"},
            {"number": "S1"},
            {"login": "ASample"},
            {"login": "ada"},
            {"email": "ADA@x.org"},
            {"github": "Ada-Love"},
            {"name": "sample, ada"},
            {"name": "sampleada"},
            {"student": "ada"},
            {"student": "asample"},
            {"student": "ada@x.org"},
            {"student": "Ada Sample"},
            {"repository": "hw1-Ada-Love"},
        ],
    )
    def test_by_any_mark(self, said: dict[str, str]) -> None:
        assert found(**said) == ["ada"]

    @pytest.mark.parametrize(
        "name",
        [
            "Gabriel García Márquez",
            "García Márquez, Gabriel",
            "garcíamárquezgabriel",
            "garciamarquezgabriel",
            "GABRIEL GARCI\u0301A MA\u0301RQUEZ",
        ],
    )
    def test_a_double_surname_in_any_order_with_or_without_accents(self, name: str) -> None:
        assert found(name=name) == ["gabo"]

    def test_apostrophes_and_hyphens_are_lost_on_the_way(self) -> None:
        assert found(name="obrienníexamplesiobhán") == ["obrien"]

    def test_two_that_fit_are_both_told(self) -> None:
        assert found(name="weichen") == ["chen1", "chen2"]

    def test_a_number_decides_between_them(self) -> None:
        assert found(name="weichen", id="10") == ["chen2"]

    def test_nobody_fits_a_stranger(self) -> None:
        assert found(name="Nobody Here", id="99", login="nh") == []
        assert found() == []

    def test_the_longest_end_of_a_repositorys_name_decides(self) -> None:
        assert found(repository="hw1-ada-love") == ["ada"]
        assert found(repository="hw1-love") == ["gabo"]
        assert found(repository="love") == []

    def test_a_group_by_its_name_or_what_a_file_name_leaves_of_it(self) -> None:
        for name in ("Team A", "teama", "TEAM A"):
            assert [each.student for each in ROSTER.members(name)] == ["ada", "chen1"]
        assert ROSTER.members("") == ()


names = st.text(st.characters(categories=("L", "M", "Nd", "Zs", "Pd", "Po")), min_size=1).filter(
    lambda name: any(each.isalnum() for each in name)
)


@given(st.lists(names, min_size=1, max_size=4), names)
def test_a_name_is_found_as_canvas_writes_it(first: list[str], last: str) -> None:
    person = Person("x", f"{last.replace(',', '')}, {' '.join(first)}")
    sortable = "".join(
        each for each in person.name.lower() if each.isalnum() or each == "_" or _is_mark(each)
    )
    assert Roster([person, Person("y", "Someone Else")]).find(Person(name=sortable)) == (person,)


def _is_mark(character: str) -> bool:
    import unicodedata

    return unicodedata.category(character)[0] == "M"
