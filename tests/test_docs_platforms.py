"""What docs/lms.md and docs/github.md tell a teacher to type, typed.

The commands are taken from the pages as they stand and run in order, with real grading, in a
folder that holds what the platform would have given. Only addresses on GitHub lead to local
repositories.
"""

import csv
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT

BIN = Path(sys.executable).parent
CLASS = ROOT / "examples" / "submissions"
PAGES = ("lms.md", "github.md")
AT_MOST = 10  # commands from release to grades


def sections(page: str) -> dict[str, list[str]]:
    """The commands of each section of a page, one a line, of sections that have any."""
    found: dict[str, list[str]] = {}
    for part in (ROOT / "docs" / page).read_text("utf-8").split("\n## ")[1:]:
        title = part.partition("\n")[0]
        blocks = re.findall(r"^```sh\n(.*?)^```", part, flags=re.MULTILINE | re.DOTALL)
        commands = [line for block in blocks for line in block.splitlines() if line]
        if commands:
            found[title] = commands
    return found


def canvas(place: Path) -> None:
    with zipfile.ZipFile(place / "submissions.zip", "w") as archive:
        archive.write(CLASS / "ben.py", "sampleben_4021_900_hw1-1.py")
        archive.write(CLASS / "rosa.py", "sampleben_4021_800_hw1.py")
        archive.write(CLASS / "elif.zip", "garcíamárquezelif_LATE_4022_901_work.zip")
    (place / "gradebook.csv").write_text(
        "\ufeffStudent,ID,SIS Login ID,Section,Homework 1 (5567),Final Score\r\n"
        "    Points Possible,,,,100,(read only)\r\n"
        '"Sample, Ben",4021,ben,"S, 1",,\r\n'
        '"García Márquez, Elif",4022,elif,S,,\r\n'
        '"Absent, Zoe",4023,zoe,S,7,\r\n',
        encoding="utf-8",
        newline="",
    )
    (place / "times.csv").write_text(
        "student,submitted_at,group,extension\nben,2026-10-01 20:00,,\nelif,2026-10-03 08:00,,\n"
    )


def moodle(place: Path) -> None:
    with zipfile.ZipFile(place / "submissions.zip", "w") as archive:
        archive.write(CLASS / "ben.py", "Ben Sample_11_assignsubmission_file/hw1.py")
        archive.write(CLASS / "elif.zip", "Elif García Márquez_12_assignsubmission_file/w.zip")
    (place / "worksheet.csv").write_text(
        "Identifier,Full name,Email address,Status,Grade,Maximum grade,Grade can be changed,"
        "Last modified (submission),Last modified (grade),Feedback comments\n"
        "Participant 11,Ben Sample,ben@x.org,Submitted,,100.00,Yes,-,-,\n"
        "Participant 12,Elif García Márquez,elif@x.org,Submitted,,100.00,Yes,-,-,\n",
        encoding="utf-8",
    )


