"""How long a student waits: `python -m bench.selfcheck`.

Whole runs are compared with a bare `import torch`; in `watch` the time is that from a saved change
to the verdict, with the spare process ready as it is after a moment of typing. Medians of a few.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TIMES = 5
TYPING = 6.0  # seconds between two saves


def main() -> None:
    """Measure and print a small table."""
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch) / "work"
        ignored = shutil.ignore_patterns("__pycache__", ".*")
        shutil.copytree(ROOT / "student_template", work, ignore=ignored)
        torch = measured(work, "-c", "import torch")
        stubs = measured(work, "-m", "selfcheck")
        for file in (ROOT / "solutions" / "attention").glob("*.py"):
            shutil.copy(file, work / "attention")
        solved = measured(work, "-m", "selfcheck")
        saved = watched(work)
    print(f"import torch            {torch:6.2f} s")
    print(f"selfcheck, stubs        {stubs:6.2f} s   {stubs / torch:.2f} times the import")
    print(f"selfcheck, all written  {solved:6.2f} s   {solved / torch:.2f} times the import")
    print(f"watch, save to verdict  {saved:6.2f} s")


def measured(work: Path, *arguments: str) -> float:
    """The median wall time of a Python with these arguments, after one run to warm up."""
    taken = []
    for _ in range(TIMES + 1):
        begun = time.perf_counter()
        subprocess.run([sys.executable, *arguments], cwd=work, capture_output=True, check=False)
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken[1:])


def watched(work: Path) -> float:
    """The median time from a save to a verdict on all stages, as `watch` finds it."""
    program = f"""
import time
from selfcheck.course import course
from selfcheck.runner import Run, Worker
from selfcheck.watch import POLL, snapshot

stages = [stage.id for stage in course().stages]
file = "attention/simplified.py"
spare, before = Worker(), snapshot()
for _ in range({TIMES}):
    time.sleep({TYPING})
    text = open(file, encoding="utf-8").read()
    open(file, "w", encoding="utf-8").write(text + "#")
    begun = time.perf_counter()
    while snapshot() == before:
        time.sleep(POLL)
    run = Run(stages, spare)
    while not run.over:
        run.step(POLL)
    print(time.perf_counter() - begun)
    assert run.standing.done
    spare, before = Worker(), snapshot()
spare.kill()
"""
    surroundings = os.environ | {"PYTHONPATH": str(work)}
    told = subprocess.run(
        [sys.executable, "-c", program],
        cwd=work,
        env=surroundings,
        capture_output=True,
        text=True,
        check=True,
    )
    return statistics.median(map(float, told.stdout.split()))


if __name__ == "__main__":
    main()
