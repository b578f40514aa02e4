"""The mistakes that people are known to make, by number, and the catalogue's entries for them.

The list was gathered from questions that people ask, from issues and from public code. Each mistake
that changes outputs, state, training or errors has an entry, and each entry programs that make it.
"""

import pytest

from autograder.calibration.variants import variants_folder, wrong_variants
from autograder.diagnosis.catalogue import load_catalogue
from tests.conftest import ASSIGNMENT

FOLDER = variants_folder(ASSIGNMENT)
VARIANTS = wrong_variants(FOLDER)

#: Number, stage, what is done, and the entries that name it.
KNOWN: list[tuple[int, str, str, tuple[str, ...]]] = [
    (1, "simplified", "softmax over dimension 0", ("softmax-over-queries",)),
    (2, "simplified", "a softmax for a vector used on a matrix", ("softmax-over-queries",)),
    (3, "simplified", "a sum that loses its dimension", ("softmax-without-keepdim",)),
    (4, "simplified", "no maximum taken from the scores", ("softmax-no-shift",)),
    (5, "simplified", "divided by the sum, without exp", ("softmax-no-exp",)),
    (6, "simplified", "no softmax", ("no-softmax",)),
    (7, "simplified", "softmax over the flattened matrix", ("softmax-flattened",)),
    (8, "simplified", "weights transposed before they meet inputs", ("weights-transposed",)),
    (9, "simplified", "scaled a stage too early", ("scaled-already",)),
    (10, "simplified", "sizes written as numbers", ("sizes-hard-coded",)),
    (11, "simplified", "the second token's context vector alone", ("one-context-only",)),
    (12, "simplified", "a token does not attend to itself", ("self-excluded",)),
    (13, "simplified", "features attend to features", ("features-attend",)),
    (14, "simplified", "cosine similarity", ("cosine-similarity",)),
    (15, "trainable", "no scale", ("no-scale",)),
    (16, "trainable", "divided by d_k", ("scale-by-dk",)),
    (17, "trainable", "divided by the root of d_in", ("scale-by-input-width",)),
    (17, "multi_head", "divided by the root of the model's width", ("scale-by-model-width",)),
    (18, "trainable", "multiplied by the root", ("scale-multiplied",)),
    (19, "trainable", "scaled after softmax", ("scale-after-softmax",)),
    (20, "trainable", "query and key swapped", ("query-key-swapped",)),
    (21, "trainable", "values made by the keys' layer", ("keys-as-values",)),
    (22, "trainable", "weights times keys", ("keys-as-values",)),
    (23, "trainable", "weights transposed", ("weights-transposed",)),
    (24, "trainable", "a layer's weight as it stands", ("linear-weight-not-transposed",)),
    (25, "trainable", "tensors that are no parameters", ("unregistered-parameters",)),
    (26, "trainable", "weights made anew in forward", ("weights-made-anew",)),
    (27, "trainable", "qkv_bias ignored", ("bias-ignored",)),
    (28, "trainable", "bias always on", ("bias-always",)),
    (29, "trainable", "one layer for query, key and value", ("one-projection-shared",)),
    (30, "trainable", "gradient cut", ("gradient-cut",)),
    (31, "causal", "all dimensions of a batch turned round", ("transposed-batch",)),
    (32, "causal", "no mask", ("no-mask",)),
    (33, "causal", "the masked result thrown away", ("no-mask",)),
    (34, "causal", "the diagonal masked too", ("diagonal-masked",)),
    (35, "causal", "the mask starts one late", ("mask-starts-late",)),
    (36, "causal", "the lower triangle masked", ("past-masked-with-diagonal",)),
    (37, "causal", "the strictly lower triangle masked", ("past-masked",)),
    (38, "causal", "filled with 0", ("filled-with-zero",)),
    (39, "causal", "filled with -1", ("filled-with-minus-one",)),
    (40, "causal", "scores times mask", ("filled-with-zero", "scores-times-upper-mask")),
    (41, "causal", "a mask of 0 and 1 added", ("mask-added",)),
    (42, "causal", "mask times minus infinity added", ("mask-times-infinity",)),
    (43, "causal", "plus infinity", ("plus-infinity",)),
    (44, "causal", "masked after softmax, not renormalised", ("mask-after-softmax",)),
    (47, "causal", "softmax over the queries of a batch", ("softmax-over-queries",)),
    (48, "causal", "softmax over the batch", ("softmax-over-batch",)),
    (49, "causal", "mask not cut to the tokens", ("mask-not-cut",)),
    (50, "causal", "mask cut in rows only", ("mask-not-cut",)),
    (52, "causal", "mask a plain tensor", ("mask-no-buffer",)),
    (53, "causal", "a boolean mask the wrong way round", ("past-masked-with-diagonal",)),
    (54, "causal", "the first text of the batch only", ("first-item-only",)),
    (55, "causal", "keys averaged over the batch", ("keys-averaged-over-batch",)),
    (56, "causal", "softmax twice", ("softmax-twice",)),
    (57, "causal", "dropout on the scores", ("dropout-on-scores",)),
    (58, "causal", "dropout on the context", ("dropout-on-context",)),
    (59, "causal", "dropout on the values", ("dropout-on-values",)),
    (60, "causal", "no dropout", ("dropout-missing",)),
    (61, "causal", "dropout without rescaling", ("dropout-not-rescaled",)),
    (62, "causal", "renormalised after dropout", ("dropout-renormalised",)),
    (63, "causal", "dropout in eval mode", ("dropout-in-eval",)),
    (64, "multi_head", "heads in a plain list", ("heads-in-list",)),
    (65, "multi_head", "one head repeated", ("one-head-repeated",)),
    (66, "multi_head", "heads joined over tokens", ("heads-over-tokens",)),
    (67, "multi_head", "heads stacked", ("heads-stacked-4d", "heads-stacked-second")),
    (68, "multi_head", "heads averaged", ("heads-averaged", "heads-averaged-in-merge")),
    (69, "multi_head", "viewed without transposing", ("heads-split-without-transpose",)),
    (70, "multi_head", "viewed as (d_k, H)", ("heads-interleaved",)),
    (71, "multi_head", "split and not transposed", ("heads-attend-to-heads",)),
    (72, "multi_head", "scaled by the root of d_out", ("scale-by-model-width",)),
    (73, "multi_head", "merged without transposing", ("merged-without-transpose",)),
    (74, "multi_head", "merged with d_k outside", ("merged-dk-slow",)),
    (75, "multi_head", "a view of what is not contiguous", ("view-without-contiguous",)),
    (76, "multi_head", "keys turned as in two dimensions", ("keys-transposed-wrongly",)),
    (77, "multi_head", "out_proj forgotten", ("no-output-projection",)),
    (78, "multi_head", "out_proj without bias", ("output-without-bias",)),
    (79, "multi_head", "out_proj twice", ("output-applied-twice",)),
    (80, "multi_head", "divisibility not checked", ("divisibility-unchecked",)),
    (81, "multi_head", "reshaped with d_in", ("reshaped-with-d-in",)),
    (82, "multi_head", "a mask of the embedding's size", ("mask-sized-by-embedding",)),
    (83, "multi_head", "a loop over heads", ("loop-over-heads",)),
    (84, "multi_head", "a library's attention", ("library-attention",)),
]

