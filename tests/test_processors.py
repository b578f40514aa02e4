"""What is built and what is graded is the same to the byte, whichever code torch and MKL choose.

The code for other processors is run here: `ATEN_CPU_CAPABILITY` and `MKL_CBWR` say for which. One
choice is tried by `make test`, the others by `make proof`.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

from autograder.assignment.secret import VARIABLE
from tests.conftest import GOLDEN, ROOT

Chosen = Mapping[str, str]

#: Without vectors and with MKL's slowest and most portable code; then with shorter vectors than
#: this processor may have.
CHOICES = [pytest.param({"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}, id="default")]
if torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512"):
    CHOICES += [
        pytest.param(
            {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "AVX2"}, id="avx2", marks=pytest.mark.proof
        ),
        pytest.param({"MKL_CBWR": "COMPATIBLE"}, id="MKL alone", marks=pytest.mark.proof),
    ]
every_choice = pytest.mark.parametrize("chosen", CHOICES)


def autograder(chosen: Chosen, *arguments: str | Path) -> None:
    """A command in a process that makes this choice, and none that was made for the tests."""
    names = {"ATEN_CPU_CAPABILITY", "MKL_CBWR", VARIABLE}
    kept = {name: value for name, value in os.environ.items() if name not in names}
    command = [sys.executable, "-m", "autograder.cli.main", *arguments]
    ended = subprocess.run(
        command, cwd=ROOT, env={**kept, **chosen}, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def built(chosen: Chosen, out: Path) -> dict[str, bytes]:
    """Everything that is released."""
    autograder(chosen, "release", "all", "--out", out)
    return contents(out)


@pytest.fixture(scope="module")
def by_this_processor(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return built({}, tmp_path_factory.mktemp("released"))


@every_choice
def test_what_is_released_is_the_same(
    chosen: Chosen, by_this_processor: Mapping[str, bytes], tmp_path: Path
) -> None:
    other = built(chosen, tmp_path / "released")
    assert other.keys() == by_this_processor.keys()
    assert [name for name in other if other[name] != by_this_processor[name]] == []
    assert "template/selfcheck/mistakes.json" in other


@every_choice
def test_the_example_class_gets_the_golden_results(chosen: Chosen, tmp_path: Path) -> None:
    autograder(chosen, "grade", ROOT / "examples" / "submissions", "--out", tmp_path / "out")
    found = {
        path.parent.name: path.read_bytes() for path in tmp_path.glob("out/students/*/result.json")
    }
    assert found == {path.stem: path.read_bytes() for path in GOLDEN.glob("*.json")}
