"""Bulk downloads of Blackboard, Brightspace, Gradescope, nbgrader, and clones of repositories."""

from collections.abc import Callable, Mapping

import pytest

from autograder.errors import UsageError
from autograder.submissions.entries import Entry
from autograder.submissions.roster import Person
from autograder.submissions.submission import Submission

Entries = Callable[[Mapping[str, bytes]], dict[str, Entry]]
Read = Callable[[Entry], Submission]
CODE = b"x = 1\n"


def paths(submission: Submission) -> list[str]:
    return [file.path for file in submission.files]


class TestBlackboard:
    FIRST = "HW_2_al123_attempt_2021-07-20-21-02-38"
    LAST = "HW_2_al123_attempt_2021-07-21-00-00-01"
    FILES: Mapping[str, bytes] = {
        f"{FIRST}.txt": b"Name: Ada Sample (al123)\n",
        f"{FIRST}_hw2.py": b"old = 1\n",
        f"{LAST}.txt": "\ufeffName: Ada Sämple (al123)\r\nAssignment: HW 2\r\n".encode(),
        f"{LAST}_causal.py": CODE,
        f"{LAST}_multi_head.py": CODE,
        "HW_2_bs_attempt_2021-07-20-21-02-38_hw2.py": CODE,
    }

    def test_the_last_attempt_counts_with_all_its_files(self, entries: Entries, read: Read) -> None:
        found = entries(self.FILES)
        assert sorted(found) == ["al123", "bs"]
        assert paths(read(found["al123"])) == ["attempt.txt", "causal.py", "multi_head.py"]
        assert found["al123"].notes == ("the last of 2 attempts",)

    def test_login_name_and_time_are_kept(self, entries: Entries) -> None:
        origin = entries(self.FILES)["al123"].origin
        assert origin is not None
        assert origin.said == Person(name="Ada Sämple", login="al123")
        assert (origin.submitted, origin.attempt) == ("2021-07-21 00:00:01", "2")


class TestBrightspace:
    def test_the_last_hand_in_counts_whatever_order_names_have(
        self, entries: Entries, read: Read
    ) -> None:
        found = entries(
            {
                "index.html": b"<table>",
                "39786-640693 - Ada Sample - Oct 9, 2025 1122 PM/hw1.py": b"old = 1\n",
                "39786-640693 - Ada Sample - Oct 10, 2025 1222 AM/hw1.py": CODE,
                "39787-640693 - Ben - Bo Sample - Oct 10, 2025 902 AM/hw1.py": CODE,
            }
        )
        assert "Ada Sample" in found
        assert read(found["Ada Sample"]).files[0].data == CODE
        origin = found["Ada Sample"].origin
        assert origin is not None
        assert origin.said == Person(name="Ada Sample", id="39786")
        assert origin.submitted == "2025-10-10 00:22:00"
        ben = found["Ben - Bo Sample"].origin
        assert ben is not None
        assert ben.submitted == "2025-10-10 09:02:00"

    def test_files_may_lie_flat(self, entries: Entries, read: Read) -> None:
        place = "39786-640693 - Ada Sample - Oct 10, 2025 1222 AM"
        found = entries({f"{place} - causal.py": CODE, f"{place} - multi_head.py": CODE})
        assert paths(read(found["Ada Sample"])) == ["causal.py", "multi_head.py"]


class TestGradescope:
    METADATA = """---
submission_123:
  :submitters:
  - :name: Ada Sämple
    :sid: '007'
    :email: ada@x.org
  :created_at: 2025-10-10 12:00:00.000000000 Z
  :score: 1.0
submission_124:
  :submitters:
  - :name: Ben Sample
    :sid:
    :email: ben@x.org
  - :name: Cy Sample
    :sid: s3
    :email: cy@x.org
  :created_at: 2025-10-11 12:00:00.000000000 Z
  :results: !ruby/hash:ActiveSupport::HashWithIndifferentAccess
    output: !ruby/object:Kernel {}
submission_125:
  :submitters: []
"""

    def test_submitters_are_read_a_group_included(self, entries: Entries, read: Read) -> None:
        found = entries(
            {
                "export/submission_metadata.yml": self.METADATA.encode(),
                "export/submission_123/attention/causal.py": CODE,
                "export/submission_124/hw1.py": CODE,
                "export/submission_125/hw1.py": CODE,
            }
        )
        assert sorted(found) == ["Ada Sämple", "Ben Sample and Cy Sample", "submission_125"]
        ada = found["Ada Sämple"].origin
        assert ada is not None
        assert ada.said == Person(name="Ada Sämple", number="007", email="ada@x.org")
        assert (ada.attempt, ada.submitted[:19]) == ("123", "2025-10-10 12:00:00")
        group = found["Ben Sample and Cy Sample"].origin
        assert group is not None
        assert [person.email for person in group.people] == ["ben@x.org", "cy@x.org"]
        assert paths(read(found["Ada Sämple"])) == ["attention/causal.py"]

    @pytest.mark.parametrize(
        "metadata", [b"", b"- 1\n", b"a: [", b"\xff\xfe\x00", b"x: !!python/object:os.system {}"]
    )
    def test_a_damaged_table_leaves_folders_under_their_own_names(
        self, entries: Entries, metadata: bytes
    ) -> None:
        files = {"submission_metadata.yml": metadata, "submission_1/a.py": CODE}
        try:
            assert list(entries(files)) == ["submission_1"]
        except UsageError as error:  # a zip has to be some platform's
            assert "not a bulk download" in str(error)


class TestNbgrader:
    STAMP = b"2025-10-10 12:00:00.000000 UTC"

    def test_the_assignments_folder_is_the_hand_in(self, entries: Entries, read: Read) -> None:
        found = entries(
            {
                "ada/attention/causal.py": CODE,
                "ada/attention/timestamp.txt": self.STAMP,
                "ben/attention/causal.py": CODE,
            }
        )
        assert sorted(found) == ["ada", "ben"]
        origin = found["ada"].origin
        assert origin is not None
        assert (origin.platform, origin.submitted) == ("nbgrader", self.STAMP.decode())
        assert paths(read(found["ben"])) == ["causal.py"]

    def test_of_several_assignments_the_teacher_chooses(self, entries: Entries) -> None:
        with pytest.raises(UsageError, match=r"several nbgrader assignments \(hw1, hw2\)"):
            entries(
                {
                    "ada/hw1/a.py": CODE,
                    "ada/hw1/timestamp.txt": self.STAMP,
                    "ben/hw2/a.py": CODE,
                    "ben/hw2/timestamp.txt": self.STAMP,
                }
            )


class TestGitHub:
    def test_clones_are_read_without_what_git_keeps(self, entries: Entries, read: Read) -> None:
        found = entries(
            {
                "hw1-ada-sample/.git/HEAD": b"ref: refs/heads/main\n",
                "hw1-ada-sample/.github/workflows/checks.yml": b"on: push\n",
                "hw1-ada-sample/attention/causal.py": CODE,
                "hw1-ben/.git/HEAD": b"ref: refs/heads/main\n",
                "hw1-ben/attention/causal.py": CODE,
            }
        )
        assert sorted(found) == ["hw1-ada-sample", "hw1-ben"]
        origin = found["hw1-ada-sample"].origin
        assert origin is not None
        assert origin.said == Person(repository="hw1-ada-sample")
        assert paths(read(found["hw1-ada-sample"])) == ["attention/causal.py"]
