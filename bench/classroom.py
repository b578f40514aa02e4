"""The class that everybody grades: right and wrong submissions, as packages and as cells.

A student hands in a package (or one file); for graders of notebooks the same code becomes one cell
a stage, without the imports between the stages, which a notebook has no modules for.
"""

from __future__ import annotations

import ast
import shutil
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VARIANTS = ROOT / "tests" / "variants"
STAGES = ("simplified", "trainable", "causal", "multi_head")

RIGHT = (
    "book_style",
    "einsum",
    "where",
    "scale_on_q",
    "renormalised",
    "mask_in_forward",
    "folded_heads",
    "chunk_stack",
    "one_file.py",
    "tensordot",
)
WRONG = (
    "simplified/softmax-over-queries",
    "simplified/weights-transposed",
    "trainable/no-scale",
    "trainable/query-key-swapped",
    "trainable/keys-as-values",
    "causal/no-mask",
    "causal/diagonal-masked",
    "causal/dropout-missing",
    "multi_head/heads-split-without-transpose",
    "multi_head/no-output-projection",
)


#: The last definition of a name counts, and this one never ends.
HANGS = """

def causal_mask(num_tokens):
    while True:
        num_tokens += 1
"""


@dataclass(frozen=True)
class Member:
    """One student: a name, and the source of each module handed in, by its file name."""

    name: str
    right: bool
    modules: dict[str, str]

    @property
    def cells(self) -> tuple[str, ...]:
        """The same code for a notebook, one cell a stage, in the stages' order."""
        if set(self.modules) == {f"{stage}.py" for stage in STAGES}:
            return tuple(as_cell(self.modules[f"{stage}.py"]) for stage in STAGES)
        (source,) = self.modules.values()
        return as_cell(source), *(f"# {stage}: see above\n" for stage in STAGES[1:])


def members(size: int, hanging: int = 0) -> tuple[Member, ...]:
    """A class of that size, right and wrong in turn; a large one has everybody several times.

    Of each `hanging` members one hands in attention that never ends, where that is not 0.
    """
    kinds = [kind for pair in zip(RIGHT, WRONG, strict=True) for kind in pair]
    found = []
    for number in range(size):
        kind, turn = kinds[number % len(kinds)], number // len(kinds)
        name = kind.removesuffix(".py").replace("/", "-").replace("_", "-")
        if hanging and number % hanging == hanging - 1:
            modules = _modules(RIGHT[0])
            modules["causal.py"] += HANGS
            found.append(Member(f"hanging-{number + 1}", False, modules))
            continue
        found.append(Member(f"{name}-{turn + 1}", kind in RIGHT, _modules(kind)))
    return tuple(found)


def write_class(students: tuple[Member, ...], folder: Path) -> None:
    """The class as `autograder grade` takes it: a folder, or one file, for each student."""
    shutil.rmtree(folder, ignore_errors=True)
    for student in students:
        if len(student.modules) == 1:
            folder.mkdir(parents=True, exist_ok=True)
            (source,) = student.modules.values()
            (folder / f"{student.name}.py").write_text(source, "utf-8")
            continue
        package = folder / student.name / "attention"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("", "utf-8")
        for name, source in student.modules.items():
            (package / name).write_text(source, "utf-8")


def as_cell(source: str) -> str:
    """A module's source as a cell: imports from the other stages become what they stand for."""
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if not isinstance(node, ast.ImportFrom) or not _is_own(node):
            continue
        assert node.end_lineno is not None
        if node.module in (None, "attention"):
            raise ValueError(f"line {node.lineno} imports a module, which a notebook has not got")
        renamed = [f"{each.asname} = {each.name}" for each in node.names if each.asname]
        lines[node.lineno - 1 : node.end_lineno] = [
            "; ".join(renamed),
            *[""] * (node.end_lineno - node.lineno),
        ]
    return "\n".join(lines) + "\n"


def _is_own(node: ast.ImportFrom) -> bool:
    module = node.module or ""
    return bool(node.level) or module == "attention" or module.startswith("attention.")


def _modules(kind: str) -> dict[str, str]:
    if kind.endswith(".py"):
        return {kind: (VARIANTS / "right" / kind).read_text("utf-8")}
    base = kind if kind in RIGHT else "book_style"
    package = VARIANTS / "right" / base / "attention"
    modules = {f"{stage}.py": (package / f"{stage}.py").read_text("utf-8") for stage in STAGES}
    if kind in WRONG:
        stage = kind.split("/")[0]
        modules[f"{stage}.py"] = (VARIANTS / "wrong" / f"{kind}.py").read_text("utf-8")
    return modules
