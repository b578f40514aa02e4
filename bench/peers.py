"""The same class by graders of notebooks, which run each student's checks in a kernel of its own.

Both live in an environment of their own (`make bench` makes it). Each is given what its own
manual asks for: nbgrader a course folder with source notebooks (see `stock`), otter an autograder
zip.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from autograder.grading.executor import cores
from bench import notebooks
from bench.classroom import STAGES, Member
from bench.kernel_checks import CHECKS, source_of
from bench.processes import run
from bench.table import ALL_CORES, WHOLE, Row, Tell


class Peers:
    """Runs the commands of their environment, away from the user's own settings."""

    def __init__(self, environment: Path, scratch: Path) -> None:
        self._bin = environment / "bin"
        if not (self._bin / "nbgrader").exists():
            raise SystemExit(f"bench: no nbgrader in {environment}; `make bench` installs it")
        self.scratch = scratch
        self._settings = {
            "PATH": f"{self._bin}:/usr/local/bin:/usr/bin:/bin",  # nbgrader calls alembic by name
            "HOME": str(scratch / "home"),
            "JUPYTER_CONFIG_DIR": str(scratch / "home" / "jupyter"),
            "IPYTHONDIR": str(scratch / "home" / "ipython"),
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        }
        (scratch / "home").mkdir(parents=True, exist_ok=True)

    def run(self, *command: str | Path) -> float:
        """Run one of their programs; the wall seconds."""
        return run([self._bin / command[0], *command[1:]], **self._settings)


def otter(peers: Peers, students: tuple[Member, ...], tell: Tell) -> list[Row]:
    """`otter run`, which takes one submission at a time."""
    folder = peers.scratch / "otter"
    tests = folder / "tests"
    tests.mkdir(parents=True, exist_ok=True)
    for number, check in enumerate(CHECKS, 1):
        (tests / f"q{number}.py").write_text(_otter_test(number, check), "utf-8")
    peers.run("otter", "generate", "-t", tests, "-o", folder / "autograder.zip", "--no-environment")
    scores = {}
    waiting: list[tuple[str | Path, ...]] = []
    for student in students:
        notebook = folder / student.name / "attention.ipynb"
        cells = [notebooks.cell("imports", notebooks.IMPORTS)]
        cells += [notebooks.cell(stage, "") for stage in STAGES]
        notebooks.write(notebook, notebooks.filled(cells, student.cells))
        results = folder / student.name / "out"
        results.mkdir()
        waiting.append(("otter", "run", "-a", folder / "autograder.zip", "-o", results, notebook))
    seconds = []
    for command in waiting:
        seconds.append(peers.run(*command))
        if len(seconds) % 5 == 0:
            tell(f"otter run: {len(seconds)} of {len(students)}")
    tell(f"otter run: {sum(seconds):.1f} s for {len(seconds)}")
    begun = time.perf_counter()
    with ThreadPoolExecutor(
        cores()
    ) as pool:  # its own way of using a second core is to be run twice
        list(pool.map(lambda command: peers.run(*command), waiting))
    together = time.perf_counter() - begun
    tell(f"otter run, {cores()} at a time: {together:.1f} s for {len(seconds)}")
    for student in students:
        told = json.loads((folder / student.name / "out" / "results.json").read_text("utf-8"))
        scores[student.name] = sum(float(each.get("score", 0)) for each in told["tests"])
    judged("otter", students, scores)
    return [
        Row("otter", WHOLE, statistics.median(seconds), "s"),
        Row("otter", ALL_CORES, together / len(students), "s"),
    ]


def judged(grader: str, students: tuple[Member, ...], scores: Mapping[str, float]) -> None:
    """Make sure that it graded: all points for right work, fewer for wrong."""
    for student in students:
        score = scores.get(student.name)
        if score is None or (score == len(CHECKS)) is not student.right:
            raise RuntimeError(f"{grader} gave {student.name} {score} of {len(CHECKS)}")


def _otter_test(number: int, check: Callable[..., None]) -> str:
    """A check as a test file of otter's: it fills the parameters from the notebook's names."""
    return (
        "import torch\n"
        "from otter.test_files import test_case\n\n"
        f'OK_FORMAT = False\nname = "q{number}"\npoints = 1\n\n\n'
        f"@test_case(points=None, hidden=False)\n{source_of(check)}"
    )
