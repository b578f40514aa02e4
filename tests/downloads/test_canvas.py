"""Canvas's bulk downloads."""

import io
import zipfile
from collections.abc import Callable, Mapping

import pytest

from autograder.submissions.entries import Entry
from autograder.submissions.intake import Unreadable
from autograder.submissions.roster import Person
from autograder.submissions.submission import Submission

Entries = Callable[[Mapping[str, bytes]], dict[str, Entry]]
Read = Callable[[Entry], Submission]
CODE = b"x = 1\n"


def paths(submission: Submission) -> list[str]:
    return [file.path for file in submission.files]


def test_name_and_number_are_read_and_lateness(entries: Entries) -> None:
    found = entries(
        {"lovelaceada_LATE_4021_998877_hw1.py": CODE, "example_4022_998878_hw1.py": CODE}
    )
    assert sorted(found) == ["example", "lovelaceada"]
    ada, example = found["lovelaceada"].origin, found["example"].origin
    assert ada is not None
    assert example is not None
    assert (ada.platform, ada.late, ada.attempt) == ("canvas", True, "998877")
    assert ada.said == Person(name="lovelaceada", id="4021")
    assert not example.late


def test_letters_of_any_language_are_kept(entries: Entries) -> None:
    names = ("garcíamárquezgabriel", "ngũgĩ", "王小明", "नमूनाछात्र", "o_connor")
    files = {f"{name}_{number}_77_hw1.py": CODE for number, name in enumerate(names)}
    assert sorted(entries(files)) == sorted(names)


def test_several_files_of_one_student_are_one_hand_in(entries: Entries, read: Read) -> None:
    found = entries(
        {
            "sampleada_1_10_causal.py": b"a = 1\n",
            "sampleada_1_11_multi_head.py": b"b = 1\n",
            "sampleada_1_12_my_notes_2_3_x.txt": b"notes",
            "sampleben_2_13_all.py": CODE,
        }
    )
    assert paths(read(found["sampleada"])) == ["causal.py", "multi_head.py", "my_notes_2_3_x.txt"]


class TestHandedInAgain:
    def test_the_highest_attachment_counts_under_the_first_name(
        self, entries: Entries, read: Read
    ) -> None:
        found = entries(
            {
                "sampleada_1_10_hw1.py": b"old = 1\n",
                "sampleada_LATE_1_9000_hw1-2.py": b"new = 1\n",
                "sampleada_1_90_hw1-1.py": b"middle = 1\n",
            }
        )
        (file,) = read(found["sampleada"]).files
        assert (file.path, file.data) == ("hw1.py", b"new = 1\n")
        origin = found["sampleada"].origin
        assert origin is not None
        assert (origin.late, origin.attempt) == (True, "9000")
        assert found["sampleada"].notes == ("handed in again since, so not read: hw1-1.py, hw1.py",)

    def test_the_same_name_twice_is_handed_in_again_too(self, entries: Entries, read: Read) -> None:
        found = entries({"a_1_10_hw1.py": b"old = 1\n", "a_1_9_hw1.py": b"older = 1\n"})
        assert [file.data for file in read(found["a"]).files] == [b"old = 1\n"]

    def test_a_lone_second_try_gets_its_name_back(self, entries: Entries, read: Read) -> None:
        again = "0123abcd-0123-4567-89ab-0123456789ab"
        found = entries({"a_1_10_causal-1.py": CODE, f"a_1_11_multi_head-{again}.py": CODE})
        assert paths(read(found["a"])) == ["causal.py", "multi_head.py"]

    def test_numbered_parts_of_the_students_own_are_all_kept(
        self, entries: Entries, read: Read
    ) -> None:
        found = entries({"a_1_10_lab-1.py": CODE, "a_1_11_lab-2.py": CODE})
        assert paths(read(found["a"])) == ["lab-1.py", "lab-2.py"]
        assert found["a"].notes == ()


def test_two_students_of_one_name_keep_their_numbers(entries: Entries) -> None:
    found = entries({"sampleada_1_10_a.py": CODE, "sampleada_2_11_a.py": CODE})
    assert sorted(found) == ["sampleada 1", "sampleada 2"]


def test_anonymous_hand_ins_have_no_name_and_no_number(entries: Entries) -> None:
    found = entries({"anon_x7k2p_10_a.py": CODE, "LATE_anon_q9_11_a.py": CODE})
    assert sorted(found) == ["anonymous q9", "anonymous x7k2p"]
    origin = found["anonymous q9"].origin
    assert origin is not None
    assert origin.late
    assert origin.said == Person()


def test_typed_text_is_that_students_error_and_says_so(entries: Entries, read: Read) -> None:
    found = entries({"sampleada_1_text.html": b"<p>I did it</p>", "b_LATE_2_link.html": b"<a>"})
    assert sorted(found) == ["b", "sampleada"]
    with pytest.raises(Unreadable, match=r"^sampleada: no \.py file and no notebook"):
        read(found["sampleada"])


def test_a_zip_within_is_opened(entries: Entries, read: Read) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("my work/attention/causal.py", "x = 1\n")
    found = entries({"sampleada_1_10_hw1.zip": packed.getvalue(), "b_2_11_hw1.py": CODE})
    submission = read(found["sampleada"])
    assert paths(submission) == ["attention/causal.py"]
    assert submission.notes == ()


def test_what_was_read_is_told_where_there_is_more(entries: Entries, read: Read) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("causal.py", "x = 1\n")
    found = entries({"a_1_10_hw1.zip": packed.getvalue(), "a_1_11_words.txt": b"hello"})
    assert read(found["a"]).notes == ("read from hw1.zip",)


def test_several_zips_within_are_all_opened(entries: Entries, read: Read) -> None:
    files = {}
    for number, name in enumerate(("causal", "multi_head")):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr(f"{name}.py", "x = 1\n")
        files[f"a_1_{number}_{name}.zip"] = packed.getvalue()
    assert paths(read(entries(files)["a"])) == ["causal/causal.py", "multi_head/multi_head.py"]


@pytest.mark.parametrize("damaged", [b"PK\x03\x04 no zip at all", b""])
def test_a_damaged_zip_within_costs_its_own_student(
    entries: Entries, read: Read, damaged: bytes
) -> None:
    found = entries({"sampleada_1_10_hw1.zip": damaged, "b_2_11_hw1.py": CODE})
    with pytest.raises(Unreadable, match="^sampleada: "):
        read(found["sampleada"])
    assert paths(read(found["b"])) == ["hw1.py"]


def test_a_name_that_leads_out_is_that_students_error(entries: Entries, read: Read) -> None:
    found = entries({"sampleada_1_10_..": b"x", "b_2_11_hw1.py": CODE})
    with pytest.raises(Unreadable, match=r"sampleada: a name that leads out"):
        read(found["sampleada"])
