"""A class that hands in notebooks, for the tests of every platform that takes them.

Ten invented students fill in the notebooks that were released: right, wrong, unwritten, hanging,
hostile, and with cells in disorder. Their code comes from `variants/` and from here; nothing in it
knows the kit.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

VARIANTS = ROOT / "tests" / "variants"
STAGES = ("simplified", "trainable", "causal", "multi_head")

SMALL = {"load_seconds": "2.0", "call_seconds": "0.5", "submission_seconds": "5.0"}

Cell = dict[str, Any]
Notebook = dict[str, Any]

HANGS = """\
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, tokens):
        while True:
            pass
"""

HOSTILE = """\
import builtins, os, sys
from pathlib import Path

torch.allclose = torch.equal = lambda *args, **kwargs: True
builtins.abs = lambda x: 0
os.environ["NBGRADER_EXECUTION"] = "validate"
for place in (".", "..", "/tmp"):
    try:
        Path(place, "written-by-a-student").write_text("here")
    except OSError:
        pass
try:
    import sqlite3
    book = sqlite3.connect("../../gradebook.db")
    book.execute("update grade set manual_score = 100")
    book.commit()
except Exception:
    pass
print("\\x1b]0;owned\\x07", file=sys.stderr)


class Forged(torch.Tensor):
    def __eq__(self, other):
        return True


def softmax(scores):
    raise ValueError("<script>alert(1)</script> $\\\\href{javascript:alert(1)}{x}$ `")
"""


def small_course(base: Path) -> Path:
    """A copy of the assignment, with limits that a hanging submission meets soon; its folder."""
    for part in ("assignments/attention", "solutions/attention"):
        shutil.copytree(ROOT / part, base / part, ignore=shutil.ignore_patterns("__pycache__"))
    folder = base / "assignments" / "attention"
    settings = (folder / "assignment.toml").read_text("utf-8")
    for name, value in SMALL.items():
        settings, count = re.subn(rf"(?m)^{name} = .*$", f"{name} = {value}", settings)
        assert count == 1, name
    (folder / "assignment.toml").write_text(settings, "utf-8")
    return folder


def modules_of(right: str = "book_style", wrong: str | None = None) -> dict[str, str]:
    """The sources of a package from `variants/`, with one wrong module in it if it is named."""
    package = VARIANTS / "right" / right / "attention"
    modules = {stage: (package / f"{stage}.py").read_text("utf-8") for stage in STAGES}
    if wrong is not None:
        modules[wrong.split("/")[0]] = (VARIANTS / "wrong" / f"{wrong}.py").read_text("utf-8")
    return modules


def solved() -> dict[str, str]:
    """The reference itself."""
    folder = ROOT / "solutions" / "attention"
    return {stage: (folder / f"{stage}.py").read_text("utf-8") for stage in STAGES}


def as_cell(source: str) -> str:
    """A module's source for a notebook: other stages' names are there already."""
    lines = source.splitlines()
    for node in ast.parse(source).body:
        own = isinstance(node, ast.ImportFrom) and (
            node.level or (node.module or "").split(".")[0] == "attention"
        )
        if own:
            assert node.end_lineno is not None
            count = node.end_lineno - node.lineno + 1
            lines[node.lineno - 1 : node.end_lineno] = [""] * count
    return "\n".join(lines) + "\n"


def definitions_of(source: str) -> dict[str, str]:
    """Top-level functions and classes by name, as source."""
    return {
        node.name: ast.get_source_segment(source, node) or ""
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


def filled(notebook: Notebook, source: str, name_of: Callable[[Cell], str | None]) -> Notebook:
    """A released notebook with a stage's code in the cells of its names.

    What belongs to no cell (helpers, imports) comes in a cell of its own before them.
    """
    cell = as_cell(source)
    found = definitions_of(cell)
    names = [name for each in notebook["cells"] if (name := name_of(each)) in found]
    rest = cell
    for name in names:
        rest = rest.replace(found[name], "")
    whole: Notebook = json.loads(json.dumps(notebook))
    at = next(place for place, each in enumerate(whole["cells"]) if name_of(each) in found)
    for each in whole["cells"]:
        name = name_of(each)
        if name in found:
            each["source"] = found[name].splitlines(keepends=True)
    whole["cells"].insert(at, code(rest))
    return whole


def code(source: str, **metadata: Any) -> Cell:
    """A code cell that has been run and has shown nothing."""
    return {
        "cell_type": "code",
        "id": f"own-{zlib.crc32(source.encode())}",
        "execution_count": 1,
        "metadata": metadata,
        "outputs": [],
        "source": source.splitlines(keepends=True),
    }


def marks(cell: Cell) -> dict[str, Any]:
    """nbgrader's marks of a cell."""
    found: dict[str, Any] = cell["metadata"].get("nbgrader", {})
    return found


