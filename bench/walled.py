"""The same class through `nbgrader autograde` again, with this kit in the place of its kernels.

Run from the kit's own environment, on the notebooks that `autograder release nbgrader` builds.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

from bench import notebooks
from bench.classroom import Member
from bench.processes import run
from bench.table import WHOLE, Row, Tell

PART = "nbgrader with the kit"
HOMEWORK = "attention"
BIN = Path(sys.executable).parent


def walled(students: tuple[Member, ...], scratch: Path, tell: Tell) -> list[Row]:
    """`nbgrader autograde` of the whole class in one command, nothing run in its account."""
    course = scratch / "walled"
    home = scratch / "walled-home"
    home.mkdir(parents=True, exist_ok=True)
    settings = {
        "PATH": f"{BIN}:/usr/local/bin:/usr/bin:/bin",  # nbgrader calls alembic by name
        "HOME": str(home),
        "JUPYTER_CONFIG_DIR": str(home / "jupyter"),
        "IPYTHONDIR": str(home / "ipython"),
    }
    there = f"--course-dir={course}"
    config = f"--config={course}/nbgrader_config.py"
    run([BIN / "autograder", "release", "nbgrader", "--out", course])
    run([BIN / "nbgrader", "generate_assignment", HOMEWORK, there, config], **settings)
    released = sorted((course / "release" / HOMEWORK).glob("*.ipynb"))
    for student in students:
        for path, answer in zip(released, student.cells, strict=True):
            handed_in = course / "submitted" / student.name / HOMEWORK / path.name
            notebooks.write(handed_in, [*_unanswered(path), notebooks.cell("answer", answer)])
    tell(f"{PART}: the class is handed in")
    seconds = run([BIN / "nbgrader", "autograde", HOMEWORK, there, config], **settings)
    tell(f"{PART}, nbgrader autograde: {seconds:.1f} s for {len(students)}")
    grades = course / "grades.csv"
    run([BIN / "nbgrader", "export", f"--to={grades}", f"--db=sqlite:///{course}/gradebook.db"],
        **settings)  # fmt: skip
    with grades.open(encoding="utf-8", newline="") as file:
        scores = {line["student_id"]: float(line["raw_score"]) for line in csv.DictReader(file)}
    for student in students:
        if (scores.get(student.name) == 100.0) is not student.right:
            raise RuntimeError(f"{PART} gave {student.name} {scores.get(student.name)} of 100")
    return [Row(PART, WHOLE, seconds / len(students), "s")]


def _unanswered(path: Path) -> list[notebooks.Cell]:
    """The released cells, but for those that raise because nothing is written in them yet."""
    cells: list[notebooks.Cell] = json.loads(path.read_text("utf-8"))["cells"]
    return [
        cell for cell in cells if not cell["metadata"].get("nbgrader", {}).get("solution", False)
    ]
