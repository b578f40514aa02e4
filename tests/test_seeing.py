"""What a wrong module's attention looks like, read from outside; and that nobody else is asked."""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from autograder.assignment.assignment import Stage
from autograder.attention import words
from autograder.attention.sample import Sample
from autograder.attention.words import INPUTS, WORDS, visible_weights
from autograder.checks.check_spec import hidden_checks
from autograder.checks.seeing import pictures_seen
from autograder.diagnosis.catalogue import Catalogue, Misconception, load_catalogue
from autograder.diagnosis.chain import StepRaises, run
from autograder.grading.worker import Worker
from autograder.results.details import AttentionSeen, read_details
from autograder.submissions.submission import read_submission
from tests.conftest import ASSIGNMENT, ROOT

VIEWS = {
    name: view
    for name, declared in hidden_checks(ASSIGNMENT).declared.items()
    if (view := declared.view()) is not None
}
WRONG = ROOT / "tests" / "variants" / "wrong"


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
            if name in stage.names and view.indirect:
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
    assert visible_weights(words.shown(heads=2, batch=2))["query"].shape == (8, 18)


class Given:
    """A trial of a name that gives what a program with certain mistakes gives."""

    def __init__(self, name: str, output: torch.Tensor) -> None:
        self.name = name
        self.output = output
        self.looks: dict[str, torch.Tensor | None] = {}

    def enter(self, stage: object) -> None:
        pass

    def student(self, check: str) -> object:
        return None

    def catalogue(self, stage: Stage) -> Catalogue:
        return load_catalogue(stage.misconceptions)


def shown(stage: Stage, name: str, mistakes: tuple[Misconception, ...]) -> AttentionSeen | None:
    """The picture of a program with these mistakes; None where there is none, or it raises."""
    view = VIEWS[name]
    chain = load_catalogue(stage.misconceptions).chains[name]
    try:
        output = run(chain, view.given, {each.step: each.steps[-1] for each in mistakes})
    except (StepRaises, RuntimeError, IndexError):
        return None
    known = replace(view, ask=lambda student, sample: output)
    standing = {"kind": "explained", "misconceptions": [each.id for each in mistakes]}
    found = pictures_seen(
        Given(name, output),  # type: ignore[arg-type]
        Sample(b"unused"),
        ASSIGNMENT,
        {name: known},
        {name: standing},
    )
    return found[0] if found else None


@pytest.mark.parametrize("name", VIEWS)
def test_every_mistake_is_drawn_as_what_it_does_or_not_at_all(name: str) -> None:
    stage = ASSIGNMENT.stage_of(name)
    entries = [e for e in load_catalogue(stage.misconceptions).of(name) if e.steps]
    drawn = {}
    for entry in entries:
        picture = shown(stage, name, (entry,))
        if picture is not None:
            drawn[entry.id] = picture
            for head in picture.heads:
                assert len(head.found) == len(head.expected) == len(WORDS)
                assert all(len(row) == len(WORDS) for row in (*head.found, *head.expected))
            assert any(head.found != head.expected for head in picture.heads)
    assert drawn
    for unseen in ("keys-as-values", "values-are-inputs", "no-output-projection"):
        assert unseen not in drawn


@pytest.mark.parametrize("name", ["CausalAttention", "MultiHeadAttention"])
def test_two_mistakes_at_once_are_drawn_or_not_but_never_raise(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    stage = ASSIGNMENT.stage_of(name)
    by_step: dict[str, list[Misconception]] = {}
    for entry in load_catalogue(stage.misconceptions).of(name):
        if entry.steps:
            by_step.setdefault(entry.step, []).append(entry)
    pairs = [
        pair
        for one, other in itertools.combinations(by_step.values(), 2)
        for pair in ((one[0], other[-1]), (one[-1], other[0]))
    ]
    drawn = [shown(stage, name, pair) for pair in pairs]
    assert sum(picture is not None for picture in drawn) > len(pairs) / 4
