"""What the self-check used to pass over and the grader does not: public checks see it now."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.test_selfcheck_submit import changed, submitted, template

Work = Callable[[Path], None]

CASES: dict[str, tuple[Work, str]] = {}


def case(name: str, module: str, old: str, new: str, told: str) -> None:
    CASES[name] = changed(module, old, new), told


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return template(tmp_path / "work")


SCORES = "(scores: torch.Tensor) -> torch.Tensor:\n"
case(
    "library softmax", "simplified", f"def softmax{SCORES}",
    f"def softmax{SCORES}    return scores.softmax(dim=-1)\n",
    "softmax is written out and not the librarys",
)  # fmt: skip
case(
    "six tokens", "simplified", "def attention_scores(query: torch.Tensor, inputs: torch.Tensor)",
    "def attention_scores(query, inputs):\n"
    "    found = torch.empty(6)\n    for i in range(6):\n        found[i] = inputs[i] @ query\n"
    "    return found\n\n\ndef other(query: torch.Tensor, inputs: torch.Tensor)",
    "one query and other numbers of tokens work",
)  # fmt: skip
case(
    "loop over tokens", "simplified", "def attention_weights(inputs: torch.Tensor)",
    "def attention_weights(inputs):\n"
    "    return torch.stack([softmax(attention_scores(each, inputs)) for each in inputs])\n\n\n"
    "def other(inputs: torch.Tensor)",
    "attention weights need no loop over the tokens",
)  # fmt: skip
case(
    "scores changed in place", "causal", f"def masked_weights{SCORES}",
    f"def masked_weights{SCORES}    mask = causal_mask(len(scores))\n"
    "    return torch.softmax(scores.masked_fill_(mask, -torch.inf), dim=-1)\n",
    "the scores stay as they were (masked_weights)",
)  # fmt: skip
CAUSAL = """

class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        {mask}

    def forward(self, x):
        n = x.shape[1]
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = {scores}
        scores = scores.masked_fill(self.mask[:n, :n], -torch.inf) / k.shape[-1] ** 0.5
        return {out}


class Other(nn.Module):
"""
PARTS = {
    "mask": 'self.register_buffer("mask", causal_mask(context_length))',
    "scores": "q @ k.transpose(1, 2)",
    "out": "self.dropout(scores.softmax(dim=-1)) @ v",
}


def causal(name: str, told: str, **parts: str) -> None:
    text = CAUSAL.format(**PARTS | parts)
    case(name, "causal", "class CausalAttention(nn.Module):\n", text, told)


PLAIN = "self.mask = causal_mask(context_length)"
causal("plain mask", "a mask that is kept is a buffer", mask=PLAIN)
causal(
    "dropout on the context", "dropout takes whole weights and not parts of an output",
    out="self.dropout(scores.softmax(dim=-1) @ v)",
)  # fmt: skip
causal("query ignored", "keys compared with keys", scores="k @ k.transpose(1, 2)")
TWO = "(q @ k.transpose(1, 2)).view(2, n, n)"
causal("one batch size", "a size is hard-coded", scores=TWO)
case("context of 512", "multi_head", "1024", "512", "gpt2 attention has the sizes")


@pytest.mark.parametrize("name", CASES)
def test_it_is_seen(work: Path, name: str) -> None:
    make, told = CASES[name]
    make(work)
    done = submitted(work, "status", SELFCHECK_SECONDS="60")
    assert done.returncode == 1
    assert told in " ".join(done.stdout.split()), done.stdout


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("trainable", "torch.rand(", "torch.randn("),
        ("causal", "self.W_query = nn.Linear(", "torch.rand(1)\n        self.W_query = nn.Linear("),
    ],
)  # fmt: skip
def test_right_code_that_draws_otherwise_is_probably_right(
    work: Path, module: str, old: str, new: str
) -> None:
    changed(module, old, new)(work)
    shown = " ".join(submitted(work, "status").stdout.split())
    assert "Probably right: the example's numbers need" in shown
    assert "in the order query, key, value" in shown
