"""What the self-check says of work, or of a folder, in which not everything can be run.

By the real command: the bar counts what was not run as not passed, and where nothing can be run
one line says why.
"""

import re
from pathlib import Path

import pytest

from tests.test_selfcheck_submit import put, solution, solved, submitted, template

ALL = re.compile(r"(\d+) of (\d+) checks passed")
LOOP = "while True:\n    pass\n"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = template(tmp_path / "work")
    solved(folder)
    return folder


def status(work: Path, **surroundings: str) -> tuple[int, int, str]:
    """Checks passed, checks in all, and what was shown."""
    done = submitted(work, "status", **surroundings)
    assert "Traceback" not in done.stderr, done.stderr
    counts = ALL.search(done.stdout)
    assert counts is not None, done.stdout + done.stderr
    assert done.returncode == (0 if counts[1] == counts[2] else 1)
    return int(counts[1]), int(counts[2]), done.stdout


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("simplified", "def softmax(:\n"),
        ("simplified", LOOP),
        ("causal", "import nothing_like_it\n"),
        ("multi_head", "raise SystemExit\n"),
        ("trainable", None),
    ],
)
def test_what_was_not_run_counts_as_not_passed(work: Path, module: str, text: str | None) -> None:
    all_passed, total, _ = status(work)
    assert all_passed == total
    file = work / "attention" / f"{module}.py"
    if text is None:
        file.unlink()
    else:
        put(work, f"attention/{module}.py", solution(module) + text)
    passed, again, shown = status(work, SELFCHECK_SECONDS="1")
    assert again == total
    assert passed < total
    assert "cannot be checked" in shown


def test_a_check_that_never_comes_back_and_those_after_it_did_not_pass(work: Path) -> None:
    text = solution("simplified")
    put(work, "attention/simplified.py", text + "\n\ndef softmax(scores):\n    while True: pass\n")
    passed, total, _ = status(work, SELFCHECK_SECONDS="1")
    assert passed <= total - 10


def test_public_checks_that_are_gone_did_not_pass(work: Path) -> None:
    (work / "tests" / "test_3_causal.py").unlink()
    passed, total, shown = status(work)
    assert passed < total
    assert "tests/test_3_causal.py is missing" in shown


@pytest.mark.parametrize(
    ("path", "text", "told"),
    [
        ("tests/conftest.py", "import nothing_like_it\n", "tests/conftest.py cannot be read"),
        ("tests/conftest.py", "def broken(:\n", "tests/conftest.py cannot be read"),
    ],
)
def test_where_nothing_can_be_run_one_line_says_why(
    work: Path, path: str, text: str, told: str
) -> None:
    put(work, path, text)
    done = submitted(work, "status")
    assert done.returncode == 2
    assert told in done.stderr
    assert "what to do: take tests/conftest.py from the folder you were given" in done.stderr
    assert " of " not in done.stdout
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 3


def test_a_pytest_that_is_too_old_is_named(work: Path, tmp_path: Path) -> None:
    put(tmp_path, "old/sitecustomize.py", "import pytest\n\npytest.__version__ = '8.1.2'\n")
    done = submitted(work, "status", PYTHONPATH=str(tmp_path / "old"))
    assert done.returncode == 2
    assert "pytest 8.1.2 is too old" in done.stderr
    assert 'python -m pip install --upgrade "pytest>=8.3"' in done.stderr


@pytest.mark.parametrize("name", ["random", "torch", "json", "pytest", "rich"])
def test_a_file_with_the_name_of_a_library_is_told_and_does_no_harm(work: Path, name: str) -> None:
    put(work, f"{name}.py", "raise RuntimeError('not the library')\n")
    passed, total, shown = status(work)
    assert passed == total
    assert f"{name}.py has the name of a library" in shown
