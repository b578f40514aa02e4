"""`python -m selfcheck submit` against the grader: what it said is what is graded.

Sixty odd shapes of work, each handed in by the real command; the zips are then graded as a class.
"""

import ast
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autograder.sandbox.guest.loading import jupyter, statements
from selfcheck.course import course
from selfcheck.reading import cells, definitions

ROOT = Path(__file__).resolve().parents[1]
TEMPLATE = ROOT / "student_template"
GRADER = ROOT / "autograder" / "sandbox" / "guest" / "loading"
STAGES = ("simplified", "trainable", "causal", "multi_head")
NAMES = tuple(name.name for stage in course().stages for name in stage.names)

Work = Callable[[Path], None]


def solution(module: str) -> str:
    text = (ROOT / "solutions" / "attention" / f"{module}.py").read_text("utf-8")
    return re.sub(r"^ *### (BEGIN|END) SOLUTION\n", "", text, flags=re.MULTILINE)


def definition(module: str, name: str) -> str:
    """The text of one function or class of a solution."""
    text = solution(module)
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return "\n".join(text.splitlines()[node.lineno - 1 : node.end_lineno]) + "\n"
    raise AssertionError(name)


def put(work: Path, path: str, text: str | bytes) -> None:
    file = work / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())


def notebook(*sources: str) -> str:
    return json.dumps(
        {
            "cells": [
                {"cell_type": "code", "metadata": {}, "outputs": [], "source": source}
                for source in sources
            ],
            "metadata": {},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    )


def solved(work: Path, *modules: str) -> None:
    for module in modules or STAGES:
        put(work, f"attention/{module}.py", solution(module))


def changed(module: str, old: str, new: str) -> Work:
    def change(work: Path) -> None:
        solved(work)
        text = solution(module)
        assert old in text, old
        put(work, f"attention/{module}.py", text.replace(old, new))

    return change


def encoded(encoding: str, first: str = "") -> Work:
    def change(work: Path) -> None:
        solved(work)
        put(work, "attention/causal.py", (first + solution("causal")).encode(encoding))

    return change


def causal_as(edit: Callable[[str], str]) -> Work:
    """All solved, the causal stage's text edited as a whole."""

    def change(work: Path) -> None:
        solved(work)
        put(work, "attention/causal.py", edit(solution("causal")))

    return change


def alias_given(work: Path) -> None:
    changed("causal", "class CausalAttention(", "class _Causal(")(work)
    text = (work / "attention" / "causal.py").read_text("utf-8")
    put(work, "attention/causal.py", text + "\n\nCausalAttention = _Causal\n")


def notebook_with_mark(work: Path) -> None:
    solved(work, "simplified")
    put(work, "work.ipynb", b"\xef\xbb\xbf" + notebook(solution("causal")).encode())


def added(path: str, text: str | bytes, *modules: str) -> Work:
    """Solved modules and one file more."""

    def change(work: Path) -> None:
        solved(work, *modules) if modules else None
        put(work, path, text)

    return change


def moved(path: str) -> Work:
    """The causal stage written elsewhere; its module keeps its stubs."""
    return added(path, solution("causal"), "simplified", "trainable", "multi_head")


def in_notebook(path: str, *before: str, module: str = "causal", magic: str = "") -> Work:
    others = [each for each in STAGES if each != module]
    return added(path, notebook(*before, magic + solution(module)), *others)


def without(module: str) -> Work:
    def change(work: Path) -> None:
        solved(work)
        (work / "attention" / f"{module}.py").unlink()

    return change


def with_helpers(path: str, statement: str) -> Work:
    """Softmax's body lives in a module that stage 1 imports."""

    def change(work: Path) -> None:
        solved(work)
        put(work, path, definition("simplified", "softmax").replace("softmax", "shared", 1))
        text = solution("simplified").replace("import torch\n", f"import torch\n{statement}\n", 1)
        own = definition("simplified", "softmax")
        put(
            work,
            "attention/simplified.py",
            text.replace(own, "def softmax(scores):\n    return shared(scores)\n\n"),
        )
        put(work, path, "import torch\n\n" + (work / path).read_text("utf-8"))

    return change


def both(*works: Work) -> Work:
    def change(work: Path) -> None:
        for each in works:
            each(work)

    return change


def one_file(path: str) -> Work:
    text = "\n".join(solution(each) for each in STAGES)
    text = text.replace("from .causal import CausalAttention\n", "")
    text = text.replace("from .trainable import", "from trainable import")

    def change(work: Path) -> None:
        shutil.rmtree(work / "attention")
        put(work, path, text)

    return change


def one_notebook(path: str) -> Work:
    texts = [solution(each).replace("from .causal import CausalAttention\n", "") for each in STAGES]

    def change(work: Path) -> None:
        shutil.rmtree(work / "attention")
        put(work, path, notebook("!pip install torch", *texts, "%matplotlib inline\nprint(1)"))

    return change


BREAK = "def renormalized_weights("
SHAPES: dict[str, Work] = {
    "stubs_alone": lambda work: None,
    "all_solved": solved,
    "one_stage": lambda work: solved(work, "simplified"),
    "two_stages": lambda work: solved(work, "simplified", "causal"),
    "byte_order_mark": encoded("utf-8-sig"),
    "utf_16": encoded("utf-16"),
    "cp1252": encoded("cp1252", "# Größe – naïve “mask”\n"),
    "latin_1_with_cookie": encoded("latin-1", "# -*- coding: latin-1 -*-\n# Zoë\n"),
    "carriage_returns": causal_as(lambda text: text.replace("\n", "\r")),
    "crlf": causal_as(lambda text: text.replace("\n", "\r\n")),
    "null_bytes": causal_as(lambda text: text + "\n# \0\n"),
    "tabs_and_form_feed": causal_as(lambda text: "\f" + text.replace("    ", "\t")),
    "broken_line_between": changed("causal", BREAK, 'print "half way"\n\n\n' + BREAK),
    "broken_function": changed("causal", BREAK, "def renormalized_weights(:\n    x = (\n\ndef o("),
    "unclosed_bracket": changed("causal", BREAK, "sizes = [1, 2\n\n\n" + BREAK),
    "unclosed_quotes": changed(
        "simplified", "def context_vectors(", '"""\n\ndef context_vectors('),
    "bad_indentation": changed("simplified", "def softmax(", "   x = 1\ndef softmax("),
    "merge_conflict": changed(
        "causal", "import torch\n", "import torch\n<<<<<<< HEAD\nA = 1\n=======\nA = 2\n>>>>>>> x\n"
    ),
    "typographic_quotes": changed("trainable", "import torch\n", "import torch\nx = “y”\n"),
    "broken_first_line": changed("causal", "import torch\n", "import import\nimport torch\n"),
    "torch_not_imported": changed("simplified", "import torch\n", ""),
    "nn_not_imported": changed("causal", "from torch import nn\n", ""),
    "renamed_in_case": changed("simplified", "softmax", "soft_max"),
    "misspelled": changed("causal", "CausalAttention", "CasualAttention"),
    "of_another_name": changed("multi_head", "def merge_heads(", "def put_together("),
    "capitals": changed("multi_head", "gpt2_attention", "GPT2_Attention"),
    "subfolder": moved("attention/parts/causal.py"),
    "subfolder_with_init": both(
        moved("attention/parts/inner.py"), added("attention/parts/__init__.py", "")
    ),
    "package_init": moved("attention/__init__.py"),
    "beside": moved("causal.py"),
    "beside_other_name": moved("my_causal.py"),
    "in_src": moved("src/causal.py"),
    "in_tests": moved("tests/causal.py"),
    "in_a_hidden_folder": moved(".old/causal.py"),
    "in_venv": moved("venv/causal.py"),
    "helpers_beside": with_helpers("helpers.py", "from helpers import shared"),
    "helpers_within": with_helpers("attention/helpers.py", "from .helpers import shared"),
    "helpers_in_a_package": with_helpers("lib/tools.py", "from lib.tools import shared"),
    "helpers_by_star": with_helpers("helpers.py", "from helpers import *"),
    "helpers_of_helpers": both(
        with_helpers("deep.py", "from helpers import shared"),
        added("helpers.py", "from deep import shared\n"),
    ),
    "helpers_in_capitals": with_helpers("Helpers.py", "from Helpers import shared"),
    "draft_beside": added("draft.py", "def softmax(scores):\n    return scores\n", *STAGES),
    "own_random": added("random.py", "def softmax(scores):\n    return scores\n", *STAGES),
    "notebook_of_the_template": in_notebook("notebooks/3_causal.ipynb"),
    "notebook_of_ones_own": in_notebook("my work.ipynb"),
    "notebook_in_a_folder": in_notebook("week 3/final.ipynb"),
    "notebook_timed": in_notebook("work.ipynb", magic="%%time\n"),
    "notebook_captured": in_notebook("work.ipynb", magic="%%capture out\n"),
    "notebook_in_bash": in_notebook("work.ipynb", magic="%%bash\n"),
    "notebook_writes": in_notebook("work.ipynb", magic="%%writefile attention/causal2.py\n"),
    "notebook_with_magics": in_notebook(
        "work.ipynb", "%pip install torch\n!ls\ntorch?\nfiles = !ls\n%time x = 1"
    ),
    "notebook_with_bom": notebook_with_mark,
    "notebook_broken_cell": in_notebook("work.ipynb", "def broken(:\n    pass", "print 'x'"),
    "notebook_broken_exercise": added(
        "work.ipynb", notebook("import torch", "def causal_mask(n):\n    return torch.ones(n, n"),
        "simplified",
    ),
    "notebook_cut_off": added("work.ipynb", notebook(solution("causal"))[:200], "simplified"),
    "notebook_runs_a_file": added(
        "work.ipynb", notebook("%run my_causal.py\nprint(1)"), "simplified"
    ),
    "notebook_beside_solved": added("notebooks/mine.ipynb", notebook("x = 1"), *STAGES),
    "one_file": one_file("attention.py"),
    "one_file_in_capitals": one_file("ATTENTION.PY"),
    "one_notebook": one_notebook("Untitled.ipynb"),
    "module_deleted": without("trainable"),
    "lambda": changed("simplified", "def softmax(", "softmax = lambda x: x\n\n\ndef o("),
    "alias": changed("causal", "class CausalAttention(", "class _Causal("),
    "alias_given": alias_given,
    "alias_imported": both(
        changed("causal", "class CausalAttention(", "class _Causal("),
        added("attention/more.py", "from .causal import _Causal as CausalAttention\n"),
    ),
    "within_if": changed("simplified", "def softmax(", "if True:\n    softmax = sum\ndef softmax("),
    "under_main": added(
        "attention/causal.py",
        'if __name__ == "__main__":\n' + textwrap.indent(solution("causal"), "    "),
        "simplified",
    ),
    "pass_alone": added("attention/simplified.py", "def softmax(scores):\n    pass\n"),
    "class_without_forward": changed("causal", "def forward(", "def forwards("),
    "class_of_a_library": changed(
        "causal", "class CausalAttention(", "from torch.nn import x\nclass CausalAttention("
    ),
    "imported_alone": changed("simplified", "def softmax(", "from torch import softmax\ndef o("),
    "decorated": changed("causal", "    def forward(", "    @torch.no_grad()\n    def forward("),
    "decorator_missing": changed("simplified", "def softmax(", "@fast\ndef softmax("),
    "two_definitions": added("attention/zzz.py", "def softmax(x):\n    return x\n", *STAGES),
    "exits": changed("causal", "import torch\n", "import torch\nimport sys\nsys.exit(0)\n"),
}  # fmt: skip
assert len(SHAPES) >= 60

LINE = re.compile(r"^([✓✗·]) (\w+) +(.*)$")


def told(text: str) -> dict[str, tuple[str, str]]:
    """What `submit` says at its end: each name's mark, and where it was found."""
    lines = text[text.index("What will be graded") :].splitlines()
    return {found[2]: (found[1], found[3]) for line in lines if (found := LINE.match(line))}


def submitted(work: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if "PYTEST" not in key}
    surroundings = {"COLUMNS": "100", "PYTHONIOENCODING": "utf-8", "PYTHONSAFEPATH": ""} | more
    return subprocess.run(
        [sys.executable, "-m", "selfcheck", *(arguments or ("submit",))],
        cwd=work, env=kept | surroundings, capture_output=True, encoding="utf-8", timeout=300,
        check=False,
    )  # fmt: skip


def template(folder: Path) -> Path:
    shutil.copytree(TEMPLATE, folder, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    return folder


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, dict[str, Any]]]:
    """By shape: what `submit` said, and the result of grading what it made."""
    base = tmp_path_factory.mktemp("submit")
    hand_in, said = base / "class", {}
    hand_in.mkdir()
    for name, make in SHAPES.items():
        work = template(base / "work" / name)
        make(work)
        done = submitted(work)
        assert done.returncode in (0, 1), done.stderr
        assert "Traceback" not in done.stderr, (name, done.stderr)
        said[name] = done.stdout
        shutil.move(work / "attention.zip", hand_in / f"{name}.zip")
    grader = Path(sys.executable).parent / "autograder"
    command = [grader, "grade", hand_in, "--out", base / "out"]
    done = subprocess.run([*map(str, command)], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return {
        name: (
            said[name],
            json.loads((base / "out" / "students" / name / "result.json").read_text("utf-8")),
        )
        for name in SHAPES
    }


def found_by_the_grader(result: dict[str, Any]) -> set[str]:
    return {
        share["name"]
        for stage in result["stages"]
        for criterion in stage["criteria"]
        for share in criterion["shares"]
        if share["status"] != "missing"
    }


@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_graded_as_submit_said(
    graded: dict[str, tuple[str, dict[str, Any]]], shape: str
) -> None:
    said, result = graded[shape]
    names = told(said)
    assert set(names) == set(NAMES)
    assert {name for name, (mark, _) in names.items() if mark == "✓"} == found_by_the_grader(
        result
    ), (said, result["notes"])


def test_copies_are_the_graders_own() -> None:
    reading = TEMPLATE / "selfcheck" / "reading"
    for name in ("sources.py", "pieces.py", "spelling.py"):
        assert (reading / name).read_bytes() == (GRADER / name).read_bytes(), name
    for own, graders in (
        (cells.body_of, jupyter.body_of),
        (cells.written_by, jupyter.written_by),
        (definitions.is_unwritten, statements.is_unwritten),
        (definitions._returns, statements._returns),
    ):
        assert inspect.getsource(own) == inspect.getsource(graders)
    assert cells._KEPT == jupyter._KEPT
