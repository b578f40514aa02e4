"""docs/students.md shows what the self-check says today: every screen in it is a real one."""

import re
from pathlib import Path

import pytest

from tests.test_selfcheck_submit import changed, put, solution, solved, submitted, template

ROOT = Path(__file__).resolve().parents[1]
DOCS = (ROOT / "docs" / "students.md").read_text("utf-8")
BLOCKS = re.findall(r"^```\n(.*?)^```$", DOCS, re.DOTALL | re.MULTILINE)


def half(work: Path) -> None:
    """Stage 1 alone, with a softmax along the wrong dimension."""
    text = solution("simplified")
    right = "keepdim=True"
    assert text.count("dim=-1, keepdim=True") == 2
    put(work, "attention/simplified.py", text.replace(f"dim=-1, {right}", f"dim=0, {right}"))


SCREENS = {
    "stubs": (lambda work: None, ("status",)),
    "a hint": (lambda work: None, ("hint", "attention_scores")),
    "a mistake": (half, ("status",)),
    "a stage": (lambda work: solved(work, "simplified"), ("status",)),
    "all": (solved, ("status",)),
    "weights": (solved, ("show", "causal")),
    "handed in": (solved, ("submit",)),
    "something lost": (
        changed("causal", "def causal_mask(num_tokens: int)", "def causal_mask(num_tokens: int"),
        ("submit",),
    ),
}


@pytest.mark.parametrize("name", SCREENS)
def test_the_screen_is_todays(tmp_path: Path, name: str) -> None:
    make, command = SCREENS[name]
    work = template(tmp_path / "work")
    make(work)
    shown = submitted(work, *command, COLUMNS="80").stdout.strip("\n")
    assert shown in [block.strip("\n") for block in BLOCKS]


def test_every_screen_is_looked_at() -> None:
    assert len(BLOCKS) == len(SCREENS)
