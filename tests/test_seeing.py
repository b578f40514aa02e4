"""What a wrong module's attention looks like, read from outside; and that nobody else is asked."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from autograder.assignment import load_assignment
from autograder.catalogue import load_catalogue
from autograder.checks.seeing import INPUTS, VIEWS, WORDS, visible_weights
from autograder.details import AttentionSeen, read_details
from autograder.submission import read_submission
from autograder.worker import Worker

ROOT = Path(__file__).resolve().parents[1]
ASSIGNMENT = load_assignment(ROOT)
WRONG = ROOT / "tests" / "variants" / "wrong"


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker(ASSIGNMENT.folder, "process") as held:
        yield held


def seen(worker: Worker, path: Path, stage: str) -> dict[str, AttentionSeen]:
    graded = worker.grade(read_submission(path, ASSIGNMENT.limits), (stage,))
    return {each.name: each for each in read_details(graded.details).attention}


def variant(worker: Worker, stage: str, name: str) -> dict[str, AttentionSeen]:
    return seen(worker, WRONG / stage / f"{name}.py", stage)


def test_a_right_submission_has_no_pictures(worker: Worker) -> None:
    graded = worker.grade(read_submission(ASSIGNMENT.solutions, ASSIGNMENT.limits))
    assert read_details(graded.details).attention == ()


def test_a_mask_that_starts_late_shows_the_next_word(worker: Worker) -> None:
    picture = variant(worker, "causal", "mask-starts-late")["CausalAttention"]
    (head,) = picture.heads
    assert picture.tokens == WORDS
    assert picture.causal
    for row in range(5):
        shown = head.found[row][row + 1]
        assert shown is not None
        assert shown > 0.005
        assert head.expected[row][row + 1] == 0
    assert head.found[5] == head.expected[5]  # the last word sees all in both


def test_softmax_over_queries_gives_columns_that_sum_to_one(worker: Worker) -> None:
    picture = variant(worker, "multi_head", "softmax-over-queries")["MultiHeadAttention"]
    assert len(picture.heads) == 2
    for head in picture.heads:
        assert torch.tensor(head.found).sum(0) == pytest.approx(torch.ones(6), abs=1e-3)
        assert torch.tensor(head.expected).sum(1) == pytest.approx(torch.ones(6), abs=1e-3)


def test_weights_that_are_no_numbers_are_shown_as_none(worker: Worker) -> None:
    picture = variant(worker, "causal", "plus-infinity")["CausalAttention"]
    assert picture.heads[0].found[0] == (None,) * 6


def test_functions_of_the_first_stage_are_shown_as_they_are(worker: Worker) -> None:
    picture = variant(worker, "simplified", "softmax-over-queries")["softmax"]
    scores = INPUTS @ INPUTS.T
    assert torch.tensor(picture.heads[0].found) == pytest.approx(scores.softmax(0), abs=1e-3)
    assert torch.tensor(picture.heads[0].expected) == pytest.approx(scores.softmax(1), abs=1e-3)
    assert not picture.causal


@pytest.mark.parametrize("name", ["keys-as-values", "dropout-on-context"])
def test_right_weights_are_not_drawn_for_a_mistake_elsewhere(worker: Worker, name: str) -> None:
    assert variant(worker, "causal", name) == {}


def test_an_unknown_mistake_is_drawn_with_its_doubt(worker: Worker, tmp_path: Path) -> None:
    source = (WRONG / "causal" / "no-scale.py").read_text()
    right = "attn_weights = self.dropout(attn_weights)"
    assert source.count(right) == 1
    odd = source.replace(right, right + " ** 1.3")
    file = tmp_path / "ada.py"
    file.write_text(odd)
    picture = seen(worker, file, "causal")["CausalAttention"]
    assert not picture.sure
    assert picture.heads[0].found != picture.heads[0].expected


def test_what_raises_on_every_call_has_no_picture(worker: Worker, tmp_path: Path) -> None:
    file = tmp_path / "ada.py"
    file.write_text(
        "import torch\n"
        "class SelfAttention_v1(torch.nn.Module):\n"
        "    def __init__(self, d_in, d_out):\n"
        "        super().__init__()\n"
        "        self.W_query = torch.nn.Parameter(torch.rand(d_in, d_out))\n"
        "        self.W_key = torch.nn.Parameter(torch.rand(d_in, d_out))\n"
        "        self.W_value = torch.nn.Parameter(torch.rand(d_in, d_out))\n"
        "    def forward(self, x):\n"
        "        return x @ self.W_query @ x\n"
    )
    assert seen(worker, file, "trainable") == {}


def test_weights_are_chosen_so_that_attention_shows() -> None:
    for stage in ASSIGNMENT.stages:
        catalogue = load_catalogue(stage.misconceptions)
        for name, view in VIEWS.items():
            if name in stage.names and view.module:
                values = catalogue.chains[name].begin(view.given)
                for _, step in catalogue.chains[name].steps:
                    values = step(values)
                weights = values.weights.reshape(-1, 6, 6)
                assert (weights.amax(-1) > 0.2).all()  # some word is attended to
                assert (weights[:, 4:].amin(-1) < 0.1).all()  # and some word is not


def test_inputs_of_pictures_are_those_of_the_handouts() -> None:
    assert len(WORDS) == len(INPUTS) == 6
    handout = (ROOT / "assignments" / "attention" / "1_simplified.md").read_text()
    for number in INPUTS[0].tolist():
        assert f"{number:.2f}" in handout
    assert visible_weights(2)["query"].shape == (8, 18)
