"""What is known of a check before any submission comes: where it belongs and what it asks for.

It is found out once and serves every submission.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import pytest

from autograder.assignment.assignment import Assignment, Stage
from autograder.checks.by_pytest import plain_fixture
from autograder.checks.marks import Check, check_of
from autograder.checks.trial import catalogue_of, counted_for
from autograder.diagnosis.catalogue import Catalogue
from autograder.sandbox.host.asking import Counted


class Place(NamedTuple):
    """Where a check belongs, and how it is called.

    identifier: its stable name, `causal::test_a_later_token_cannot_change_an_earlier_output`.
    rank: the place of its stage, and of its name within the stage. counted: which operators of its
    name are to be seen. given: its arguments by pytest's marks. asked: all its arguments. plain:
    whether they can be had without pytest.
    """

    stage: Stage
    check: Check
    identifier: str
    rank: tuple[int, int]
    catalogue: Catalogue
    counted: Counted
    given: Mapping[str, object]
    asked: tuple[str, ...]
    plain: bool
    item: pytest.Function


def place_of(item: pytest.Item, assignment: Assignment, fixtures: Collection[str]) -> Place:
    """The place of a collected check; `fixtures` are those that need no pytest."""
    assert isinstance(item, pytest.Function)
    check = check_of(item)
    stage = assignment.stage_of(check.name)
    given: dict[str, object] = dict(item.callspec.params) if hasattr(item, "callspec") else {}
    asked = item._fixtureinfo.argnames
    known = {*given, *fixtures}
    return Place(
        stage,
        check,
        f"{stage.id}::{item.name}",
        rank_of(check.name, assignment),
        catalogue_of(assignment, check.name),
        counted_for(assignment, check.name),
        given,
        asked,
        all(_is_plain(item, name, known) for name in asked),
        item,
    )


def rank_of(name: str, assignment: Assignment) -> tuple[int, int]:
    """The place of a name's stage, and the name's within it."""
    stage = assignment.stage_of(name)
    return assignment.stages.index(stage), stage.names.index(name)


def arguments(
    place: Place,
    asked: Sequence[str],
    given: dict[str, object],
    makers: Mapping[str, Callable[[Place], object]],
) -> dict[str, object]:
    """The arguments of a plain check, or of a fixture of it; each is made once for a check."""
    for name in asked:
        if name in given:
            continue
        maker = makers.get(name)
        if maker is not None:
            given[name] = maker(place)
        else:
            fixture = plain_fixture(place.item, name)
            assert fixture is not None  # looked at when the place was found
            given[name] = fixture.func(**arguments(place, fixture.argnames, given, makers))
    return {name: given[name] for name in asked}


def _is_plain(item: pytest.Function, name: str, known: set[str]) -> bool:
    """Whether a fixture is to be had without pytest."""
    if name in known:
        return True
    fixture = plain_fixture(item, name)
    return fixture is not None and all(_is_plain(item, each, known) for each in fixture.argnames)


def stands_in(items: Sequence[pytest.Item]) -> bool:
    """Whether some check among these may put stand-ins in the student's place."""
    return any(
        "substitute" in item._fixtureinfo.names_closure
        for item in items
        if isinstance(item, pytest.Function)
    )