def github(place: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not on this machine")
    hub = place / "hub"
    for name, work in (("hw1-ben-s", "ben.py"), ("hw1-Rosa", "rosa.py")):
        shutil.copytree(ROOT / "student_template" / ".github", hub / name / ".github")
        shutil.copy(CLASS / work, hub / name)
        for command in (
            ("init", "--quiet"),
            ("add", "."),
            ("commit", "--quiet", "--message", "done"),
        ):
            subprocess.run(("git", *command), cwd=hub / name, env=environment(place), check=True)
        (hub / name).rename(hub / f"{name}.git")
    subprocess.run(("git", "init", "--quiet", "--bare", str(hub / "hw1.git")), check=True)
    (place / "roster.csv").write_text("student,github\nben,ben-s\nrosa,Rosa\nzoe,nobody\n")


def environment(place: Path) -> dict[str, str]:
    """GitHub is a folder here; nobody's own settings of git count."""
    return {
        **os.environ,
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{place / 'hub'}/.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/course-org/",
        "GIT_TERMINAL_PROMPT": "0",
        **{f"GIT_{who}_NAME": "Sample Teacher" for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_EMAIL": "teacher@example.org" for who in ("AUTHOR", "COMMITTER")},
    }


def rows(file: Path) -> list[list[str]]:
    return list(csv.reader(file.read_text("utf-8-sig").splitlines()))


def check_canvas(place: Path) -> None:
    table = rows(place / "gradebook.csv")
    assert [row[4] for row in table[2:]] == ["100", "98", "7"]
    assert (place / "for-students" / "attention" / "causal.py").is_file()


def check_moodle(place: Path) -> None:
    table = rows(place / "worksheet.csv")
    assert [row[4] for row in table[1:]] == ["100", "98"]
    with zipfile.ZipFile(place / "feedback.zip") as archive:
        assert archive.namelist() == [
            "Ben Sample_11_assignfeedback_file/feedback.html",
            "Elif García Márquez_12_assignfeedback_file/feedback.html",
        ]


def check_late(place: Path) -> None:
    table = rows(place / "grades.csv")
    lines = {row[0]: dict(zip(table[0], row, strict=True)) for row in table[1:]}
    elif_ = lines["elif"]
    assert (elif_["raw_score"], elif_["late_percent"], elif_["score"]) == ("98", "20", "78.4")
    assert lines["ben"]["score"] == "100"
    assert [row[4] for row in rows(place / "gradebook.csv")[2:]] == ["100", "78.4", "7"]


def check_github(place: Path) -> None:
    pushed = subprocess.run(
        (
            "git",
            "--git-dir",
            str(place / "hub" / "hw1.git"),
            "ls-tree",
            "-r",
            "--name-only",
            "main",
        ),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ".github/workflows/public-checks.yml" in pushed.stdout.splitlines()
    table = rows(place / "grades.csv")
    score = table[0].index("score")
    scores = {row[0]: row[score] for row in table[1:]}
    assert scores["ben"] == "100"
    assert float(scores["rosa"]) < 20
    assert sorted(scores) == ["ben", "rosa"]


Step = Callable[[Path], None]
TRIED: dict[str, tuple[Step, Step]] = {
    "Canvas": (canvas, check_canvas),
    "Moodle": (moodle, check_moodle),
    "From release to grades": (github, check_github),
}
AFTERWARDS = {"Late policy": ("Canvas", check_late)}  # goes on where another section ended


@pytest.fixture(scope="module")
def place_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """The folder in which a section's commands ran, each section's once."""
    places: dict[str, Path] = {}

    def place(page: str, title: str) -> Path:
        if title not in places:
            if title in AFTERWARDS:
                places[title] = tmp_path_factory.mktemp("later") / "folder"
                shutil.copytree(place(page, AFTERWARDS[title][0]), places[title])
            else:
                places[title] = tmp_path_factory.mktemp("course")
                TRIED[title][0](places[title])
            for command in sections(page)[title]:
                type_in(command, places[title])
        return places[title]

    return place


def type_in(command: str, place: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=place,
        env=environment(place),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def test_every_section_with_commands_is_tried() -> None:
    assert {title for page in PAGES for title in sections(page)} == {*TRIED, *AFTERWARDS}


@pytest.mark.proof
@pytest.mark.parametrize(
    ("page", "title"), [(page, title) for page in PAGES for title in sections(page)]
)
def test_the_commands_of_a_section_lead_to_grades(
    page: str, title: str, place_of: Callable[[str, str], Path]
) -> None:
    assert len(sections(page)[title]) <= AT_MOST
    place = place_of(page, title)
    (AFTERWARDS.get(title) or TRIED[title])[1](place)


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_somewhere(page: str) -> None:
    text = (ROOT / "docs" / page).read_text("utf-8")
    for target in re.findall(r"\]\(([^)#]*)[^)]*\)", text):
        assert not target or (ROOT / "docs" / target).is_file()
