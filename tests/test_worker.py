"""One grading process for a whole class: it is fair, it forgets, and it says when it dies."""

import os
import signal
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from autograder.assignment.assignment import Limits
from autograder.errors import InternalError, UsageError
from autograder.grading.exchange import Graded
from autograder.grading.worker import Worker
from autograder.results.result import Result, encode_result
from autograder.submissions.submission import SourceFile, Submission, read_submission
from tests.conftest import ASSIGNMENT

LIMITS: Limits = ASSIGNMENT.limits


@pytest.fixture(scope="module")
def solutions() -> Submission:
    return read_submission(ASSIGNMENT.solutions, LIMITS, name="solutions")


@pytest.fixture(scope="module")
def graded(worker: Worker, solutions: Submission) -> Graded:
    return worker.grade(solutions)


def changed(submission: Submission, module: str, before: str, after: str, name: str) -> Submission:
    """The same submission with one text in one of its modules replaced."""
    files = []
    for file in submission.files:
        source = file.data.decode()
        if file.path.endswith(f"{module}.py"):
            assert source.count(before) == 1
            source = source.replace(before, after)
        files.append(SourceFile(file.path, file.kind, source.encode(), file.cells))
    return Submission(name, tuple(files), name)


def lost(result: Result) -> dict[str, tuple[str, ...]]:
    """What each criterion that lost points names."""
    return {
        f"{stage.id}.{each.id}": each.misconceptions
        for stage in result.stages
        for each in stage.criteria
        if each.score < each.max_score
    }


def scores(result: Result) -> Mapping[str, float]:
    return {stage.id: stage.score for stage in result.stages}


def test_the_solutions_earn_every_point(graded: Graded) -> None:
    assert lost(graded.result) == {}
    assert (graded.result.score, graded.result.max_score) == (100.0, 100.0)


def test_a_result_is_the_same_bytes_every_time(
    worker: Worker, solutions: Submission, graded: Graded
) -> None:
    assert encode_result(worker.grade(solutions).result) == encode_result(graded.result)


def test_what_may_differ_from_run_to_run_is_kept_beside_the_result(graded: Graded) -> None:
    assert graded.isolation == "process"
    assert graded.cpu_seconds > 0.0
    assert graded.wall_seconds > 0.0
    assert b"seconds" not in encode_result(graded.result)
    details = msgspec.json.decode(graded.details)
    assert details["standings"]["MultiHeadAttention"]["kind"] == "right"
    assert details["failures"] == []


def test_one_students_names_never_answer_for_another(
    worker: Worker, solutions: Submission, graded: Graded
) -> None:
    """Two students with one mistake each, one after the other, and again the other way round."""
    softmax = changed(
        solutions, "simplified", "torch.exp(scores - largest)", "scores * 1.0", "softmax"
    )
    mask = changed(
        solutions, "causal", "positions.unsqueeze(0) >", "positions.unsqueeze(0) >=", "mask"
    )
    stages = ("simplified", "causal")
    first = {each.name: worker.grade(each, stages).result for each in (softmax, mask)}
    again = {each.name: worker.grade(each, stages).result for each in (mask, softmax)}
    assert lost(first["softmax"]) == {"simplified.softmax": ("softmax-no-exp",)}
    assert lost(first["mask"])["causal.masking"] == ("diagonal-masked",)
    assert scores(first["mask"])["simplified"] == 15.0
    for name, result in first.items():
        assert encode_result(result) == encode_result(again[name])
    assert lost(worker.grade(solutions, stages).result) == {}


def test_nothing_is_left_for_a_student_who_handed_in_nothing(
    worker: Worker, solutions: Submission, graded: Graded
) -> None:
    worker.grade(solutions, ("simplified",))
    empty = worker.grade(Submission("petra", (), "nothing"), ("simplified",)).result
    assert empty.score == 0.0
    assert {each.status for stage in empty.stages for each in stage.criteria} == {"missing"}
    assert worker.grade(solutions, ("simplified",)).result.score == 15.0


def test_a_module_that_one_student_left_behind_is_not_there_for_the_next(
    worker: Worker, solutions: Submission
) -> None:
    own = SourceFile("attention/extra.py", "module", b"SECRET = 'of the first student'\n")
    first = Submission("first", (*solutions.files, own), "first")
    second = changed(
        solutions,
        "simplified",
        "import torch\n\n\ndef",
        "import torch\nfrom .extra import SECRET\n\n\ndef",
        "second",
    )
    assert worker.grade(first, ("simplified",)).result.score == 15.0
    notes = worker.grade(second, ("simplified",)).result.notes
    assert any("extra" in note for note in notes)


def test_only_the_stages_that_were_asked_for_are_graded(
    worker: Worker, solutions: Submission
) -> None:
    result = worker.grade(solutions, ("trainable",)).result
    assert scores(result) == {"trainable": 25.0}


