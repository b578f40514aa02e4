"""Moodle's worksheet is filled in, and the feedback files get the names that it looks for."""

import io
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
import pytest

from autograder.assignment.assignment import Late
from autograder.errors import UsageError
from autograder.exports.filling import Wanted
from autograder.exports.final import Final
from autograder.exports.moodle import feedback_zip, fill
from autograder.submissions.downloads.handin import Origin
from autograder.submissions.roster import Person
from autograder.submissions.sheet import Sheet

Finals = Callable[..., tuple[Final, ...]]
FILE = (
    "Identifier,Full name,Email address,Status,Grade,Maximum grade,Grade can be changed,"
    "Last modified (submission),Last modified (grade),Feedback comments\r\n"
    'Participant 11,Ada Sample,ada@x.org,Submitted,,100.00,Yes,"Friday, 2 October",-,\r\n'
    'Participant 12,"García Márquez, ""Gabo""",gabo@x.org,Submitted,3.00,100.00,Yes,-,-,Good\r\n'
    "Participant 13,王 小明,wang@x.org,,,100.00,No,-,-,\r\n"
    "Participant 14,Nobody Sample,nobody@x.org,,,100.00,Yes,-,-,\r\n"
)


def moodle(number: str, name: str = "", *, late: bool = False) -> Origin:
    return Origin("moodle", said=Person(name=name, id=number), late=late)


class TestTheWorksheet:
    def test_grades_come_in_and_every_other_byte_stays(
        self, finals: Finals, wanted: Wanted
    ) -> None:
        sheet = Sheet(FILE.encode(), "w.csv")
        graded = finals(ada=(0.835, moodle("11")), gabo=(1.0, moodle("12")), wang=1.0, extra=1.0)
        account = fill(sheet, graded, wanted)
        assert sheet.encode().decode() == FILE.replace(
            "Submitted,,100", "Submitted,83.5,100"
        ).replace("Submitted,3.00", "Submitted,100")
        assert account.strangers == [("extra", "no matching row")]
        assert ("wang", "its grade cannot be changed") in account.left
        assert ("Nobody Sample", "nothing graded") in account.left

    def test_blind_marking_is_joined_by_the_number(self, finals: Finals, wanted: Wanted) -> None:
        text = "Identifier,Grade,Maximum grade,Grade can be changed\nParticipant 123456,,100,Yes\n"
        sheet = Sheet(text.encode(), "w.csv")
        fill(sheet, finals(**{"Participant 123456": (0.5, moodle("123456"))}), wanted)
        assert sheet.encode().decode() == text.replace("456,,", "456,50,")

    def test_another_maximum_scales_and_says_so(self, finals: Finals, wanted: Wanted) -> None:
        sheet = Sheet(FILE.replace("100.00", "20.00").encode(), "w.csv")
        account = fill(sheet, finals(ada=(0.835, moodle("11"))), wanted)
        assert sheet.text(1, 4) == "16.7"
        assert account.notes == [
            "the worksheet has 20 points: the scores of 100 are scaled to that"
        ]

    def test_in_another_language_the_teacher_names_the_column(
        self, finals: Finals, wanted: Wanted
    ) -> None:
        text = (
            "ID;Fulde navn;Tilstand;Karakter;Bedste karakter;Karakter kan ændres\n"
            "Deltager 11;Ada Sample;x;;10,00;Ja\n"
            "Deltager 12;Gabo Sample;x;;10,00;Nej\n"
        )
        sheet = Sheet(text.encode("cp1252"), "w.csv")
        graded = finals(ada=(0.835, moodle("11")), gabo=(1.0, moodle("12")))
        with pytest.raises(UsageError, match="expected a column Grade"):
            fill(sheet, graded, wanted)
        fill(sheet, graded, msgspec.structs.replace(wanted, column="Karakter"))
        assert sheet.encode().decode("cp1252") == text.replace("x;;10,00;Ja", "x;8,35;10,00;Ja")

    def test_a_scale_of_words_is_refused(self, finals: Finals, wanted: Wanted) -> None:
        sheet = Sheet(FILE.replace("Maximum grade", "Scale").encode(), "w.csv")
        with pytest.raises(UsageError, match="graded by a scale"):
            fill(sheet, finals(ada=1.0), wanted)

    def test_stages_and_lateness_are_told_where_there_is_no_comment_yet(
        self, finals: Finals, wanted: Wanted
    ) -> None:
        sheet = Sheet(FILE.encode(), "w.csv")
        late = Late(datetime(2026, 10, 1, tzinfo=UTC), flat_percent=10)
        graded = finals(late, ada=(0.8, moodle("11", late=True)), gabo=(1.0, moodle("12")))
        fill(sheet, graded, msgspec.structs.replace(wanted, by_stage=True))
        assert (sheet.text(1, 4), sheet.text(1, 9)) == (
            "72",
            "simplified 10.8 of 15; trainable 18 of 25; causal 21.6 of 30; multi_head 21.6 of 30;"
            " 10% deducted: late, unknown by how much",
        )
        assert sheet.text(2, 9) == "Good"

    def test_a_team_gives_everyone_its_grade(self, finals: Finals, wanted: Wanted) -> None:
        sheet = Sheet(FILE.encode(), "w.csv")
        people = (Person("a", email="ada@x.org"), Person("g", email="gabo@x.org"))
        team = Origin("moodle", Person(name="Team A", id="37"), people)
        fill(sheet, finals(**{"Team A": (0.9, team)}), wanted)
        assert (sheet.text(1, 4), sheet.text(2, 4)) == ("90", "90")


class TestFeedback:
    def names(self, data: bytes) -> list[str]:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            assert archive.testzip() is None
            return archive.namelist()

    def test_each_page_lies_where_moodle_looks(self, finals: Finals, wanted: Wanted) -> None:
        sheet = Sheet(FILE.encode(), "w.csv")
        filled = fill(sheet, finals(ada=(1.0, moodle("11")), gabo=(1.0, moodle("12"))), wanted)
        data = feedback_zip(sheet, filled, lambda final: final.student.encode())
        assert self.names(data) == [
            "Ada Sample_11_assignfeedback_file/feedback.html",
            'García Márquez, "Gabo"_12_assignfeedback_file/feedback.html',
        ]
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            assert archive.read("Ada Sample_11_assignfeedback_file/feedback.html") == b"ada"
        assert data == feedback_zip(sheet, filled, lambda final: final.student.encode())

    def test_blind_marking_has_no_names(self, finals: Finals, wanted: Wanted) -> None:
        text = "Identifier,Grade,Maximum grade\nParticipant 123456,,100\n"
        sheet = Sheet(text.encode(), "w.csv")
        filled = fill(sheet, finals(**{"Participant 123456": (0.5, moodle("123456"))}), wanted)
        assert self.names(feedback_zip(sheet, filled, lambda final: b"")) == [
            "Participant_123456_assignfeedback_file/feedback.html"
        ]

    @pytest.mark.parametrize(
        "name", ["../../etc", "/etc/passwd", "..", "~root", ".hidden", "a/b\\c"]
    )
    def test_no_name_leads_out_of_its_folder(
        self, finals: Finals, wanted: Wanted, name: str
    ) -> None:
        sheet = Sheet(FILE.replace("Ada Sample", name).encode(), "w.csv")
        filled = fill(sheet, finals(ada=(1.0, moodle("11"))), wanted)
        (place,) = self.names(feedback_zip(sheet, filled, lambda final: b""))
        assert place.count("/") == 1
        assert place.endswith("_11_assignfeedback_file/feedback.html")
        assert not place.startswith((".", "~", "/"))
        assert "\\" not in place
