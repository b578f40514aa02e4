"""Every mistake of the catalogue shows on the inputs of the hidden checks, with room to spare.

A mistake that came out within a few tolerances of the reference, or of another mistake, would be
seen on one machine and not on the next. What is the same by nature is listed here, by hand.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations

import pytest
import torch

from autograder.calibration import margins
from autograder.calibration.margins import ROOM, Inputs, Margin, Outputs, tolerances
from autograder.diagnosis.catalogue import Catalogue, load_catalogue
from tests.conftest import ASSIGNMENT

SECRETS = (b"practice", b"a course that takes its exam seriously", b"one more term's secret")

#: Name and mistake: the inputs on which it is no mistake, and why.
RIGHT_ON = {
    ("softmax", "softmax-over-queries"): {"(7,)"},
    ("softmax", "softmax-flattened"): {"(7,)"},
    ("softmax", "softmax-without-keepdim"): {"(7,)"},
    # d_in and d_out are the same.
    ("SelfAttention_v1", "scale-by-input-width"): {"square"},
    ("SelfAttention_v2", "scale-by-input-width"): {"square"},
    ("CausalAttention", "scale-by-input-width"): {"square"},
    ("MultiHeadAttention", "reshaped-with-d-in"): {"square"},
    # The text is as long as the mask, or shorter than a mask that is too small.
    ("CausalAttention", "mask-not-cut"): {"whole"},
    ("MultiHeadAttention", "mask-not-cut"): {"whole"},
    ("CausalAttention", "mask-sized-by-embedding"): {"other", "square"},
    ("MultiHeadAttention", "mask-sized-by-embedding"): {"usual", "other", "square"},
}

#: Mistakes that are one and the same program in a name: no output of it can tell them apart.
ONE_PROGRAM_IN = {
    # tokens @ tokens.T is symmetric: its rows' sums are its columns' sums.
    ("attention_weights", frozenset({"softmax-over-queries", "softmax-without-keepdim"})),
    ("context_vectors", frozenset({"softmax-over-queries", "weights-transposed"})),
    # Divided by its sum again, so it does not matter by what it was divided before.
    ("renormalized_weights", frozenset({"softmax-no-exp", "no-softmax"})),
}

#: Name, null program and mistake that are one program: nothing is done, so nothing is earned.
NOTHING_DONE = {
    ("causal_mask", "zeros", "no-mask"),
}


@cache
def all_inputs(secret: bytes) -> Mapping[str, Inputs]:
    return margins.inputs_seen(ASSIGNMENT, secret)


@cache
def inputs_of(name: str, secret: bytes) -> Inputs:
    """The inputs of a name's values checks, as the hidden checks make them."""
    return all_inputs(secret)[name]


@cache
def right(name: str, secret: bytes) -> Outputs:
    return margins.reference(catalogue_of(name), name, inputs_of(name, secret))


@cache
def wrong(name: str, secret: bytes) -> Mapping[tuple[str, int], Outputs]:
    """What each mistake gives, by id and number of its coding."""
    return margins.mistaken(catalogue_of(name), name, inputs_of(name, secret))


def catalogue_of(name: str) -> Catalogue:
    return load_catalogue(ASSIGNMENT.stage_of(name).misconceptions)


def close_pairs(name: str, secret: bytes) -> Iterator[frozenset[str]]:
    """Mistakes that no input tells apart, though at least one of them returns something."""
    for (first, ours), (second, theirs) in combinations(wrong(name, secret).items(), 2):
        silent = all(each is None for each in (*ours.values(), *theirs.values()))
        if first[0] == second[0] or silent:
            continue
        if max(tolerances(ours[label], theirs[label]) for label in ours) < ROOM:
            yield frozenset({first[0], second[0]})


NAMES = [
    name for stage in ASSIGNMENT.stages for name in load_catalogue(stage.misconceptions).chains
]
for_every_name = pytest.mark.parametrize("name", NAMES)
for_every_secret = pytest.mark.parametrize("secret", SECRETS, ids=["practice", "exam", "term"])


@for_every_secret
@for_every_name
def test_the_reference_is_finite_and_of_some_size(name: str, secret: bytes) -> None:
    for label, found in right(name, secret).items():
        assert found is not None, label
        assert bool(torch.isfinite(found).all()), label
        assert float(found.abs().max()) > 0.01, label


