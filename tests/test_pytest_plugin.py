"""The hidden checks as people run them by hand, with pytest."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from autograder.assignment.secret import load_secret
from autograder.checks.check_spec import equivalents_of, hidden_checks
from autograder.checks.examination import Checks
from autograder.checks.session import CheckSession
from autograder.sandbox.host.room import NameSpec, Sandbox
from autograder.submissions.submission import read_submission
from tests.conftest import ASSIGNMENT, ROOT

WRONG = """
import torch
from torch import nn


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=-1, keepdim=True)


def attention_weights(inputs):
    return softmax(inputs @ inputs.T)


def causal_mask(num_tokens):
    return torch.ones(num_tokens, num_tokens).triu()


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        hidden = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
        scores = (q @ k.transpose(1, 2)).masked_fill(hidden, float("-inf")) / x.shape[-1] ** 0.5
        return self.dropout(torch.softmax(scores, dim=-1)) @ v


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = [
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
            for _ in range(num_heads)
        ]

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)
"""


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
    assert "mask_is_true_exactly_above_the_diagonal[5]" in shown
    assert "expected the reference's numbers" in shown
    assert "Traceback" not in shown


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


def test_checks_are_chosen_by_the_name_that_they_call_and_by_stage() -> None:
    work = ("--submission", "examples/submissions/jonas.zip")
    wrong = checked(*work, "-k", "MultiHeadAttention and dropped")
    assert "1 failed" in wrong.stdout
    assert "1 passed" in checked(*work, "-k", "causal and dropped").stdout


def test_an_item_ends_as_the_judge_has_it(tmp_path: Path) -> None:
    """Every check of a submission with mistakes in three stages, side by side."""
    work = tmp_path / "work.py"
    work.write_text(WRONG)
    report = tmp_path / "report.xml"
    checked("--submission", str(work), f"--junitxml={report}")
    items = {
        (case.get("classname"), case.get("name")): "passed" if len(case) == 0 else "failed"
        for case in ElementTree.parse(report).iter("testcase")
    }
    judged = outcomes_of(work)
    assert len(judged) > 150
    assert items == {
        (spec.run.__module__, spec.identifier.partition("::")[2]): (
            "passed" if judged[spec.identifier] == "passed" else "failed"
        )
        for spec in hidden_checks(ASSIGNMENT).specs
    }
    assert 5 < list(items.values()).count("failed") < len(items)


def outcomes_of(work: Path) -> dict[str, str]:
    """Status by identifier, as a class is graded; properties of right names included."""
    names = tuple(
        NameSpec(spec.name, spec.module, spec.kind, spec.parameters)
        for spec in ASSIGNMENT.name_specs
    )
    with Sandbox(ASSIGNMENT.limits, names, "process") as sandbox:
        session = CheckSession.of(
            ASSIGNMENT,
            sandbox,
            read_submission(work, ASSIGNMENT.limits),
            equivalents_of(ASSIGNMENT),
        )
        evidence = Checks(ASSIGNMENT, load_secret(ASSIGNMENT)).run(session, thorough=True)
        session.close()
    return {outcome.check_id: outcome.status for outcome in evidence.outcomes}
