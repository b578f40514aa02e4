"""Work that never ends: the rest of it is graded, and nobody waits for it longer than agreed."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from autograder.assignment.assignment import Assignment, Limits, load_assignment
from autograder.grading.exchange import Graded
from autograder.grading.worker import Worker
from autograder.results.result import Result, decode_result, encode_result
from autograder.sandbox.host.room import NameSpec, Sandbox
from autograder.sandbox.host.student import StudentKilled, StudentTimeout
from autograder.submissions.submission import SourceFile, Submission, read_submission
from tests.conftest import ROOT

RIGHT = Path(__file__).parent / "variants" / "right"
ENDLESS = "while True: pass"
SLEEP = "import time\ntime.sleep(10**6)"
STAGES = ("--stage", "simplified", "--stage", "causal")
LIMITS = {
    "load_seconds = 8.0": "load_seconds = 1.0",
    "call_seconds = 2.0": "call_seconds = 0.5",
    "check_seconds = 4.0": "check_seconds = 2.0",
}


@pytest.fixture(scope="module")
def assignment(tmp_path_factory: pytest.TempPathFactory) -> Assignment:
    """The assignment with limits so small that hanging is cheap."""
    folder = tmp_path_factory.mktemp("assignments") / "attention"
    shutil.copytree(ROOT / "assignments" / "attention", folder)
    table = (folder / "assignment.toml").read_text("utf-8")
    for before, after in (LIMITS | {'"../../': f'"{ROOT.as_posix()}/'}).items():
        assert before in table
        table = table.replace(before, after)
    (folder / "assignment.toml").write_text(table, "utf-8")
    return load_assignment(folder)


@pytest.fixture(scope="module")
def worker(assignment: Assignment) -> Iterator[Worker]:
    with Worker(assignment.folder) as held:
        yield held


@pytest.fixture(scope="module")
def right(assignment: Assignment, worker: Worker) -> Graded:
    """What right work gets, and what it takes."""
    return worker.grade(read_submission(RIGHT / "book_style", assignment.limits))


def changed(assignment: Assignment, path: str, before: str, after: str) -> Submission:
    """Right work with one text of one file replaced."""
    submission = read_submission(RIGHT / "book_style", assignment.limits)
    files = []
    for file in submission.files:
        source = file.data.decode()
        if file.path == path:
            assert before in source
            source = source.replace(before, after)
        files.append(SourceFile(file.path, file.kind, source.encode(), file.cells))
    return Submission("endless", tuple(files), "endless")


def scores(result: Result) -> dict[str, float]:
    return {stage.id: stage.score for stage in result.stages}


def timeouts(result: Result) -> set[str]:
    """The names of which something timed out."""
    return {
        share.name
        for stage in result.stages
        for criterion in stage.criteria
        for share in criterion.shares
        if share.status == "timeout"
    }


def deadlines(graded: Graded) -> int:
    """How many checks ran into a deadline of their own; the others were not run again."""
    failures = json.loads(graded.details)["failures"]
    return sum("ran for more than" in failure["text"] for failure in failures)


class TestLoading:
    def test_a_statement_that_hangs_is_skipped_and_told_and_nothing_is_lost(
        self, assignment: Assignment, worker: Worker, right: Graded
    ) -> None:
        submission = changed(
            assignment,
            "attention/causal.py",
            "\n\ndef causal_mask",
            f"\n{ENDLESS}\n\n\ndef causal_mask",
        )
        graded = worker.grade(submission)
        assert scores(graded.result) == scores(right.result)
        assert graded.result.notes == (
            "attention/causal.py line 5 was skipped: it used up the time for loading",
        )

    def test_a_cell_that_hangs_is_skipped_and_the_other_cells_are_graded(
        self, assignment: Assignment, worker: Worker
    ) -> None:
        sources = [
            (RIGHT / "book_style" / "attention" / f"{stage.id}.py").read_text("utf-8")
            for stage in assignment.stages
        ]
        sources[3] = sources[3].replace("from .causal import CausalAttention", "")
        train = "for epoch in range(10**12):\n    loss = epoch"
        cells = (sources[0], train, *sources[1:], "text = input()\nwhile not text: pass")
        file = SourceFile("work.ipynb", "notebook", cells=cells)
        result = worker.grade(Submission("cells", (file,), "cells")).result
        assert result.score == 100
        assert result.notes == (
            "work.ipynb cell 2 line 1 was skipped: it used up the time for loading",
            "work.ipynb cell 6 raised EOFError; the rest ran",
            "work.ipynb cell 6 raised NameError: name 'text' is not defined; the rest ran",
        )

    def test_what_waits_is_skipped_like_what_works(
        self, assignment: Assignment, worker: Worker
    ) -> None:
        sleep = f"\n{SLEEP}\n\n\ndef causal_mask"
        submission = changed(assignment, "attention/causal.py", "\n\ndef causal_mask", sleep)
        result = worker.grade(submission).result
        assert result.score == 100
        assert "line 6 was skipped" in result.notes[0]

    def test_a_definition_behind_what_hangs_costs_its_own_name_alone(
        self, assignment: Assignment, worker: Worker, right: Graded
    ) -> None:
        """A decorator that never returns takes one function along."""
        slow = "def slow(function):\n    while True: pass\n\n\n@slow\ndef causal_mask"
        submission = changed(assignment, "attention/causal.py", "def causal_mask", slow)
        result = worker.grade(submission).result
        assert scores(result) == scores(right.result) | {"causal": 28.0}


class TestGrading:
    @pytest.mark.parametrize(
        ("path", "before", "kept", "hanging", "paid"),
        [
            pytest.param(
                "attention/causal.py",
                "    masked = scores.masked_fill",
                {"causal": 28.0},
                {"masked_weights"},
                2,
                id="a function",
            ),
            pytest.param(
                "attention/simplified.py",
                "    shifted = scores",
                {"simplified": 11.0},
                {"softmax"},
                5,
                id="a function that others call",
            ),
            pytest.param(
                "attention/causal.py",
                "        self.d_out = d_out",
                {"causal": 7.0},
                {"CausalAttention"},
                2,
                id="a constructor",
            ),
            pytest.param(
                "attention/multi_head.py",
                "        b, num_tokens, d_in = x.shape",
                {
                    "multi_head": 10.0
                },  # it can still be built: its state, gpt2_attention, merge_heads
                {"MultiHeadAttention"},
                2,
                id="a forward",
            ),
        ],
    )
    def test_what_hangs_costs_its_own_name_and_two_deadlines_at_most(
        self,
        path: str,
        before: str,
        kept: dict[str, float],
        hanging: set[str],
        paid: int,
        assignment: Assignment,
        worker: Worker,
        right: Graded,
    ) -> None:
        indent = before[: len(before) - len(before.lstrip())]
        submission = changed(assignment, path, before, f"{indent}{ENDLESS}\n{before}")
        graded = worker.grade(submission)
        assert scores(graded.result) == scores(right.result) | kept
        assert timeouts(graded.result) == hanging
        assert deadlines(graded) == paid  # two, and one of each name that calls what hangs

    def test_a_result_is_the_same_bytes_every_time(
        self, assignment: Assignment, worker: Worker
    ) -> None:
        submission = changed(
            assignment, "attention/simplified.py", "    shifted = scores", f"    {ENDLESS}"
        )
        first, second = (worker.grade(submission, ("simplified",)) for _ in range(2))
        assert encode_result(first.result) == encode_result(second.result)


class TestDeadlines:
    """What a name pays, counted by the guests that are lost."""

    NAMES = tuple(
        NameSpec(name, "simplified", "function", ("scores",))
        for name in ("softmax", "attention_weights", "context_vectors")
    )
    SOURCE = (
        "def softmax(scores):\n    while True: pass\n"
        "def attention_weights(scores):\n    return softmax(scores)\n"
        "def context_vectors(scores):\n    return scores\n"
    )

    @pytest.fixture
    def sandbox(self, assignment: Assignment) -> Iterator[Sandbox]:
        with Sandbox(assignment.limits, self.NAMES, None) as sandbox:
            yield sandbox

    def test_two_for_one_name_and_one_for_a_name_that_may_hang_through_it(
        self, sandbox: Sandbox
    ) -> None:
        session = sandbox.open((SourceFile("a.py", "module", self.SOURCE.encode()),))

        def hangs(name: str) -> bool:
            session.begin_check(f"a check of {name}")
            try:
                session.student(f"a check of {name}").call(name, 1)
            except StudentTimeout:
                return True
            return False

        assert all(hangs("softmax") for _ in range(5))
        assert session.guest_number == 2
        assert all(hangs("attention_weights") for _ in range(5))
        assert session.guest_number == 3
        assert not hangs("context_vectors")
        session.substitute("def softmax(scores):\n    return scores\n")
        assert not hangs("attention_weights")
        session.close()

    def test_names_that_hang_take_no_fresh_guest_from_one_that_crashes(
        self, assignment: Assignment
    ) -> None:
        names = tuple(f"endless_{number}" for number in range(5))
        source = "".join(f"def {name}(x):\n    while True: pass\n" for name in names)
        source += "import os\ndef softmax(x):\n    return x if x else os._exit(1)\n"
        specs = tuple(
            NameSpec(name, "simplified", "function", ("x",)) for name in (*names, "softmax")
        )
        limits = Limits(call_seconds=0.1, fresh_guests=2)
        with Sandbox(limits, specs, None) as sandbox:
            session = sandbox.open((SourceFile("a.py", "module", source.encode()),))
            for name in names:
                with pytest.raises(StudentTimeout):
                    session.student(name).call(name, 1)
            with pytest.raises(StudentKilled):
                session.student("softmax").call("softmax", 0)
            assert session.student("softmax").call("softmax", 1).value == 1


@pytest.mark.parametrize("others", [3, pytest.param(35, marks=pytest.mark.proof)])
def test_five_that_hang_change_nothing_for_the_rest_of_a_class(
    others: int, assignment: Assignment, tmp_path: Path
) -> None:
    right = ("einsum", "fused", "where")
    endless = {
        "an_import": ("attention/causal.py", "import torch.nn", f"{ENDLESS}\nimport torch.nn"),
        "a_sleep": ("attention/causal.py", "import torch.nn", f"{SLEEP}\nimport torch.nn"),
        "b_softmax": ("attention/simplified.py", "    shifted", f"    {ENDLESS}\n    shifted"),
        "c_forward": ("attention/causal.py", "        keys", f"        {ENDLESS}\n        keys"),
        "z_mask": ("attention/causal.py", "    return torch.triu", f"    {ENDLESS}"),
    }
    kinds = {f"{right[number % 3]}_{number}": right[number % 3] for number in range(others)}
    for name in right:
        shutil.copytree(RIGHT / name, tmp_path / "alone" / name)
    for name, kind in kinds.items():
        shutil.copytree(RIGHT / kind, tmp_path / "class" / name)
    for name, (path, before, after) in endless.items():
        for file in changed(assignment, path, before, after).files:
            target = tmp_path / "class" / name / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.data)
    for folder in ("alone", "class"):
        command: list[str | Path] = [sys.executable, "-m", "autograder.cli.main", "grade"]
        options: list[str | Path] = ["--assignment", assignment.folder, "--jobs", "2", *STAGES]
        out: list[str | Path] = [tmp_path / folder, "--out", tmp_path / f"{folder}-out"]
        run = subprocess.run([*command, *out, *options], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
    alone, together = (
        {
            file.parent.name: decode_result(file.read_bytes())
            for file in tmp_path.glob(f"{folder}-out/students/*/result.json")
        }
        for folder in ("alone", "class")
    )
    assert len(together) == others + 5
    assert together.keys() == kinds.keys() | endless.keys()
    for name, kind in kinds.items():
        assert together[name] == msgspec.structs.replace(alone[kind], submission=name)
