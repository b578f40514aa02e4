"""Moodle's bulk downloads."""

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


@pytest.mark.parametrize(
    "name",
    [
        "Ada Sample_123456_assignsubmission_file/hw1.py",
        "Ada Sample_123456_assignsubmission_file_/hw1.py",
        "Ada Sample_123456_assignsubmission_file_hw1.py",
    ],
    ids=["folder", "folder of 3.1 to 4.0", "flat"],
)
def test_name_and_number_in_every_form(entries: Entries, read: Read, name: str) -> None:
    found = entries({name: CODE})
    assert list(found) == ["Ada Sample"]
    origin = found["Ada Sample"].origin
    assert origin is not None
    assert origin.platform == "moodle"
    assert origin.said == Person(name="Ada Sample", id="123456")
    assert paths(read(found["Ada Sample"])) == ["hw1.py"]


def test_underscores_stand_for_spaces(entries: Entries) -> None:
    assert list(entries({"Ada_de_Sample_7_assignsubmission_file/a.py": CODE})) == ["Ada de Sample"]


def test_a_name_with_quotes_commas_and_letters_of_any_language(entries: Entries) -> None:
    names = ('Gabriel "Gabo" García-Márquez', "Sample, Ada", "王 小明", "Siobhán O'Brien")
    files = {
        f"{name}_{number}_assignsubmission_file/a.py": CODE for number, name in enumerate(names)
    }
    assert sorted(entries(files)) == sorted(names)


def test_files_flat_and_below_are_one_hand_in(entries: Entries, read: Read) -> None:
    place = "Ada Sample_1_assignsubmission_file"
    found = entries(
        {
            f"{place}/attention/causal.py": CODE,
            f"{place}/attention/multi_head.py": CODE,
            f"{place}/tests/test_it.py": CODE,
            "Ada Sample_1_assignsubmission_onlinetext/onlinetext.html": b"<p>here</p>",
        }
    )
    submission = read(found["Ada Sample"])
    assert paths(submission) == [
        "attention/causal.py",
        "attention/multi_head.py",
        "onlinetext/onlinetext.html",
    ]
    ignored, typed = submission.notes
    assert ignored == "ignored, being no part of the work: tests/"
    assert typed.startswith("onlinetext/onlinetext.html is what was typed into the platform's box")


def test_text_alone_is_that_students_error(entries: Entries, read: Read) -> None:
    found = entries(
        {
            "Ada Sample_1_assignsubmission_onlinetext/onlinetext.html": b"<p>here</p>",
            "Ben Sample_2_assignsubmission_file/a.py": CODE,
        }
    )
    with pytest.raises(Unreadable, match=r"^Ada Sample: no \.py file and no notebook"):
        read(found["Ada Sample"])


def test_blind_marking_leaves_the_number(entries: Entries) -> None:
    found = entries({"Participant_123456_assignsubmission_file/a.py": CODE})
    assert list(found) == ["Participant 123456"]
    origin = found["Participant 123456"].origin
    assert origin is not None
    assert origin.said == Person(id="123456")


def test_two_students_of_one_name_keep_their_numbers(entries: Entries) -> None:
    place = "Ada Sample_{}_assignsubmission_file/a.py"
    assert sorted(entries({place.format(1): CODE, place.format(2): CODE})) == [
        "Ada Sample 1",
        "Ada Sample 2",
    ]


def test_an_empty_hand_in_is_that_students_error(entries: Entries, read: Read) -> None:
    found = entries(
        {
            "Ada Sample_1_assignsubmission_file/README.txt": b"later",
            "Ben Sample_2_assignsubmission_file/a.py": CODE,
        }
    )
    with pytest.raises(Unreadable, match="^Ada Sample: "):
        read(found["Ada Sample"])