#: Numbers of forms that are right, and the programs that prove that they are accepted.
RIGHT = {45: "renormalised", 46: "big_number", 51: "last_corner"}


def test_no_number_of_the_list_is_passed_over() -> None:
    assert {number for number, *_ in KNOWN} | set(RIGHT) == set(range(1, 85))
    assert {number for number, *_ in KNOWN} & set(RIGHT) == set()


@pytest.mark.parametrize(
    ("stage", "entries"),
    [(stage, entries) for _, stage, _, entries in KNOWN],
    ids=[f"{number} {what}" for number, _, what, _ in KNOWN],
)
def test_a_known_mistake_has_an_entry_and_programs_that_make_it(
    stage: str, entries: tuple[str, ...]
) -> None:
    catalogue = load_catalogue(ASSIGNMENT.stage(stage).misconceptions)
    for identifier in entries:
        assert catalogue.named(identifier).message
        written = [each.file for each in VARIANTS if (each.stage, each.id) == (stage, identifier)]
        assert len(written) >= 2, identifier


@pytest.mark.parametrize("form", RIGHT.values(), ids=lambda form: form)
def test_a_form_that_is_right_is_among_the_right_programs(form: str) -> None:
    assert (FOLDER / "right" / form).is_dir()


def test_the_catalogue_grows_past_the_list() -> None:
    listed = {identifier for *_, entries in KNOWN for identifier in entries}
    every = {
        entry.id
        for stage in ASSIGNMENT.stages
        for entry in load_catalogue(stage.misconceptions).misconceptions
    }
    assert listed < every
    assert len(every) >= 120
