"""What the README shows is what the kit prints."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

README = (ROOT / "README.md").read_text()
PROMPT = "$ autograder check mia --stage causal\n"


def lines(text: str) -> list[str]:
    """Lines without the blanks that fill a terminal's width."""
    return [line.rstrip() for line in text.strip().splitlines()]


def test_the_example_is_what_check_prints(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "submissions" / "kofi", tmp_path / "mia")
    printed = subprocess.run(
        [
            *(
                sys.executable,
                "-P",
                "-m",
                "autograder.cli.main",
                "check",
                "mia",
                "--stage",
                "causal",
            ),
            *("--isolation", "process", "--assignment", ROOT / "assignments" / "attention"),
        ],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    shown = README.partition(PROMPT)[2].partition("```")[0]
    assert lines(shown) == lines(printed)


@pytest.mark.parametrize("picture", ["docs/class.png", "docs/feedback.png"])
def test_its_pictures_are_there_and_small(picture: str) -> None:
    assert f"]({picture})" in README
    assert (ROOT / picture).stat().st_size < 200_000
