"""`selfcheck.notebook`: `check(...)` on the names of whoever calls it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

from selfcheck import Report, check
from selfcheck.course import Unknown

SCORES = "dot product"


@pytest.fixture(autouse=True)
def _own_modules() -> Iterator[None]:
    """Whatever was called `attention` or came from the template's checks is as before."""
    before = dict(sys.modules)
    yield
    assert {name for name in sys.modules if name.partition(".")[0] == "attention"} == {
        name for name in before if name.partition(".")[0] == "attention"
    }


def causal_mask(num_tokens: int) -> Tensor:
    return torch.ones(num_tokens, num_tokens).triu(1).bool()


def masked_weights(scores: Tensor) -> Tensor:
    print("<b>looking</b> at", tuple(scores.shape))
    return torch.softmax(scores.masked_fill(causal_mask(len(scores)), 0.0), dim=-1)


def renormalized_weights(scores: Tensor) -> Tensor:
    raise NotImplementedError("renormalized_weights: not written yet (stage 3, causal)")


def states(report: Report) -> dict[str, str]:
    return {name.name: name.state for name in report.standing.names.values()}


def test_the_names_of_the_caller_are_checked_and_the_rest_is_read_from_the_folder() -> None:
    report = check("causal")
    assert report.stage == "causal"
    assert not report.passed
    assert states(report) == {
        "causal_mask": "done",
        "masked_weights": "wrong",
        "renormalized_weights": "todo",
        "CausalAttention": "todo",  # the template's stub
    }


def test_as_text_it_says_what_was_expected_found_and_meant() -> None:
    text = repr(check("causal"))
    assert "✗ masked_weights: not right yet" in text
    assert "expected [1.0, 0.0, 0.0]" in text
    assert "This looks like: masked scores set to zero." in text
    assert "printed: <b>looking</b> at (3, 3)" in text
    assert text.splitlines()[-1] == "(public checks; your grade also depends on hidden ones)"


def test_as_a_page_everything_of_the_students_is_escaped() -> None:
    page = check("causal")._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;looking&lt;/b&gt;" in page
    assert "<code>masked_weights</code>" in page


def test_a_namespace_can_be_handed_over_and_weights_are_shown_with_their_tokens() -> None:
    own = {
        "attention_scores": lambda query, inputs: inputs @ query,
        "softmax": lambda scores: (scores - scores.logsumexp(-1, keepdim=True)).exp(),
        "context_vector": lambda query, inputs: torch.softmax(inputs @ query, -1) @ inputs,
        "attention_weights": lambda inputs: torch.softmax(inputs @ inputs.T, -1),
        "context_vectors": lambda inputs: torch.softmax(inputs @ inputs.T, -1) @ inputs,
    }
    report = check("simplified", own)
    assert report.passed
    assert "<svg" in report._repr_html_()
    assert "journey" in report._repr_html_()
    own["softmax"] = lambda scores: torch.softmax(scores, 0)
    assert states(check("simplified", own))["softmax"] == "wrong"  # nothing is kept from before


def test_exit_in_the_students_code_ends_nothing_but_its_check() -> None:
    report = check("simplified", {"softmax": lambda scores: sys.exit(3)})
    assert states(report)["softmax"] == "wrong"
    assert "SystemExit: 3" in repr(report)


def test_output_and_surroundings_are_left_as_they_were(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option")
    path, here = [*sys.path], Path.cwd()
    assert states(check("causal"))["causal_mask"] == "done"
    assert capsys.readouterr() == ("", "")
    assert Path.cwd() == here
    assert sys.path[-len(path) :] == path


def test_a_stage_that_there_is_not_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(Unknown, match="'casual'; the stages are simplified, trainable, causal"):
        check("casual")
