"""One mistake costs one criterion, once, where it is made; what is right costs nothing.

Whole submissions are graded: right sources of `tests/variants/right`, some with one change.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from autograder.assignment.secret import VARIABLE
from autograder.calibration.cases import lost
from autograder.calibration.edits import Edited, all_edited
from autograder.calibration.variants import overlaid, variants_folder
from autograder.grading.worker import Worker
from autograder.results.result import CriterionResult, Result
from autograder.submissions.submission import Submission, read_submission
from tests.conftest import ASSIGNMENT

FOLDER = variants_folder(ASSIGNMENT)
EDITED = {base.name: base for base in all_edited(ASSIGNMENT, FOLDER)}


def right(name: str) -> Submission:
    return read_submission(FOLDER / "right" / name, ASSIGNMENT.limits)


def sources(submission: Submission) -> dict[str, str]:
    return {file.path.rpartition("/")[2]: file.data.decode() for file in submission.files}


def changed(submission: Submission, module: str, before: str, after: str) -> Submission:
    source = sources(submission)[module]
    assert before in source
    return overlaid(submission, module, source.replace(before, after).encode(), "changed")


def with_mistake(base: Edited, identifier: str, name: str) -> Submission:
    edit = next(each for each in base.edits if each.id == identifier and each.name == name)
    return base.with_edits(edit)


def gone(result: Result) -> dict[str, CriterionResult]:
    return {f"{stage}.{criterion.id}": criterion for stage, criterion in lost(result)}


# The classic single mistakes ----------------------------------------------------------------

#: Mistake, its criterion of stage 4, and words that its message must hold.
CLASSICS = [
    ("no-scale", "scaling", ("square root",)),
    ("softmax-over-queries", "softmax", ("columns",)),
    ("mask-starts-late", "masking", ("next",)),
    ("heads-interleaved", "split", ("head", "column")),
    ("no-output-projection", "output", ("out_proj",)),
    ("dropout-on-context", "dropout", ("weights",)),
]


@pytest.mark.parametrize(("mistake", "criterion", "words"), CLASSICS, ids=[c[0] for c in CLASSICS])
def test_a_classic_mistake_costs_its_criterion_of_stage_4_and_the_message_says_so(
    mistake: str, criterion: str, words: tuple[str, ...], worker: Worker
) -> None:
    submission = with_mistake(EDITED["book_style"], mistake, "MultiHeadAttention")
    found = gone(worker.grade(submission).result)
    assert list(found) == [f"multi_head.{criterion}"]
    entry = found[f"multi_head.{criterion}"]
    assert entry.misconceptions[0] == mistake
    assert "MultiHeadAttention" in entry.message
    for word in words:
        assert word in entry.message
    assert "4_multi_head.md" in entry.message


# Charged once, where it is made -------------------------------------------------------------


@pytest.mark.parametrize(
    "mistake",
    [
        "no-scale",
        "softmax-over-queries",
        "mask-starts-late",
        "one-projection-shared",
        "dropout-on-context",
        "mask-no-buffer",
        "bias-always",
        "gradient-cut",
    ],
)
def test_a_mistake_in_stage_3_costs_nothing_in_stage_4(mistake: str, worker: Worker) -> None:
    submission = with_mistake(EDITED["book_style"], mistake, "CausalAttention")
    found = gone(worker.grade(submission).result)
    assert len(found) == 1
    assert next(iter(found)).startswith("causal.")


def test_a_softmax_without_the_maximum_costs_stage_1_alone_though_all_stages_use_it(
    worker: Worker,
) -> None:
    base = right("own_softmax")
    later = [name for name, source in sources(base).items() if "import softmax" in source]
    assert len(later) == 3
    naive = changed(base, "simplified.py", "torch.exp(scores - torch.max(scores))", "scores.exp()")
    naive = changed(
        naive, "simplified.py", "torch.exp(rows - rows.max(dim=1, keepdim=True).values)",
        "torch.exp(rows)",
    )  # fmt: skip
    found = gone(worker.grade(naive).result)
    assert list(found) == ["simplified.softmax"]
    assert found["simplified.softmax"].misconceptions == ("softmax-no-shift",)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def forward(self, x):", "def forward(self, x)"),
        ("attn_weights = self.dropout(attn_weights)", "attn_weights = = self.dropout("),
    ],
    ids=["no colon", "half a line"],
)
def test_a_syntax_error_in_stage_3_costs_nothing_of_multi_head_attention(
    before: str, after: str, worker: Worker
) -> None:
    result = worker.grade(changed(right("book_style"), "causal.py", before, after)).result
    stages = {stage.id: stage for stage in result.stages}
    assert stages["causal"].score < stages["causal"].max_score
    kept = [
        share
        for criterion in stages["multi_head"].criteria
        for share in criterion.shares
        if share.name == "MultiHeadAttention"
    ]
    assert len(kept) > 10
    assert all(share.score == share.max_score for share in kept)
    for earlier in ("simplified", "trainable"):
        assert stages[earlier].score == stages[earlier].max_score


def test_a_mistake_made_in_two_names_costs_each_its_own_share_and_is_told_of_both(
    worker: Worker,
) -> None:
    base = EDITED["book_style"]
    both = [each for each in base.edits if each.id == "no-scale" and each.name in
            ("SelfAttention_v1", "SelfAttention_v2")]  # fmt: skip
    found = gone(worker.grade(base.with_edits(*both)).result)
    assert list(found) == ["trainable.scaling"]
    assert found["trainable.scaling"].score == 0
    assert found["trainable.scaling"].misconceptions == ("no-scale",)
    for name in ("SelfAttention_v1", "SelfAttention_v2"):
        assert f"`{name}`" in found["trainable.scaling"].message


def test_a_mistake_of_one_name_is_not_paid_for_by_that_of_another(worker: Worker) -> None:
    base = EDITED["book_style"]
    edits = [
        next(each for each in base.edits if (each.name, each.id) == place)
        for place in (("context_vector", "no-softmax"), ("attention_weights", "self-excluded"))
    ]
    found = gone(worker.grade(base.with_edits(*edits)).result)
    named = {mistake for criterion in found.values() for mistake in criterion.misconceptions}
    assert named == {"no-softmax", "self-excluded"}


# What decides nothing -----------------------------------------------------------------------

#: Right forms that add up in another order or another precision.
FORMS = (
    "big_number",
    "chunk_stack",
    "einsum",
    "float64_inside",
    "folded_heads",
    "fused",
    "own_softmax_logsumexp",
    "per_head_weights",
    "renormalised",
    "tensordot",
    "values_last",
    "vmap_heads",
)


@pytest.mark.parametrize(
    "secret",
    [
        "another term, other inputs",
        pytest.param("an exam that nobody has seen", marks=pytest.mark.proof),
    ],
)
def test_tolerance_never_decides_between_right_forms_whatever_the_inputs(
    secret: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "secret"
    file.write_text(secret)
    file.chmod(0o600)
    monkeypatch.setenv(VARIABLE, os.fspath(file))
    with Worker(ASSIGNMENT.folder, "process") as worker:
        scores = {form: worker.grade(right(form)).result.score for form in FORMS}
    assert scores == dict.fromkeys(FORMS, 100.0)


UGLY = """\
import torch,torch.nn as nn , math , os
import random as RANDOM
TODO='fix this later !!!'
l=O=I=1
"""


def test_no_criterion_is_lost_for_style(worker: Worker) -> None:
    submission = right("very_short")
    for module, source in sources(submission).items():
        if module == "__init__.py":
            continue
        ugly = (
            UGLY + source.replace("    ", "\t") + "\n\n\n\n# print(attention)\nif 1==1 : pass ;\n"
        )
        submission = overlaid(submission, module, ugly.encode(), "ugly")
    assert worker.grade(submission).result.score == 100.0


NOISE = """\
import random as _random
import sys as _sys
import warnings as _warnings

