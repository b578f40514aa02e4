"""A class graded on a real dask cluster: a scheduler and two workers, each a process of its own."""

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder.assignment.secret import load_secret
from autograder.errors import MissingRequirement
from autograder.grading import cluster
from autograder.grading.cluster import ClusterExecutor
from autograder.grading.cluster_worker import Facts, facts, processor
from autograder.results.grading_key import grading_key
from tests.conftest import ASSIGNMENT, ROOT

EXAMPLES = ROOT / "examples" / "submissions"
VARIANTS = Path(__file__).parent / "variants" / "right"
RIGHT = ("einsum", "fused", "where")
SOME = ("ben.py", "grace.py", "milan.py")
Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts a part of a cluster; all of it ends with the tests."""
    place = tmp_path_factory.mktemp("cluster")
    parts: list[subprocess.Popen[bytes]] = []

    def dask(*words: str) -> "subprocess.Popen[bytes]":
        with (place / f"{len(parts)}.log").open("wb") as log:
            command = [sys.executable, "-m", "dask", *words]
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=place)
        parts.append(process)
        return process

    yield dask
    for process in parts:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def scheduler(start: Start, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a scheduler with two workers of one thread each."""
    file = tmp_path_factory.mktemp("scheduler") / "scheduler.json"
    start(
        "scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--no-dashboard",
        "--scheduler-file",
        str(file),
    )
    for _ in range(600):
        if file.exists():
            break
        time.sleep(0.1)
    return str(json.loads(file.read_text("utf-8"))["address"])


@pytest.fixture(scope="module")
def workers(start: Start, scheduler: str) -> "list[subprocess.Popen[bytes]]":
    """Two workers, without the nannies that would bring a killed one back."""
    options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
    return [start("worker", scheduler, *options) for _ in range(2)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small class, right and wrong."""
    for name in RIGHT:
        shutil.copytree(VARIANTS / name, tmp_path / "class" / name)
    for name in SOME:
        shutil.copy(EXAMPLES / name, tmp_path / "class")
    return tmp_path / "class"


def grade(folder: Path, out: Path, *options: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "autograder.cli.main", "grade", folder, "--out", out, *options],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def results(out: Path) -> dict[str, bytes]:
    return {file.parent.name: file.read_bytes() for file in out.glob("students/*/result.json")}


@pytest.mark.proof
def test_results_are_the_same_bytes_although_a_worker_is_killed_on_the_way(
    folder: Path, tmp_path: Path, scheduler: str, workers: "list[subprocess.Popen[bytes]]"
) -> None:
    there = grade(folder, tmp_path / "there", "--scheduler", scheduler)
    assert there.stderr is not None
    assert there.stderr.readline().startswith("[1/")
    workers[0].send_signal(signal.SIGKILL)
    rest = there.stderr.read()
    assert there.wait() == 0, rest
    here = grade(folder, tmp_path / "here", "--jobs", "1")
    assert here.wait() == 0
    assert results(tmp_path / "there") == results(tmp_path / "here")
    assert len(results(tmp_path / "here")) == len(RIGHT) + len(SOME)


def test_a_cluster_in_another_state_is_refused_and_told_in_what_it_differs(
    scheduler: str, workers: "list[subprocess.Popen[bytes]]"
) -> None:
    mine = Facts(grading_key(ASSIGNMENT, b"another secret"), processor())
    with pytest.raises(MissingRequirement, match="differs from this machine in secret"):
        ClusterExecutor(scheduler, mine, ASSIGNMENT.folder, None)


def test_another_kind_of_processor_is_told(
    scheduler: str, workers: "list[subprocess.Popen[bytes]]"
) -> None:
    key = grading_key(ASSIGNMENT, load_secret(ASSIGNMENT))
    executor = ClusterExecutor(scheduler, Facts(key, "abacus"), ASSIGNMENT.folder, None)
    try:
        assert [note for note in executor.notes if "(" + processor() + ", here abacus)" in note]
    finally:
        executor.close()


def test_an_assignment_that_is_not_there_is_told(
    tmp_path: Path, scheduler: str, workers: "list[subprocess.Popen[bytes]]"
) -> None:
    mine = Facts(grading_key(ASSIGNMENT, load_secret(ASSIGNMENT)), processor())
    with pytest.raises(
        MissingRequirement, match="neither an assignment.toml nor a folder that holds one"
    ):
        ClusterExecutor(scheduler, mine, tmp_path, None)


def test_nobody_at_the_address_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "ANSWER", 0.1)
    mine = Facts(grading_key(ASSIGNMENT, load_secret(ASSIGNMENT)), processor())
    with pytest.raises(MissingRequirement, match="no scheduler answers"):
        ClusterExecutor("tcp://127.0.0.1:1", mine, ASSIGNMENT.folder, None)


def test_a_scheduler_that_does_not_answer_is_one_line_and_exit_3(
    folder: Path, tmp_path: Path
) -> None:
    ended = grade(folder, tmp_path / "out", "--scheduler", "nonsense://127.0.0.1:1")
    assert ended.stderr is not None
    lines = ended.stderr.read().splitlines()
    assert ended.wait() == 3
    assert "no scheduler answers" in lines[-1], lines
    assert not results(tmp_path / "out")


def test_without_dask_the_extra_is_named(folder: Path, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "distributed.py").write_text("raise ModuleNotFoundError(name='distributed')\n")
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "autograder.cli.main", "grade", folder),
            *("--out", tmp_path / "out", "--scheduler", "tcp://127.0.0.1:1"),
        ],
        cwd=ROOT,
        env={"PYTHONPATH": str(hidden), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 3
    assert "pip install 'attention-autograder[cluster]'" in ended.stderr


def test_facts_name_the_processor_and_the_key() -> None:
    found = facts(ASSIGNMENT.folder)
    assert found.fault == ""
    assert found.key == grading_key(ASSIGNMENT, load_secret(ASSIGNMENT))
    assert found.processor.split()[0] == found.key.python.split()[-1]