@for_every_secret
@for_every_name
def test_every_mistake_is_ten_tolerances_away_from_the_reference(name: str, secret: bytes) -> None:
    reference = right(name, secret)
    near = {
        (identifier, label): tolerances(found, reference[label])
        for (identifier, _), outputs in wrong(name, secret).items()
        for label, found in outputs.items()
        if found is not None and label not in RIGHT_ON.get((name, identifier), ())
    }
    assert {place: apart for place, apart in near.items() if apart < ROOM} == {}


@for_every_name
def test_every_mistake_shows_on_some_input_unless_it_is_none_in_this_name(name: str) -> None:
    reference = right(name, SECRETS[0])
    hidden = {
        identifier
        for (identifier, _), outputs in wrong(name, SECRETS[0]).items()
        if all(tolerances(found, reference[label]) < ROOM for label, found in outputs.items())
    }
    everywhere = {
        identifier
        for (owner, identifier), labels in RIGHT_ON.items()
        if owner == name and labels == set(reference)
    }
    assert hidden == everywhere


@for_every_secret
@pytest.mark.parametrize(("name", "identifier"), RIGHT_ON, ids="-".join)
def test_what_is_listed_as_no_mistake_is_none(name: str, identifier: str, secret: bytes) -> None:
    listed = RIGHT_ON[name, identifier]
    outputs = [held for (each, _), held in wrong(name, secret).items() if each == identifier]
    assert outputs
    apart = [
        min(tolerances(held[label], right(name, secret)[label]) for held in outputs)
        for label in listed
    ]
    assert max(apart) < 0.1


@for_every_secret
@for_every_name
def test_two_mistakes_can_be_told_apart_or_are_one_program(name: str, secret: bytes) -> None:
    unknown = {
        pair
        for pair in close_pairs(name, secret)
        if (name, pair) not in ONE_PROGRAM_IN
        and not all((name, identifier) in RIGHT_ON for identifier in pair)
    }
    assert {tuple(sorted(pair)) for pair in unknown} == set()


def test_what_is_listed_as_one_program_is_one() -> None:
    for name, pair in ONE_PROGRAM_IN:
        assert pair in set(close_pairs(name, SECRETS[0])), name


@for_every_secret
@for_every_name
def test_no_null_program_is_near_the_reference(name: str, secret: bytes) -> None:
    for null in catalogue_of(name).nulls:
        if name in null.outputs:
            apart = [
                tolerances(null.outputs[name](given).float(), right(name, secret)[label])
                for label, given in inputs_of(name, secret).items()
            ]
            assert min(apart) >= ROOM, null.id


@for_every_secret
@for_every_name
def test_no_mistake_is_taken_for_a_null_program(name: str, secret: bytes) -> None:
    taken = set()
    for null in catalogue_of(name).nulls:
        if name not in null.outputs:
            continue
        nothing = {
            label: null.outputs[name](given).float()
            for label, given in inputs_of(name, secret).items()
        }
        for (identifier, _), outputs in wrong(name, secret).items():
            apart = [tolerances(outputs[label], nothing[label]) for label in nothing]
            if max(apart) < ROOM and (name, null.id, identifier) not in NOTHING_DONE:
                taken.add((null.id, identifier))
    assert taken == set()


@for_every_secret
def test_nothing_lies_between_the_same_and_ten_tolerances(secret: bytes) -> None:
    """What `autograder calibrate` says of margins, which needs no list."""
    part = margins.margins_part(ASSIGNMENT, secret, 100)
    assert part.count > 200
    assert part.short == {}
    assert part.sound
    (told,) = part.remarks
    assert told.startswith("smallest margin: ")


def test_a_margin_tells_where_a_mistake_shows_and_by_how_much() -> None:
    margin = Margin("causal", "masked_weights", "no-mask", 0, {"5": 40.0, "8": 12.0, "1": 0.001})
    assert margin.shown == {"5": 40.0, "8": 12.0}
    assert margin.smallest == 12.0
    assert margin.label == "causal: no-mask in masked_weights"
    assert Margin("causal", "masked_weights", "no-mask", 0, {"1": 0.0}).smallest == float("inf")
