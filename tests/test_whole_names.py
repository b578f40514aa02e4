"""A small assignment without steps: its name is compared with the reference as a whole."""

from collections.abc import Iterator

import pytest

from autograder.assignment.assignment import load_assignment
from autograder.grading.worker import Worker
from autograder.results.result import Result
from autograder.submissions.submission import SourceFile, Submission

FILES = {
    "assignment.toml": """
schema = 1
id = "sums"
title = "Sums of rows"
points = 7
solutions = "solutions/sums"

[[stages]]
id = "rows"
title = "Rows"
module = "rows"
handout = "1_rows.md"
checks = "sum_checks"
misconceptions = "sum_mistakes"
points = 7

[stages.names]
row_sums = { kind = "function", parameters = ["numbers"] }

[[stages.criteria]]
id = "sums"
title = "Each row is added up"
section = "rows"
points = 4
shares = [{ name = "row_sums", points = 4 }]

[[stages.criteria]]
id = "empty"
title = "A row of nothing is 0"
section = "rows"
points = 2
shares = [{ name = "row_sums", points = 2 }]

[[stages.criteria]]
id = "kept"
title = "The argument is left alone"
section = "rows"
points = 1
shares = [{ name = "row_sums", points = 1 }]
""",
    "1_rows.md": "# Rows\n\n<!-- rubric -->\n<!-- end of rubric -->\n",
    "solutions/sums/__init__.py": "",
    "solutions/sums/rows.py": "def row_sums(numbers):\n    return numbers.sum(dim=-1)\n",
    "sum_mistakes.py": """
import torch
from torch import Tensor

from autograder.diagnosis.catalogue import NullProgram
from autograder.diagnosis.chain import Chain, Given


class Matrix(Given, frozen=True):
    numbers: Tensor


CHAINS = {"row_sums": Chain.whole(lambda given: given.numbers.sum(dim=-1))}
MISCONCEPTIONS = ()
NULLS = (
    NullProgram(
        "zeros",
        "The result is zero everywhere.",
        {"row_sums": lambda given: torch.zeros(given.numbers.shape[:-1])},
    ),
)
""",
    "sum_checks.py": '''
import torch

from autograder.checks.failures import require
from autograder.checks.marks import own, setting, values
from sum_mistakes import Matrix


@values(of="row_sums")
def sums_are_those_of_the_rows(student, sample, observe):
    """Each number is the sum of a row."""
    given = Matrix(sample.numbers("usual", 3, 4))
    observe(given, lambda: student.row_sums.ask(given.numbers))


@setting("empty", of="row_sums")
def a_row_of_nothing_is_zero(student, sample, observe):
    """Rows without numbers add up to 0."""
    given = Matrix(sample.numbers("nothing", 2, 0))
    observe(given, lambda: student.row_sums.ask(given.numbers))


@own("kept", of="row_sums")
def the_argument_is_left_alone(student, sample):
    """Afterwards the argument is what it was."""
    numbers = sample.numbers("usual", 3, 4)
    reply = student.row_sums.ask(numbers, arguments=True)
    require(torch.equal(reply.arguments[0], numbers), "an argument that changed", "the same")
''',
}


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    folder = tmp_path_factory.mktemp("sums")
    for path, text in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    assert load_assignment(folder).subject is None
    with Worker(folder, "process") as made:
        yield made


def lost(worker: Worker, body: str) -> tuple[float | None, dict[str, str]]:
    """The score of a function with this body, and the criteria that lost points, with statuses."""
    source = f"import torch\n\n\ndef row_sums(numbers):\n    {body}\n"
    submission = Submission("ada", (SourceFile("rows.py", "module", source.encode()),), body)
    result: Result = worker.grade(submission).result
    (stage,) = result.stages
    gone: dict[str, str] = {
        each.id: each.status for each in stage.criteria if each.score < each.max_score
    }
    return result.score, gone


@pytest.mark.parametrize(
    "body",
    [
        "return numbers.sum(dim=-1)",
        "return torch.stack([row.sum() for row in numbers])",
        "return numbers @ torch.ones(numbers.shape[-1])",
    ],
)
def test_right_work_earns_everything(worker: Worker, body: str) -> None:
    assert lost(worker, body) == (7.0, {})


@pytest.mark.parametrize(
    ("body", "score", "gone"),
    [
        ("return numbers.sum(dim=0)", 1.0, {"sums": "failed", "empty": "failed"}),
        ("return numbers.mean(dim=-1)", 1.0, {"sums": "failed", "empty": "failed"}),
        ("return numbers.abs().sum(dim=-1)", 3.0, {"sums": "failed"}),
        ("return numbers.sum(-1) + 0 * numbers.amax(-1)", 5.0, {"empty": "error"}),
        ("return numbers.mul_(1.5).sum(dim=-1) / 1.5", 6.0, {"kept": "failed"}),
        ("return torch.zeros(3)", 0.0, dict.fromkeys(["sums", "empty", "kept"], "failed")),
    ],
)  # fmt: skip
def test_wrong_work_loses_what_its_checks_show(
    worker: Worker, body: str, score: float, gone: dict[str, str]
) -> None:
    assert lost(worker, body) == (score, gone)
