"""Mistakes as changes of a right source, and two of them in one submission."""

import ast
from collections import Counter

import pytest

from autograder.calibration.edits import (
    Change,
    Edit,
    OneProgram,
    Overlap,
    all_edited,
    edit_cases,
    edited,
    one_programs,
    pairs,
)
from autograder.calibration.variants import variants_folder
from autograder.errors import UsageError
from tests.conftest import ASSIGNMENT

FOLDER = variants_folder(ASSIGNMENT)
SOURCE = """\
def scale(x):
    return x / 2


def shift(x):
    y = x / 2
    return y + 1
"""


def edit(name: str, *changes: Change, mistake: str = "a-mistake") -> Edit:
    return Edit(name, mistake, changes)


class TestEditing:
    """Text before and after, within one definition."""

    def test_a_change_is_made_in_the_definition_that_is_named_and_nowhere_else(self) -> None:
        found = edited(SOURCE, [edit("shift", Change("x / 2", "x"))])
        assert found == SOURCE.replace("y = x / 2", "y = x")

    def test_two_edits_of_different_places_are_both_made(self) -> None:
        found = edited(
            SOURCE,
            [edit("shift", Change("y + 1", "y - 1")), edit("shift", Change("x / 2", "x / 2 / 2"))],
        )
        assert "y = x / 2 / 2\n    return y - 1" in found

    def test_two_edits_of_one_place_overlap(self) -> None:
        with pytest.raises(Overlap):
            edited(
                SOURCE, [edit("scale", Change("x / 2", "x")), edit("scale", Change("/ 2", "* 2"))]
            )

    def test_a_text_must_stand_there_as_often_as_is_said(self) -> None:
        twice = edit("shift", Change("y", "z", times=2))
        assert edited(SOURCE, [twice]).count("z") == 2
        with pytest.raises(UsageError, match="'y' occurs 2 times, not 1"):
            edited(SOURCE, [edit("shift", Change("y", "z"))])

    def test_a_definition_must_be_there(self) -> None:
        with pytest.raises(UsageError, match="there is no turn to edit"):
            edited(SOURCE, [edit("turn", Change("x", "y"))])


def test_every_edit_can_be_made_and_leaves_a_source_that_compiles() -> None:
    seen = 0
    for case in edit_cases(ASSIGNMENT, FOLDER):
        for file in case.submission.files:
            ast.parse(file.data)
        seen += 1
    assert seen >= 150


def test_no_edited_source_uses_the_kit() -> None:
    for case in edit_cases(ASSIGNMENT, FOLDER):
        assert not any(b"autograder" in file.data for file in case.submission.files)


def test_there_are_300_pairs_or_more_from_two_sources_or_more() -> None:
    found = list(pairs(ASSIGNMENT, FOLDER))
    labels = {base.with_edits(first, second).name for base, first, second in found}
    assert len(labels) == len(found) >= 300
    assert len({base.name for base, _, _ in found}) >= 2


def test_pairs_are_of_one_name_in_two_steps_or_of_two_names_of_one_stage() -> None:
    kinds: Counter[str] = Counter()
    for base, first, second in pairs(ASSIGNMENT, FOLDER):
        one, other = base.mistake(first), base.mistake(second)
        assert one.stage == other.stage
        if first.name == second.name:
            assert one.criterion != other.criterion
        kinds["one name" if first.name == second.name else "two names"] += 1
    assert kinds["one name"] >= 200
    assert kinds["two names"] >= 50


def test_pairs_meet_in_every_criterion_of_the_chains() -> None:
    met = {
        (base.mistake(each).stage, base.mistake(each).criterion)
        for base, first, second in pairs(ASSIGNMENT, FOLDER)
        for each in (first, second)
    }
    steps = {"projections", "split", "scores", "scaling", "masking", "softmax", "dropout"}
    steps |= {"context", "merge", "output"}
    wanted = {
        (stage.id, criterion.id)
        for stage in ASSIGNMENT.stages
        for criterion in stage.criteria
        if criterion.id in steps
    }
    assert wanted <= met


def test_what_is_said_to_be_one_program_is_told_why_and_is_met_by_two_edits() -> None:
    for entry in one_programs(FOLDER):
        assert entry.why
        assert any(
            entry.covers(first, second)
            for base in all_edited(ASSIGNMENT, FOLDER)
            for first in base.edits
            for second in base.edits
            if first is not second
        ), entry.ids


def test_one_program_may_be_so_in_some_names_only() -> None:
    here, there = edit("softmax", mistake="a"), edit("softmax", mistake="b")
    elsewhere = edit("CausalAttention", mistake="b")
    entry = OneProgram(("a", "b"), "a reason", ("softmax",))
    assert entry.covers(there, here)
    assert not entry.covers(here, elsewhere)
    assert OneProgram(("a", "b"), "a reason").covers(here, elsewhere)
