"""`python -m selfcheck`, run as a student runs it, in a copy of the template."""

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.assignment.assignment import Limits
from autograder.submissions.submission import read_submission
from selfcheck.course import course
from selfcheck.hints import all_hints
from tests.conftest import ROOT

TEMPLATE = ROOT / "student_template"
SOLUTIONS = ROOT / "solutions" / "attention"

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A student's folder, as it was handed out."""
    folder = tmp_path / "my work"
    shutil.copytree(TEMPLATE, folder, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    return folder


@pytest.fixture
def run(work: Path) -> Run:
    """The self-check as a process in that folder; colour and width as in a pipe."""

    def selfcheck(*arguments: str, **surroundings: str) -> subprocess.CompletedProcess[str]:
        kept = {key: value for key, value in os.environ.items() if "PYTEST" not in key}
        return subprocess.run(
            [sys.executable, "-m", "selfcheck", *arguments],
            cwd=work,
            env=kept | {"COLUMNS": "80", "PYTHONIOENCODING": "utf-8"} | surroundings,
            capture_output=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )

    return selfcheck


def solve(work: Path, *modules: str) -> None:
    for module in modules:
        text = (SOLUTIONS / f"{module}.py").read_text("utf-8")
        text = re.sub(r"^ *### (BEGIN|END) SOLUTION\n", "", text, flags=re.MULTILINE)
        (work / "attention" / f"{module}.py").write_text(text, "utf-8")


def change(work: Path, module: str, old: str, new: str) -> None:
    file = work / "attention" / f"{module}.py"
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")


def flowing(text: str) -> str:
    """Text without its line breaks."""
    return " ".join(text.split())


class TestStatus:
    def test_on_stubs_it_names_the_first_thing_to_write_and_where(self, run: Run) -> None:
        result = run()
        assert result.returncode == 1
        assert "public checks; your grade also depends on hidden ones" in result.stdout
        assert "0 of 109 checks passed" in result.stdout
        assert result.stdout.count("not begun") == 4
        assert re.search(r"Next: attention_scores, attention/simplified\.py:\d+", result.stdout)
        assert "Read handouts/1_simplified.md#scores" in result.stdout
        assert result.stderr == ""

    def test_on_finished_work_it_says_so_and_ends_with_0(self, work: Path, run: Run) -> None:
        solve(work, "simplified", "trainable", "causal", "multi_head")
        result = run()
        assert result.returncode == 0, result.stdout
        assert "109 of 109 checks passed" in result.stdout
        assert "python -m selfcheck submit" in result.stdout

    def test_half_done_work_has_its_mistake_named(self, work: Path, run: Run) -> None:
        solve(work, "simplified", "trainable", "causal")
        change(work, "trainable", "keys.T / key_size**0.5", "keys.T")
        change(work, "trainable", "key_size = keys.shape[-1]", "print('keys\\x1b[31m', 7)")
        result = run()
        assert result.returncode == 1
        told = flowing(result.stdout)
        assert "24 of 24 done" in told
        assert "✗ SelfAttention_v1 not right yet" in told
        assert "✓ SelfAttention_v2 done" in told
        assert "expected" in told
        assert "found" in told
        assert "This looks like: no scaling." in told
        assert "Read handouts/2_trainable.md#scaling" in told
        assert "printed: keys�[31m 7" in told
        assert "\x1b" not in result.stdout

    def test_every_line_fits_80_columns(self, work: Path, run: Run) -> None:
        solve(work, "simplified")
        change(work, "simplified", "return inputs @ query", "return 2 * (inputs @ query)")
        assert max(map(len, run().stdout.splitlines())) <= 80

    def test_a_terminal_without_unicode_gets_plain_marks(self, work: Path, run: Run) -> None:
        solve(work, "simplified")
        result = run(PYTHONIOENCODING="ascii")
        assert "[" not in result.stdout.partition("checks passed")[0]
        assert re.search(r"\+\s+1 Self-attention", result.stdout)
        assert "###" in result.stdout


class TestCodeThatMisbehaves:
    def test_broken_files_are_told_line_by_line_and_the_rest_is_checked(
        self, work: Path, run: Run
    ) -> None:
        solve(work, "simplified", "trainable")
        change(work, "trainable", "class SelfAttention_v1", "import sys\nsys.exit(3)\nclass X")
        change(work, "causal", "def causal_mask(", "def causal_mask((")
        (work / "attention" / "multi_head.py").unlink()
        result = run("status")
        assert result.returncode == 1
        assert "24 of 24 done" in result.stdout
        assert result.stdout.count("cannot be checked") == 3
        assert re.search(
            r"Next: attention/trainable\.py\n +attention/trainable\.py:\d+ ends Python when it is "
            r"imported\n +found: sys\.exit\(3\)",
            result.stdout,
        )

    @pytest.mark.parametrize(
        ("stage", "old", "new", "told"),
        [
            (
                "simplified",
                "return inputs @ query",
                "while True:\n        pass",
                "did not come back within 1.5 seconds",
            ),
            pytest.param(
                "simplified",
                "return inputs @ query",
                "import os; os._exit(7)",
                "ended Python",
                marks=pytest.mark.proof,
            ),
        ],
        ids=["endless", "exit"],
    )
    def test_a_check_that_never_comes_back_costs_its_stage_alone(
        self, work: Path, run: Run, stage: str, old: str, new: str, told: str
    ) -> None:
        solve(work, "simplified", "trainable")
        change(work, stage, old, new)
        result = run(SELFCHECK_SECONDS="1.5")
        text = flowing(result.stdout)
        assert told in text
        assert "what to do:" in text
        assert "28 of 28 done" in text
        if "while" in new:
            assert re.search(r"attention/simplified\.py:\d+ did not come back", text)
            assert "seen in: attention scores compare the second token with all" in text

    def test_a_name_that_is_not_there_is_asked_for(self, work: Path, run: Run) -> None:
        solve(work, "simplified")
        change(work, "simplified", "def attention_scores", "def attention_score")
        text = flowing(run().stdout)
        assert "`attention_scores` was looked for in attention/simplified.py and not found" in text
        assert "python -m selfcheck reset attention_scores" in text

    def test_an_exception_is_told_with_the_line_that_raised(self, work: Path, run: Run) -> None:
        solve(work, "simplified")
        change(work, "simplified", "return inputs @ query", "return inputs @ torch.qery")
        text = flowing(run().stdout)
        assert "AttributeError: module 'torch' has no attribute 'qery'" in text
        assert re.search(r"seen in: attention/simplified\.py:\d+: return inputs @ torch.qery", text)
        assert "where to look: handouts/1_simplified.md#scores" in text

    def test_a_forgotten_return_is_told_as_such(self, work: Path, run: Run) -> None:
        solve(work, "simplified")
        change(work, "simplified", "return inputs @ query", "inputs @ query")
        text = flowing(run().stdout)
        assert "a tensor was expected, nothing was returned" in text
        assert "what to do: end with `return` and the result" in text


class TestShow:
    def test_the_heatmap_has_tokens_numbers_and_a_picture(self, work: Path, run: Run) -> None:
        solve(work, "causal")
        result = run("show", "causal")
        assert result.returncode == 0, result.stderr
        labels, first, second, *_ = result.stdout.splitlines()[2:]
        assert labels.split() == ["Your", "journey", "starts", "with", "one", "step"]
        assert first.split() == ["Your", "█", "1.00", "0", "0", "0", "0", "0"]
        assert second.split()[0] == "journey"
        assert second.split()[-4:] == ["0", "0", "0", "0"]
        picture = work / "weights" / "CausalAttention.svg"
        texts = [each.text for each in ElementTree.parse(picture).iter() if each.text]
        assert "journey" in texts
        assert texts.count("0") == 15
        assert str(picture.relative_to(work).as_posix()) in result.stdout

    def test_a_stub_has_nothing_to_show(self, run: Run) -> None:
        result = run("show", "causal")
        assert result.returncode == 1
        assert "nothing to show" in result.stdout


class TestHints:
    def test_each_call_gives_one_more_up_to_the_last(self, run: Run) -> None:
        total = len(all_hints()["softmax"])
        for number in [*range(1, total + 1), total]:
            result = run("hint", "softmax")
            assert result.returncode == 0
            assert f"softmax: hint {number} of {total}" in result.stdout
            assert flowing(all_hints()["softmax"][number - 1]) in flowing(result.stdout)
        assert "That was the last one" in result.stdout

    def test_a_stage_gives_the_hint_for_what_comes_next_in_it(self, run: Run) -> None:
        assert "causal_mask: hint 1 of" in run("hint", "causal").stdout
        assert "causal_mask: hint 2 of" in run("hint", "3").stdout

    def test_a_damaged_memory_is_forgotten(self, work: Path, run: Run) -> None:
        (work / ".selfcheck").mkdir()
        (work / ".selfcheck" / "state.json").write_text("[1, ", "utf-8")
        assert "softmax: hint 1 of" in run("hint", "softmax").stdout

    def test_every_name_has_at_least_three_and_nothing_else_has(self) -> None:
        names = [name.name for stage in course().stages for name in stage.names]
        assert {name: len(all_hints()[name]) >= 3 for name in names} == dict.fromkeys(names, True)
        assert {*all_hints()} == {*names}

    def test_an_unknown_word_is_answered_with_those_that_there_are(self, run: Run) -> None:
        result = run("hint", "casual")
        assert result.returncode == 2
        assert "'casual'; the stages are simplified, trainable, causal, multi_head" in result.stderr


class TestReset:
    def test_a_name_is_the_stub_again_and_the_old_text_is_kept(self, work: Path, run: Run) -> None:
        stub = (work / "attention" / "simplified.py").read_text("utf-8")
        solve(work, "simplified")
        for name in ("attention_scores", "softmax", "context_vector", "attention_weights"):
            assert run("reset", name).returncode == 0
        result = run("reset", "context_vectors")
        assert "context_vectors is the stub again, in attention/simplified.py" in result.stdout
        kept = work / ".selfcheck" / "aside" / "context_vectors-1.py"
        assert "attention_weights(inputs) @ inputs" in kept.read_text("utf-8")
        text = (work / "attention" / "simplified.py").read_text("utf-8")
        assert text == stub[stub.index('"""Stage 1') :]

    def test_a_stage_is_the_stub_again_even_if_it_is_not_python(self, work: Path, run: Run) -> None:
        stub = (work / "attention" / "causal.py").read_bytes()
        (work / "attention" / "causal.py").write_bytes(b"def (\xff")
        assert run("reset", "masked_weights").returncode == 1
        assert run("reset", "causal").returncode == 0
        assert (work / "attention" / "causal.py").read_bytes() == stub
        assert (work / ".selfcheck" / "aside" / "causal-1.py").read_bytes() == b"def (\xff"

    def test_what_was_put_aside_before_stays(self, work: Path, run: Run) -> None:
        for turn in ("first", "second"):
            old = 'raise NotImplementedError("softmax'
            change(work, "simplified", old, f"{turn} = 1; {old}")
            run("reset", "softmax")
        aside = work / ".selfcheck" / "aside"
        assert "first = 1" in (aside / "softmax-1.py").read_text("utf-8")
        assert "second = 1" in (aside / "softmax-2.py").read_text("utf-8")


class TestSubmit:
    def test_the_zip_is_what_the_grader_reads(self, work: Path, run: Run) -> None:
        solve(work, "simplified", "trainable")
        (work / "attention" / "__pycache__").mkdir()
        (work / "attention" / "__pycache__" / "x.pyc").write_bytes(b"x")
        result = run("submit")
        assert result.returncode == 0
        text = flowing(result.stdout)
        assert "What will be graded, 8 of 16 names:" in text
        assert re.search(r"✓ softmax attention/simplified\.py:\d+", text)
        assert re.search(r"· causal_mask only a stub: attention/causal\.py:\d+", text)
        assert "A stub costs its own points alone." in text
        assert "missing" not in text
        read = read_submission(work / "attention.zip", Limits())
        assert {file.path for file in read.files} == {
            f"attention/{name}.py"
            for name in ("__init__", "simplified", "trainable", "causal", "multi_head")
        }
        before = (work / "attention.zip").read_bytes()
        run("submit")
        assert (work / "attention.zip").read_bytes() == before

    def test_a_missing_name_and_a_broken_file_are_told(self, work: Path, run: Run) -> None:
        solve(work, "simplified")
        change(work, "simplified", "def softmax", "def soft_max")
        change(work, "simplified", "def context_vector(", "def gather(")
        change(work, "causal", "def causal_mask(", "def causal_mask((")
        result = run("submit")
        assert result.returncode == 1
        text = flowing(result.stdout)
        assert re.search(r"✓ softmax attention/simplified\.py:\d+, called soft_max there", text)
        assert "✗ context_vector missing in attention/simplified.py" in text
        assert "python -m selfcheck reset context_vector" in text
        assert re.search(r"attention/causal\.py:\d+ is not Python yet", text)
        assert re.search(r"✗ causal_mask lost: attention/causal\.py:\d+ is not Python yet", text)
        assert re.search(r"· CausalAttention only a stub: attention/causal\.py:\d+", text)
        assert "Something will not count" in text

    def test_a_notebook_with_work_in_it_goes_along(self, work: Path, run: Run) -> None:
        notebook = work / "notebooks" / "1_simplified.ipynb"
        text = notebook.read_text("utf-8")
        told = "attention_scores: not written yet (stage 1, simplified)"
        stub = f'raise NotImplementedError(\\"{told}\\")'
        assert stub in text
        notebook.write_text(text.replace(stub, "return inputs.matmul(query)"), "utf-8")
        result = run("submit")
        assert "1_simplified.ipynb" in result.stdout
        assert "2_trainable.ipynb" not in result.stdout
        read = read_submission(work / "attention.zip", Limits())
        assert "notebooks/1_simplified.ipynb" in {file.path for file in read.files}


def test_what_is_not_installed_is_asked_for(work: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-S", "-m", "selfcheck"],  # without the environment's packages
        cwd=work,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert result.returncode == 2
    assert "rich is not installed here" in result.stderr
    assert "python -m pip install torch pytest rich" in result.stderr


def test_watch_in_a_pipe_says_what_it_needs(run: Run) -> None:
    result = run("watch")
    assert result.returncode == 2
    assert "watch needs a terminal" in result.stderr


def test_help_has_an_example_for_every_command(run: Run) -> None:
    text = run("--help").stdout
    for command in ("status", "watch", "hint", "show", "reset", "submit"):
        assert command in text
        assert f"Example: python -m selfcheck {command}" in run(command, "--help").stdout
