"""The rooms that serve every assignment hold no name of one."""

import re

import pytest

from tests.conftest import ASSIGNMENT, ROOT

KIT = ROOT / "autograder"
SUBJECT = KIT / "attention"
MODULES = sorted(
    file.relative_to(ROOT).as_posix()
    for file in KIT.rglob("*.py")
    if not file.is_relative_to(SUBJECT) and "_assignments" not in file.parts
)

#: Names that are torch's as well: of torch they may be used.
TORCHS = re.compile(r"\b(?:torch|functional|F)\.softmax\b|\b_(?:log_)?softmax\b")


def names() -> tuple[str, ...]:
    """Stages and what students write. Stages' names that are plain words count within quotes."""
    return (
        *ASSIGNMENT.names,
        *(stage.module for stage in ASSIGNMENT.stages if "_" in stage.module),
    )


def held(source: str) -> list[str]:
    """The lines in which a name of the assignment is written."""
    lines = source.splitlines()
    wanted = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, names()))})(?!\w)")
    plain = re.compile(rf"""["'](?:{"|".join(stage.module for stage in ASSIGNMENT.stages)})["']""")
    found = []
    for number, line in enumerate(lines, 1):
        text = TORCHS.sub("", line)
        if wanted.search(text) or plain.search(text):
            found.append(f"{number}: {line.strip()}")
    return found


@pytest.mark.parametrize("module", MODULES)
def test_a_generic_module_names_no_stage_function_or_class(module: str) -> None:
    assert held((ROOT / module).read_text("utf-8")) == []


@pytest.mark.parametrize("module", MODULES)
def test_a_generic_module_imports_nothing_of_the_subject(module: str) -> None:
    source = (ROOT / module).read_text("utf-8")
    assert not re.search(r"^\s*(from|import) autograder\.attention\b", source, re.MULTILINE)
    assert not re.search(r"^\s*from autograder import .*\battention\b", source, re.MULTILINE)


@pytest.mark.parametrize(
    "line",
    [
        'if name == "MultiHeadAttention":',
        "#: such as `causal_mask`",
        '    stage = assignment.stage("causal")',
        '"""Compares softmax with the reference."""',
        "from solutions import merge_heads",
    ],
)
def test_a_name_that_creeps_in_is_seen(line: str) -> None:
    assert held(line) == [f"1: {line.strip()}"]


def test_torchs_own_softmax_is_no_name_of_the_assignment() -> None:
    assert held("weights = torch.softmax(scores, dim=-1)  # counted as _softmax") == []
