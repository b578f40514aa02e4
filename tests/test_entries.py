"""`autograder.submissions.entries`: who is in a class, and who of the roster that is."""

import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.assignment.assignment import Limits
from autograder.errors import UsageError
from autograder.submissions.downloads.recognise import PLATFORMS
from autograder.submissions.entries import absentees, entries_of, strangers
from autograder.submissions.intake import Unreadable
from autograder.submissions.roster import Person, Roster

OUT = Path("elsewhere")
ROSTER = Roster(
    [
        Person("ada", "Sample, Ada", "4021", github="ada-s"),
        Person("gabo", "García Márquez, Gabriel", "4022", github="gabo", group="Team A"),
        Person("chen", "Chen, Wei", "4023", group="Team A"),
        Person("nobody", "Never, Ever", "4024"),
    ]
)


def lay(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")
    return folder


class TestWithoutRoster:
    def test_one_entry_a_student_where_it_is_no_platforms_download(self, tmp_path: Path) -> None:
        lay(tmp_path, "ada.py", "ben/a.py", "week_1_2_hw.py", "README.md", "roster.csv")
        assert [each.name for each in entries_of(tmp_path, OUT)] == ["ada", "ben", "week_1_2_hw"]

    def test_what_lies_beside_a_download_is_an_entry_too(self, tmp_path: Path) -> None:
        lay(tmp_path, "a_1_2_hw.py", "b_2_3_hw.py", "late by mail.py", "roster.csv")
        found = {each.name: each for each in entries_of(tmp_path, OUT)}
        assert sorted(found) == ["a", "b", "late by mail"]
        assert found["late by mail"].read(Limits()).files[0].path == "late by mail.py"

    def test_a_download_may_lie_in_a_folder_of_its_own(self, tmp_path: Path) -> None:
        lay(tmp_path, "hw1-submissions/hw1-a/.git/HEAD", "hw1-submissions/hw1-b/.git/HEAD")
        assert [each.name for each in entries_of(tmp_path, OUT)] == ["hw1-a", "hw1-b"]

    def test_a_lone_student_with_a_clone_in_a_folder_keeps_the_folders_name(
        self, tmp_path: Path
    ) -> None:
        lay(tmp_path, "ada/my-clone/.git/HEAD", "ada/my-clone/causal.py")
        assert [each.name for each in entries_of(tmp_path, OUT)] == ["ada"]

    def test_a_file_that_is_no_zip_is_refused(self, tmp_path: Path) -> None:
        lay(tmp_path, "ada.py", "ada.zip")
        with pytest.raises(UsageError, match="expected a folder, or a platform's bulk download"):
            entries_of(tmp_path / "ada.py", OUT)
        with pytest.raises(UsageError, match="not a zip, or a damaged one"):
            entries_of(tmp_path / "ada.zip", OUT)

    def test_a_zip_of_no_platform_says_what_to_do(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
            archive.writestr("ada.py", "x = 1")
            archive.writestr("ben.py", "x = 1")
        with pytest.raises(UsageError, match="not a bulk download of a known platform; unpack it"):
            entries_of(tmp_path / "class.zip", OUT)

    def test_names_in_a_zip_that_lead_out_are_told_and_cost_nobody_else_anything(
        self, tmp_path: Path
    ) -> None:
        with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
            archive.writestr("a_1_2_hw.py", "x = 1")
            archive.writestr("../../b_2_3_hw.py", "x = 1")
            archive.writestr("/etc/cron.d/c_3_4_hw.py", "x = 1")
        found = {each.name: each for each in entries_of(tmp_path / "class.zip", OUT)}
        assert [file.path for file in found.pop("a").read(Limits()).files] == ["hw.py"]
        assert sorted(found) == ["../../b_2_3_hw.py", "/etc/cron.d/c_3_4_hw.py"]
        for entry in found.values():
            with pytest.raises(Unreadable, match="a name that leads out|an absolute name"):
                entry.read(Limits())
        assert [path.name for path in tmp_path.iterdir()] == ["class.zip"]

    def test_links_in_a_download_are_not_followed(self, tmp_path: Path) -> None:
        lay(tmp_path, "a_1_2_hw.py", "b_2_3_hw.py")
        (tmp_path / "eve_3_4_hw.py").symlink_to("/etc/passwd")
        (tmp_path / "Eve S_5_assignsubmission_file").symlink_to("/etc")
        found = {each.name: each for each in entries_of(tmp_path, OUT)}
        for name in ("eve", "Eve S_5_assignsubmission_file"):
            with pytest.raises(Unreadable, match="a link; hand in the work itself"):
                found[name].read(Limits())

    def test_links_in_a_packed_download_cost_their_own_student(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
            link = zipfile.ZipInfo("eve_3_4_hw.py")
            link.external_attr = 0o120777 << 16
            archive.writestr(link, "/etc/passwd")
            archive.writestr("a_1_2_hw.py", "x = 1")
        found = {each.name: each for each in entries_of(tmp_path / "class.zip", OUT)}
        with pytest.raises(Unreadable, match="^eve: hw.py is a link"):
            found["eve"].read(Limits())
        assert found["a"].read(Limits()).files[0].data == b"x = 1"


class TestWithRoster:
    def test_students_go_by_the_rosters_name(self, tmp_path: Path) -> None:
        lay(tmp_path, "sampleada_4021_1_hw.py", "garcíamárquezgabriel_9_2_hw.py")
        found = entries_of(tmp_path, OUT, ROSTER)
        assert [each.name for each in found] == ["ada", "gabo"]
        assert found[0].origin is not None
        assert found[0].origin.people == (ROSTER.people[0],)

    def test_plain_entries_are_matched_by_their_names(self, tmp_path: Path) -> None:
        lay(tmp_path, "Ada Sample.py", "gabo/a.py")
        assert [each.name for each in entries_of(tmp_path, OUT, ROSTER)] == ["ada", "gabo"]

    def test_a_group_is_everyone_of_it(self, tmp_path: Path) -> None:
        lay(tmp_path, "Team A_37_assignsubmission_file/hw.py")
        (entry,) = entries_of(tmp_path, OUT, ROSTER)
        assert entry.name == "Team A"
        assert entry.origin is not None
        assert [person.student for person in entry.origin.people] == ["gabo", "chen"]

    def test_canvas_writes_a_groups_name_small_and_without_spaces(self, tmp_path: Path) -> None:
        lay(tmp_path, "teama_4023_1_hw.py", "sampleada_4021_2_hw.py")
        found = entries_of(tmp_path, OUT, ROSTER)
        assert [each.name for each in found] == ["ada", "teama"]
        assert found[1].origin is not None
        assert [person.student for person in found[1].origin.people] == ["gabo", "chen"]

    def test_repositories_by_the_end_of_their_names(self, tmp_path: Path) -> None:
        lay(
            tmp_path, "hw1-ada-s/.git/HEAD", "hw1-ada-s/a.py", "hw1-Gabo/.git/HEAD", "hw1-Gabo/a.py"
        )
        assert [each.name for each in entries_of(tmp_path, OUT, ROSTER)] == ["ada", "gabo"]

    def test_strangers_keep_their_names_and_are_told(self, tmp_path: Path) -> None:
        lay(tmp_path, "sampleada_4021_1_hw.py", "anon_x7_2_hw.py", "someoneelse_7_3_hw.py")
        found = entries_of(tmp_path, OUT, ROSTER)
        assert [each.name for each in strangers(found)] == ["anonymous x7", "someoneelse"]

    def test_who_handed_nothing_in_is_told(self, tmp_path: Path) -> None:
        lay(tmp_path, "sampleada_4021_1_hw.py", "teama_4023_2_hw.py")
        found = entries_of(tmp_path, OUT, ROSTER)
        assert [person.student for person in absentees(found, ROSTER)] == ["nobody"]

    def test_two_entries_of_one_student_are_refused_by_their_names(self, tmp_path: Path) -> None:
        lay(tmp_path, "Ada Sample.py", "sample, ada.py")
        with pytest.raises(UsageError, match="Ada Sample.py and sample, ada.py both belong to ada"):
            entries_of(tmp_path, OUT, ROSTER)


class Names:
    """A listing of nothing but names."""

    source = Path("download")
    prefix = ""

    def __init__(self, names: list[str]) -> None:
        self._names = tuple(names)

    def names(self) -> tuple[str, ...]:
        return self._names

    def inside(self, folder: str) -> "Names":
        return Names([])

    def head(self, name: str, at_most: int) -> bytes:
        return b""


parts = st.one_of(
    st.sampled_from(
        ["_", "LATE", "anon", "12", "7", "assignsubmission", "file", "/", " - ", "attempt", "text"]
    ),
    st.text(max_size=4),
)


@given(st.lists(st.lists(parts, max_size=9).map("".join), max_size=6, unique=True))
def test_no_name_whatever_it_holds_stops_a_class(names: list[str]) -> None:
    for _, hand_ins in PLATFORMS:
        for hand_in in hand_ins(Names(names)):
            assert set(hand_in.names) <= set(names)
            assert {piece.where for piece in hand_in.pieces} <= set(names)
