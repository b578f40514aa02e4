"""Which names are wrong only through other functions of their stage, found by lending them some.

Culprits are those that stay wrong with a library's functions in the place of all others. A name
that is right with a library's in the place of the culprits has borrowed its mistake, which is
charged where it is made. Names that only call each other have no culprit among them, and none has
borrowed anything.

Every set of functions that is lent takes a fresh guest with the submission loaded anew. A name's
own function is called whatever is lent, so all names are tried in the same two guests.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from autograder.assignment.assignment import Stage
from autograder.checks.evidence import Evidence
from autograder.checks.session import CheckSession

#: Whether the checks of a name that were not passed before pass as things stand, or all of them.
Passes = Callable[[str, bool], bool]


def borrowed_in(
    session: CheckSession, stage: Stage, lost: Collection[str], passes: Passes
) -> set[str]:
    """Of the names of a stage that are not right those that have borrowed their mistake.

    `passes(name, everything)` runs checks of a name: all of them, or those not passed before.
    """
    with _lent(session, stage, stage.names):
        culprits = {name for name in stage.names if name in lost and not passes(name, False)}
    others = [name for name in stage.names if name in lost and name not in culprits]
    if not (culprits and others):
        return set()
    with _lent(session, stage, culprits) as something:
        return {name for name in others if something and passes(name, True)}


@contextmanager
def _lent(session: CheckSession, stage: Stage, names: Collection[str]) -> Iterator[bool]:
    """While a library's functions are lent for these names; whether it has any of them."""
    session.enter(stage)
    lent = session.lend(stage, names)
    evidence = session.evidence
    session.evidence, session.lending = Evidence(), True
    try:
        yield lent
    finally:
        session.evidence, session.lending = evidence, False
