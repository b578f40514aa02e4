"""The library's own attention is seen wherever it is called from, without counting all else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import torch

from autograder.assignment.assignment import Assignment, Forbidden
from autograder.checks.session import counted_for
from autograder.sandbox.guest.library import is_attention
from autograder.sandbox.host.room import NameSpec, Sandbox
from autograder.sandbox.host.student import Reply
from autograder.submissions.submission import SourceFile
from tests.conftest import ASSIGNMENT

NAMES = (NameSpec("attend", "simplified", "function", ("s",)),)
INPUT = torch.linspace(-1, 1, 24).reshape(1, 2, 3, 4)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(ASSIGNMENT.limits, NAMES, "process") as sandbox:
        yield sandbox


def asked(sandbox: Sandbox, source: str, tokens: torch.Tensor = INPUT, **options: Any) -> Reply:
    source = f"import threading\nimport torch\nfrom torch.nn import functional as F\n{source}\n"
    session = sandbox.open((SourceFile("simplified.py", "module", source.encode(), ()),))
    try:
        return session.student("check").attend.ask(tokens, **options)
    finally:
        session.close()


SCALED = "F.scaled_dot_product_attention(s, s, s, is_causal=True)"
DOORS = {
    "function": f"def attend(s):\n    return {SCALED}",
    "operator": "def attend(s):\n"
    "    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(s, s, s, 0.0, True)[0]",
    "scripted": f"def plain(s):\n    return {SCALED}\n"
    "attend = torch.jit.trace(plain, torch.ones(1, 2, 3, 4))\n",
    "inference": f"@torch.inference_mode()\ndef attend(s):\n    return {SCALED}",
    "thread": "def attend(s):\n    found = []\n"
    f"    other = threading.Thread(target=lambda: found.append({SCALED}))\n"
    "    other.start()\n    other.join()\n    return found[0]",
    "products": "def attend(s):\n    s = s[0, 0]\n"
    "    return F.scaled_dot_product_attention(s, s, s)",
}


@pytest.mark.parametrize("door", DOORS)
def test_the_librarys_attention_is_seen_through_every_door(sandbox: Sandbox, door: str) -> None:
    found = asked(sandbox, DOORS[door], library=True)
    assert any("._scaled_dot_product_" in name for name in found.operators)


@pytest.mark.parametrize("weights", [True, False])
def test_the_librarys_multi_head_attention_is_seen(sandbox: Sandbox, weights: bool) -> None:
    source = (
        "layer = torch.nn.MultiheadAttention(4, 2, batch_first=True).eval()\n"
        f"def attend(s):\n    return layer(s[0], s[0], s[0], need_weights={weights})[0]"
    )
    found = asked(sandbox, source, library=True)
    assert any(name.endswith("_native_multi_head_attention") for name in found.operators)


def test_attention_that_is_written_by_hand_is_none_of_the_librarys(sandbox: Sandbox) -> None:
    source = (
        "def attend(s):\n"
        "    hidden = torch.ones(3, 3, dtype=torch.bool).triu(1)\n"
        "    scores = (s @ s.mT / 2).masked_fill(hidden, -torch.inf)\n"
        "    return torch.softmax(scores, dim=-1) @ s"
    )
    by_hand, library = (asked(sandbox, each, library=True) for each in (source, DOORS["function"]))
    assert by_hand.operators == {}
    assert torch.allclose(by_hand.value, library.value, atol=1e-6)


def test_to_be_seen_changes_neither_numbers_nor_gradients(sandbox: Sandbox) -> None:
    cotangent = INPUT.flip(-1)
    watched = asked(sandbox, DOORS["function"], library=True, cotangent=cotangent)
    leaf = INPUT.clone().requires_grad_(True)
    expected = torch.nn.functional.scaled_dot_product_attention(leaf, leaf, leaf, is_causal=True)
    (expected * cotangent).sum().backward()
    assert torch.equal(watched.value, expected.detach())
    assert watched.gradients is not None
    assert leaf.grad is not None
    assert torch.allclose(watched.gradients["argument:0"], leaf.grad, atol=1e-6)


def test_nothing_is_counted_that_was_not_asked_for(sandbox: Sandbox) -> None:
    assert asked(sandbox, DOORS["function"]).operators == {}


class TestWhatIsCounted:
    def with_rule(self, *rules: Forbidden) -> Assignment:
        return msgspec.structs.replace(ASSIGNMENT, forbidden=rules)

    def test_is_everything_where_an_ordinary_operator_is_forbidden(self) -> None:
        assert counted_for(ASSIGNMENT, "softmax") == {"operators": True}
        rule = Forbidden(operators=("einsum", "_scaled_dot_product_*"), steps=("scores",))
        assert counted_for(self.with_rule(rule), "CausalAttention") == {"operators": True}

    def test_is_the_librarys_attention_where_nothing_else_is(self) -> None:
        for name in ("context_vector", "CausalAttention", "MultiHeadAttention"):
            assert counted_for(ASSIGNMENT, name) == {"library": True}
        rule = Forbidden(operators=("einsum",), steps=("scores",), within=("CausalAttention",))
        assert counted_for(self.with_rule(rule), "MultiHeadAttention") == {"library": True}

    @pytest.mark.parametrize("pattern", ["*", "_s*", "_softmax", "scaled*", "_native_*", "bmm"])
    def test_takes_no_wider_pattern_for_the_librarys_attention(self, pattern: str) -> None:
        assert not is_attention(pattern)
