"""Which names are wrong only through other functions of their stage, found by lending them some.

Culprits are those that stay wrong with a library's functions in the place of all others. A name
that is right with a library's in the place of the culprits has borrowed its mistake, which is
charged where it is made. Names that only call each other have no culprit among them, and none has
borrowed anything.

Every other set of functions that is lent takes a fresh guest with the submission loaded anew. So
names are taken in their stage's order, in which they build on each other, and each is first tried
with the culprits known so far: where that makes it right, so would any more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from autograder.assignment import Stage
from autograder.checks.evidence import Evidence
from autograder.checks.trial import Trial

#: Whether all checks that make a name right pass as things stand.
Right = Callable[[str], bool]


def borrowed_in(trial: Trial, stage: Stage, lost: Collection[str], right: Right) -> set[str]:
    """Of the names of a stage that are not right those that have borrowed their mistake."""
    culprits: set[str] = set()
    borrowed: set[str] = set()
    undecided: list[str] = []
    for name in (each for each in stage.names if each in lost):
        if right_with(trial, stage, name, culprits, right):
            borrowed.add(name)
        elif right_with(trial, stage, name, set(stage.names) - {name}, right):
            undecided.append(name)
        else:
            culprits.add(name)
    return borrowed | {
        name for name in undecided if right_with(trial, stage, name, culprits, right)
    }


def right_with(trial: Trial, stage: Stage, name: str, lent: Collection[str], right: Right) -> bool:
    """Whether a wrong name is right with a library's functions in the place of others."""
    trial.enter(stage)
    if not trial.lend(stage, lent):
        return False  # nothing has changed
    evidence = trial.evidence
    trial.evidence, trial.lending = Evidence(), True
    try:
        return right(name)
    finally:
        trial.evidence, trial.lending = evidence, False