def answer(cell: Cell) -> str | None:
    """The name that is to be written in a cell of nbgrader's."""
    return marks(cell).get("grade_id") if marks(cell).get("solution") else None


def nbgrader_class(released: Mapping[str, Notebook]) -> dict[str, dict[str, Notebook]]:
    """Ten students: name to notebooks. `released` has a notebook for each stage, in order."""
    stems = list(released)

    def written(modules: Mapping[str, str]) -> dict[str, Notebook]:
        return {
            stem: filled(released[stem], modules[stage], answer)
            for stem, stage in zip(stems, STAGES, strict=True)
        }

    students = {
        "ada": written(solved()),
        "ben": written(modules_of("einsum")),
        "cem": written(modules_of(wrong="simplified/softmax-over-queries")),
        "dai": written(modules_of(wrong="causal/no-mask")),
        "eva": written(modules_of(wrong="multi_head/heads-split-without-transpose")),
        "finn": {stem: json.loads(json.dumps(released[stem])) for stem in stems},
        "gil": written(modules_of()),
        "hal": written(modules_of(wrong="causal/no-mask")),
        "ida": written(modules_of("where")),
        "jon": written(modules_of()),
    }
    _hang(students["gil"][stems[2]])
    students["hal"][stems[0]]["cells"].append(code(HOSTILE))
    _own_all_outputs(students["hal"])
    _disorder(students["ida"], stems)
    # One notebook is missing; its names stand in another.
    students["jon"][stems[0]]["cells"].append(code(as_cell(modules_of()["trainable"])))
    del students["jon"][stems[1]]
    return students


def write(notebook: Notebook, path: Path) -> None:
    """Write a notebook down."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook, indent=1), "utf-8")


def _hang(notebook: Notebook) -> None:
    """Loops for ever: once in a demonstration, once in the class that is graded."""
    for each in notebook["cells"]:
        if answer(each) == "CausalAttention":
            each["source"] = HANGS.splitlines(keepends=True)
    notebook["cells"].append(code("while True:\n    pass\n"))


def _own_all_outputs(notebooks: Mapping[str, Notebook]) -> None:
    """Every grade cell says that it earned everything, in its source and in its output."""
    for notebook in notebooks.values():
        for each in notebook["cells"]:
            if marks(each).get("grade"):
                points = marks(each)["points"]
                each["source"] = [f"float({points})"]
                each["outputs"] = [
                    {
                        "output_type": "execute_result",
                        "execution_count": 1,
                        "metadata": {},
                        "data": {"text/plain": [f"{float(points)}"]},
                    }
                ]


def _disorder(notebooks: Mapping[str, Notebook], stems: list[str]) -> None:
    """What editors, other tools and curiosity do to cells that were meant to be left alone."""
    first, second, third, fourth = (notebooks[stem] for stem in stems)
    first["cells"] = [each for each in first["cells"] if not marks(each).get("grade")]  # deleted
    for each in second["cells"]:  # retyped, with other points
        if marks(each).get("grade"):
            each["cell_type"] = "markdown"
            for key in ("outputs", "execution_count"):
                each.pop(key, None)
            marks(each)["points"] = 1000
    graded = [each for each in third["cells"] if marks(each).get("grade")]
    third["cells"] += json.loads(json.dumps(graded))  # duplicated
    for each in third["cells"]:
        each["id"] = f"again-{id(each)}"
    for number, each in enumerate(fourth["cells"]):  # changed ids, marks that are none
        if marks(each):
            each["metadata"]["nbgrader"] = [
                {**marks(each), "grade_id": f"another-{number}", "schema_version": 99},
                "nothing",
                {"grade": True},
            ][number % 3]
    fourth["metadata"]["kernelspec"] = {"name": "no-such-kernel", "display_name": "Nothing"}
    fourth["cells"].append(
        code("import sys, warnings\nwarnings.warn('loud')\nsys.stderr.write('!')")
    )