@pytest.mark.proof
def test_a_submission_that_never_ends_takes_nothing_from_the_next(
    worker: Worker, solutions: Submission
) -> None:
    endless = changed(
        solutions, "simplified", "return exponentials / ", "while True: pass\n    return 1 / ", "e"
    )
    slow = worker.grade(endless, ("simplified",)).result
    softmax = next(each for each in slow.stages[0].criteria if each.id == "softmax")
    assert softmax.status == "timeout"
    assert worker.grade(solutions, ("simplified",)).result.score == 15.0


@pytest.mark.parametrize(
    ("module", "before", "after", "stage"),
    [
        (
            "simplified",
            "    return attention_weights(inputs) @ inputs\n",
            "    sdpa = torch.nn.functional.scaled_dot_product_attention\n"
            "    return sdpa(inputs, inputs, inputs, scale=1.0)\n",
            "simplified",
        ),
        (
            "causal",
            "        return self.dropout(weights) @ self.W_value(tokens)\n",
            "        sdpa = nn.functional.scaled_dot_product_attention\n"
            "        rate = self.dropout.p if self.training else 0.0\n"
            "        values = self.W_value(tokens)\n"
            "        queries = self.W_query(tokens)\n"
            "        return sdpa(queries, keys, values, dropout_p=rate, is_causal=True)\n",
            "causal",
        ),
    ],
    ids=["simplified", "causal"],
)
def test_library_attention_is_noticed_wherever_it_is_called(
    worker: Worker, solutions: Submission, module: str, before: str, after: str, stage: str
) -> None:
    result = worker.grade(changed(solutions, module, before, after, "library"), (stage,)).result
    assert f"{stage}.context" in lost(result)
    told = [each.message for stage in result.stages for each in stage.criteria]
    assert any("scaled_dot_product" in message for message in told)  # it is named


def test_comparing_with_the_library_outside_of_a_graded_call_costs_nothing(
    worker: Worker, solutions: Submission
) -> None:
    """At the end of a module, and in a function of the student's own that nobody grades."""
    compare = (
        "\n\ndef compare(inputs):\n"
        "    sdpa = torch.nn.functional.scaled_dot_product_attention\n"
        "    expected = sdpa(inputs, inputs, inputs, scale=1.0)\n"
        "    assert torch.allclose(expected, context_vectors(inputs), atol=1e-5)\n"
        "    assert torch.allclose(torch.softmax(inputs, dim=-1), softmax(inputs), atol=1e-5)\n"
        "    torch.nn.MultiheadAttention(4, 2, batch_first=True)(*[inputs[None]] * 3)\n\n\n"
        "compare(torch.rand(5, 4))\n"
    )
    files = tuple(
        SourceFile(file.path, file.kind, file.data + compare.encode(), file.cells)
        if file.path.endswith("simplified.py")
        else file
        for file in solutions.files
    )
    result = worker.grade(Submission("compares", files, "compares"), ("simplified",)).result
    assert (result.score, result.notes) == (15.0, ())


# How a worker ends --------------------------------------------------------------------------


def test_a_worker_that_was_killed_is_the_kits_fault(solutions: Submission) -> None:
    with Worker(ASSIGNMENT.folder, "process") as worker:
        worker.wait_ready()
        os.kill(worker.pid, signal.SIGKILL)
        with pytest.raises(InternalError, match="a grading process ended by itself"):
            worker.grade(solutions)
        assert not worker.alive


def test_a_worker_that_dies_before_it_is_ready_is_the_kits_fault() -> None:
    with Worker(ASSIGNMENT.folder, "process") as worker:
        os.kill(worker.pid, signal.SIGKILL)
        with pytest.raises(InternalError, match="exit status -9"):
            worker.wait_ready()


def test_a_worker_that_died_says_so_each_time_it_is_asked(solutions: Submission) -> None:
    with Worker(ASSIGNMENT.folder, "process") as worker:
        os.kill(worker.pid, signal.SIGKILL)
        for _ in range(2):
            with pytest.raises(InternalError):
                worker.grade(solutions)


def test_an_assignment_that_is_not_there_is_wrong_use(tmp_path: Path) -> None:
    worker = Worker(tmp_path / "nowhere", "process")
    with pytest.raises(UsageError, match="nowhere"):
        worker.wait_ready()
    assert not worker.alive


def test_an_assignment_that_cannot_be_read_is_wrong_use(tmp_path: Path) -> None:
    (tmp_path / "assignment.toml").write_text("points = 'many'\n")
    worker = Worker(tmp_path, "process")
    with pytest.raises(UsageError, match=r"assignment\.toml"):
        worker.wait_ready()


def test_a_secret_that_others_can_read_is_wrong_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("long enough, but open to others")
    secret.chmod(0o644)
    monkeypatch.setenv("AUTOGRADER_SECRET_FILE", str(secret))
    worker = Worker(ASSIGNMENT.folder, "process")
    with pytest.raises(UsageError, match="chmod 600"):
        worker.wait_ready()


def test_a_closed_worker_has_ended() -> None:
    worker = Worker(ASSIGNMENT.folder, "process")
    worker.kill()
    assert not worker.alive
