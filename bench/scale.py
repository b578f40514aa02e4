"""What a class costs by its size: time and memory of `autograder grade`."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.classroom import ROOT, members, write_class
from bench.processes import MemoryWatch, run
from bench.table import Goal, Row, Tell

PROGRAM = Path(sys.executable).with_name("autograder")
SIZES = (10, 100, 1000)  # 5000 as well where somebody has the time: --sizes
#: Of so many submissions one never ends.
HANGING = 250
#: A thousand in so many seconds, on two cores.
THOUSAND, SECONDS = 1000, 100.0
#: The same in imports of torch, so that the figure holds on a faster machine too.
IMPORTS = 60.0
_PAUSE, _SHARE = 0.25, 0.02  # of looks at the memory, which would cost 5 % of a class unbounded


def sizes(scratch: Path, counts: Sequence[int], tell: Tell) -> list[Row]:
    """One class after another by the whole command: right, wrong, and a few that hang."""
    rows: list[Row] = []
    for count in counts:
        imports = [_import(), _import()]
        folder, out = scratch / f"class-of-{count}", scratch / f"class-of-{count}-out"
        write_class(members(count, HANGING), folder)
        seconds, watch = _graded(folder, out)
        graded = len(list(out.glob("students/*/result.json")))
        if graded != count:
            raise RuntimeError(f"{graded} of {count} were graded")
        goal = Goal("at most", SECONDS / THOUSAND, "value") if count == THOUSAND else None
        rows.append(
            Row("sizes", f"class of {count}, wall a submission", seconds / count, "ms", goal=goal)
        )
        if count == THOUSAND:
            rows.append(_beside_imports(count, seconds, [*imports, _import()]))
        rows.append(
            Row("sizes", f"class of {count}, PSS of everything at its most", watch.most, "MB")
        )
        tell(
            f"a class of {count}: {seconds:.1f} s,"
            f" {watch.most:.0f} MB in {watch.processes} processes"
        )
    return rows


def _import() -> float:
    """Seconds that an import of torch takes: what this machine gives at the moment."""
    return run([sys.executable, "-c", "import torch"])


def _beside_imports(count: int, seconds: float, imports: Sequence[float]) -> Row:
    """A class in imports of torch, by the clock on the wall; these lie before and after it."""
    imported = statistics.median(imports)
    goal = Goal("at most", IMPORTS, "ratio")
    what = f"class of {count}, whole"
    return Row("sizes", what, seconds, "s", seconds / imported, "import of torch", goal)


def _graded(folder: Path, out: Path) -> tuple[float, MemoryWatch]:
    """Grade a class; the seconds, and what was seen of the memory of all its processes."""
    begun = time.perf_counter()
    with (
        subprocess.Popen(
            [PROGRAM, "grade", folder, "--out", out],
            cwd=ROOT,
            env=dict(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as command,
        MemoryWatch(command.pid, _PAUSE, _SHARE) as watch,
    ):
        code = command.wait()
    if code:
        raise RuntimeError(f"autograder grade of {folder.name}: exit status {code}")
    return time.perf_counter() - begun, watch
