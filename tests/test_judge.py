"""The hidden checks as a teacher runs them by hand, and the session that grades a class."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.assignment.assignment import load_assignment
from autograder.checks import plugin
from autograder.checks.plugin import check_files, equivalents_of
from autograder.grading.judge import INI, UNUSED_PLUGINS

ROOT = Path(__file__).resolve().parents[1]
ASSIGNMENT = load_assignment(ROOT)


def checked(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`pytest autograder/attention/checks`, as a teacher types it in the checkout."""
    clean = {name: held for name, held in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        [
            sys.executable,
            *("-m", "pytest", "autograder/attention/checks", "-q", "--isolation", "process"),
            *("-p", "no:cacheprovider", "--color=no"),
            *arguments,
        ],
        cwd=ROOT,
        env=clean,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def on_solutions() -> subprocess.CompletedProcess[str]:
    return checked("--submission", "solutions/attention")


@pytest.fixture(scope="module")
def on_a_wrong_one(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """A package whose causal mask hides the diagonal as well, and nothing else is wrong."""
    folder = tmp_path_factory.mktemp("submission") / "attention"
    shutil.copytree(ASSIGNMENT.solutions, folder, ignore=shutil.ignore_patterns("__pycache__"))
    causal = folder / "causal.py"
    right = "positions.unsqueeze(0) > positions"
    assert right in causal.read_text()
    causal.write_text(causal.read_text().replace(right, right.replace(">", ">=")))
    return checked("--submission", str(folder), "-k", "causal_mask or mask_is_true or softmax_runs")


def test_all_checks_pass_on_the_solutions(on_solutions: subprocess.CompletedProcess[str]) -> None:
    assert on_solutions.returncode == pytest.ExitCode.OK, on_solutions.stdout
    assert " passed" in on_solutions.stdout
    assert " failed" not in on_solutions.stdout
    assert " skipped" not in on_solutions.stdout


def test_the_checks_that_fail_on_a_wrong_submission_are_shown(
    on_a_wrong_one: subprocess.CompletedProcess[str],
) -> None:
    assert on_a_wrong_one.returncode == pytest.ExitCode.TESTS_FAILED, on_a_wrong_one.stdout
    shown = on_a_wrong_one.stdout
    assert "test_mask_is_true_exactly_above_the_diagonal[5]" in shown
    assert "CheckFailed: expected" in shown


def test_checks_of_what_is_right_pass_beside_those_that_fail(
    on_a_wrong_one: subprocess.CompletedProcess[str],
) -> None:
    failed = [line for line in on_a_wrong_one.stdout.splitlines() if line.startswith("FAILED")]
    assert failed
    assert not any("softmax_runs" in line for line in failed)
    assert " passed" in on_a_wrong_one.stdout


def test_without_a_submission_it_says_what_to_type() -> None:
    found = checked()
    assert found.returncode == pytest.ExitCode.USAGE_ERROR
    assert "pytest autograder/attention/checks --submission PATH" in found.stdout + found.stderr


def test_a_submission_that_is_not_there_is_told_in_words() -> None:
    found = checked("--submission", "solutions/nobody")
    assert found.returncode != pytest.ExitCode.OK
    assert "nobody" in found.stdout + found.stderr


def test_every_stage_brings_its_own_file_of_checks_and_all_are_there() -> None:
    files = check_files(ASSIGNMENT)
    assert len(files) == len(set(files))
    assert all(file.is_file() for file in files)
    mains = [stage.checks.rpartition(".")[2] for stage in ASSIGNMENT.stages]
    found = [next(each for each in mains[::-1] if file.stem.startswith(each)) for file in files]
    assert list(dict.fromkeys(found)) == mains
    assert found == sorted(found, key=mains.index)
    assert set(mains) <= {file.stem for file in files}


def test_equivalents_define_functions_of_their_stage_and_nothing_else() -> None:
    for stage, source in equivalents_of(ASSIGNMENT).items():
        defined: dict[str, object] = {}
        exec(compile(source, stage, "exec"), defined)
        functions = {name for name, held in defined.items() if callable(held)}
        assert functions
        assert functions <= set(ASSIGNMENT.stage(stage).names)


def test_the_session_has_a_configuration_of_its_own() -> None:
    assert INI.is_file()
    assert INI.parent == Path(plugin.__file__).parent


def test_no_plugin_is_turned_off_twice() -> None:
    assert len(UNUSED_PLUGINS) == len(set(UNUSED_PLUGINS))