import numpy as _np
import torch as _torch

_torch.manual_seed({seed})
_random.seed({seed})
_np.random.seed({seed})
print("loaded", _torch.rand(1))
"""


def noisy(submission: Submission, seed: int) -> Submission:
    """The same, with seeds, prints and warnings of its own wherever a student may put them."""
    for module, source in sources(submission).items():
        if module == "__init__.py":
            continue
        loud = source.replace(
            "def forward(self, x):\n",
            "def forward(self, x):\n        print('forward', x.shape)\n"
            "        print('!', file=_sys.stderr)\n        _warnings.warn('slow')\n",
        ).replace("super().__init__()\n", f"super().__init__(); _torch.manual_seed({seed})\n")
        submission = overlaid(submission, module, (NOISE.format(seed=seed) + loud).encode(), "loud")
    return submission


def told(result: Result) -> Mapping[str, tuple[float, tuple[str, ...], str]]:
    return {
        f"{stage.id}.{criterion.id}": (criterion.score, criterion.misconceptions, criterion.message)
        for stage in result.stages
        for criterion in stage.criteria
    }


@pytest.mark.parametrize(
    "mistake", [None, "dropout-missing", "dropout-on-context", "dropout-wrong-rate", "no-scale"]
)
def test_results_do_not_depend_on_a_students_seeds_or_prints(
    mistake: str | None, worker: Worker
) -> None:
    base = EDITED["book_style"]
    quiet = base.submission if mistake is None else with_mistake(base, mistake, "CausalAttention")
    expected = told(worker.grade(quiet).result)
    assert any(score for score, _, _ in expected.values())
    for seed in (0, 123):
        assert told(worker.grade(noisy(quiet, seed)).result) == expected


# The library, whatever the shape ------------------------------------------------------------


def test_a_library_softmax_for_some_shapes_alone_is_seen(worker: Worker) -> None:
    """Written by hand for vectors and matrices, torch's for anything larger."""
    solutions = read_submission(ASSIGNMENT.solutions, ASSIGNMENT.limits)
    before = "    largest = scores.amax(dim=-1, keepdim=True)\n"
    by_library = "    if scores.dim() > 2:\n        return torch.softmax(scores, dim=-1)\n"
    work = changed(solutions, "simplified.py", before, by_library + before)
    (criterion,) = gone(worker.grade(work).result).items()
    assert criterion[0] == "simplified.softmax"
    assert "library" in criterion[1].message
