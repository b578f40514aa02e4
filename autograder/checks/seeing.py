"""Pictures of what a wrong name computes inside, on inputs that are not hidden.

Where the outputs are explained, the picture is that of the explanation, once it has reproduced
what came out here too; an output that has passed through another mistake as well would not show it
as it is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from torch import Tensor

from autograder.assignment.assignment import Assignment, Stage
from autograder.checks.declaration import View
from autograder.checks.failures import CheckFailed
from autograder.checks.kept import Kept
from autograder.checks.sample import Sample
from autograder.checks.session import CheckSession
from autograder.diagnosis.catalogue import Catalogue, Misconception
from autograder.diagnosis.chain import Chain, Step, StepRaises, run
from autograder.diagnosis.compare import same
from autograder.results.details import VISIBLE, AttentionSeen, HeadWeights, Matrix
from autograder.sandbox.host.student import StudentFault

#: The pictures of right programs, by chain and view.
RIGHT: Kept[Tensor | None] = Kept(20)

#: Ways of writing the mistakes of one explanation that are tried.
MOST_CODINGS = 64

Views = Mapping[str, View]


def pictures_seen(
    session: CheckSession,
    sample: Sample,
    assignment: Assignment,
    views: Views,
    standings: Mapping[str, Mapping[str, object]],
) -> tuple[AttentionSeen, ...]:
    """The picture of every wrong name that has one, where it shows what is wrong.

    `standings` tell by name its `kind` and its `misconceptions`, as in the teacher's details.
    """
    wanted = [
        (stage, name)
        for stage in assignment.stages
        for name in stage.names
        if name in views and name in standings and _is_worth_a_look(standings[name])
    ]
    seen = []
    for stage, name in reversed(wanted):  # the last stage's guest is there, an earlier one's is not
        picture = _look(session, sample, stage, name, views[name], standings[name])
        if picture is not None:
            seen.append(picture)
    return tuple(reversed(seen))


def look_ahead(session: CheckSession, sample: Sample, assignment: Assignment, views: Views) -> None:
    """Ask while the guest is there for what `pictures_seen` will ask of names that are wrong.

    A name that may hang or end the guest waits until it is known to be worth it.
    """
    evidence = session.evidence
    wrong = {entry.check.name for entry in evidence.recorded if not entry.right and entry.shape}
    for outcome in evidence.outcomes:
        if outcome.status in ("timeout", "killed"):
            wrong.discard(outcome.check.name)
    for stage in reversed(assignment.stages):
        for name in stage.names:
            if name in wrong and name in views and session.is_there(stage):
                _asked(session, sample, stage, name, views[name])


def _asked(
    session: CheckSession, sample: Sample, stage: Stage, name: str, view: View
) -> Tensor | None:
    """What a name gives where its picture shows, asked for once; None where nothing came."""
    if name not in session.looks:
        session.enter(stage)
        try:
            student = session.student(f"{stage.id}::see_{name}")
            session.looks[name] = view.ask(student, sample)
        except (StudentFault, CheckFailed):
            session.looks[name] = None
    return session.looks[name]


def _is_worth_a_look(standing: Mapping[str, object]) -> bool:
    """Whether outputs are wrong and came back at all: what hangs is not asked again."""
    kind = standing["kind"]
    return kind in ("explained", "unexplained") or (
        kind == "unseen" and bool(standing["misconceptions"])
    )


def _look(
    session: CheckSession,
    sample: Sample,
    stage: Stage,
    name: str,
    view: View,
    standing: Mapping[str, object],
) -> AttentionSeen | None:
    """One name's picture; None where it cannot be seen or shows nothing wrong."""
    catalogue = session.catalogue(stage)
    found = _asked(session, sample, stage, name, view)
    if found is None:
        return None
    chain = catalogue.chains[name]
    expected = RIGHT.of((), (chain, view), partial(_picture, chain, view, {}))
    assert expected is not None
    mistakes = standing["misconceptions"]
    assert isinstance(mistakes, Sequence)
    explained = _explained(catalogue, chain, view, found, [str(each) for each in mistakes])
    if explained is None:
        if mistakes and view.indirect:
            return None
        explained = view.direct(found)
    if explained.shape != expected.shape or _looks_same(explained, expected):
        return None
    return AttentionSeen(
        name=name,
        stage=stage.id,
        tokens=view.labels,
        heads=tuple(
            HeadWeights(_matrix(head), _matrix(right))
            for head, right in zip(explained, expected, strict=True)
        ),
        causal=view.lower_half,
        shares=view.shares,
        sure=bool(mistakes) or not view.indirect,
    )


def _explained(
    catalogue: Catalogue, chain: Chain, view: View, found: Tensor, mistakes: Sequence[str]
) -> Tensor | None:
    """The picture of the explanation, if it gives what was found here; `(N, rows, columns)`."""
    if not mistakes:
        return None
    entries = [catalogue.named(each) for each in mistakes]
    for replaced in _codings(entries):
        try:
            output = run(chain, view.given, replaced)
        except (StepRaises, RuntimeError, IndexError):
            continue
        if same(found, output):
            return _picture(chain, view, replaced)
    return None


def _codings(entries: Sequence[Misconception]) -> Iterator[dict[str, Step]]:
    """The ways in which these mistakes are written, the usual ones first."""
    ways = itertools.product(*(entry.steps for entry in entries if entry.steps))
    for steps in itertools.islice(ways, MOST_CODINGS):
        names = [entry.step for entry in entries if entry.steps]
        yield dict(zip(names, steps, strict=True))


def _picture(chain: Chain, view: View, replaced: Mapping[str, Step]) -> Tensor | None:
    """The picture of a program; None where a step done otherwise leaves none."""
    values = chain.begin(view.given)
    for name, step in chain.steps:
        values = replaced.get(name, step)(values)
    return view.picture(values)


def _looks_same(found: Tensor, expected: Tensor) -> bool:
    return bool(((found - expected).abs() < VISIBLE).all())  # nan is never the same


def _matrix(weights: Tensor) -> Matrix:
    return tuple(
        tuple(round(number, 4) if math.isfinite(number) else None for number in row)
        for row in weights.double().tolist()
    )
