"""What an installed kit says of itself, and where it writes nothing."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from autograder.cli.main import app
from autograder.cli.release import _no_installation
from autograder.errors import UsageError
from autograder.results.grading_key import kit_version


def test_the_version_is_told() -> None:
    done = CliRunner().invoke(app, ["--version"])
    assert (done.exit_code, done.stdout) == (0, f"autograder {kit_version()}\n")


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages"])
def test_nothing_is_built_into_an_installation(tmp_path: Path, folder: str) -> None:
    with pytest.raises(UsageError, match="belongs to the installed kit: say where to with --out"):
        _no_installation(
            tmp_path / folder / "autograder" / "assignments", "say where to with --out"
        )


def test_elsewhere_it_may_be_built(tmp_path: Path) -> None:
    _no_installation(tmp_path / "course", "say where to with --out")
