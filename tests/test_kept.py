"""What was made of the same objects is found again, and of other ones it is not."""

from __future__ import annotations

from autograder.checks.kept import Kept


def test_it_is_made_once_for_the_same_objects_and_words() -> None:
    kept: Kept[list[int]] = Kept(10)
    thing = object()
    made = kept.of(("a",), (thing,), list)
    assert kept.of(("a",), (thing,), list) is made
    assert kept.of(("b",), (thing,), list) is not made
    assert kept.of(("a",), (object(),), list) is not made


def test_equal_objects_are_not_the_same_ones() -> None:
    kept: Kept[list[int]] = Kept(10)
    assert kept.of((), ([1],), list) is not kept.of((), ([1],), list)


def test_what_was_not_asked_for_longest_goes_first() -> None:
    kept: Kept[list[int]] = Kept(2)
    first, second, third = object(), object(), object()
    made = kept.of((), (first,), list)
    gone = kept.of((), (second,), list)
    assert kept.of((), (first,), list) is made
    kept.of((), (third,), list)
    assert kept.of((), (first,), list) is made
    assert kept.of((), (second,), list) is not gone


def test_nothing_is_kept_of_what_could_not_be_made() -> None:
    kept: Kept[int] = Kept(2)
    thing = object()
    for _ in range(2):
        try:
            kept.of((), (thing,), lambda: 1 // 0)
        except ZeroDivisionError:
            continue
        raise AssertionError("it was made")
    assert kept.of((), (thing,), lambda: 3) == 3
