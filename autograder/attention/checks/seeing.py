"""Attention weights to look at: what a wrong name's attention is, on inputs that are not hidden.

The tokens are the six words of the handouts. A module is read from outside: its values are made
an identity, so that what comes out are the weights that go in. Where the outputs are explained,
the weights are those of the explanation, once it has reproduced what came out here too; an
output that has passed through another mistake as well would not show them as they are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from autograder.assignment.assignment import Assignment, Stage
from autograder.attention.chain import Given, Values, into_heads
from autograder.attention.checks.subject import build, tensor_of
from autograder.checks.failures import CheckFailed
from autograder.checks.kept import Kept
from autograder.checks.sample import Sample, Sizes
from autograder.checks.session import CheckSession
from autograder.diagnosis.catalogue import Catalogue, Misconception, load_catalogue
from autograder.diagnosis.chain import Chain, Step, StepRaises, run
from autograder.diagnosis.compare import same
from autograder.results.details import VISIBLE, AttentionSeen, HeadWeights, Matrix
from autograder.sandbox.host.student import Student, StudentFault

#: The six tokens of the handouts, of three dimensions each.
WORDS = ("Your", "journey", "starts", "with", "one", "step")
INPUTS = torch.tensor(
    [
        [0.43, 0.15, 0.89],
        [0.55, 0.87, 0.66],
        [0.57, 0.85, 0.64],
        [0.22, 0.58, 0.33],
        [0.77, 0.25, 0.10],
        [0.05, 0.80, 0.55],
    ]
)

#: For each head a phase of its queries, one of its keys, and how strong both are: chosen by eye,
#: so that every row has words that it attends to and words that it does not.
HEADS = ((1.0, 2.0, 1.5), (4.0, 1.5, 1.2))
KEY_SIZE = 9  # holds the six words; no other size has its root
D_IN = 8  # unlike every other size; the tokens use six of it

#: The weights of right programs, by chain and view.
RIGHT: Kept[Tensor | None] = Kept(20)

#: Ways of writing the mistakes of one explanation that are tried.
MOST_CODINGS = 64


@dataclass(frozen=True, slots=True)
class View:
    """How one name's weights are asked for, and what the chain is given to tell the right ones."""

    given: Given
    ask: Callable[[Student, Sample], Tensor]
    heads: int = 1
    module: bool = False


def attention_seen(
    session: CheckSession,
    sample: Sample,
    assignment: Assignment,
    standings: Mapping[str, Mapping[str, object]],
) -> tuple[AttentionSeen, ...]:
    """The attention of every wrong name that has some, where it shows what is wrong.

    `standings` tell by name its `kind` and its `misconceptions`, as in the teacher's details.
    """
    wanted = [
        (stage, name)
        for stage in assignment.stages
        for name in stage.names
        if name in VIEWS and name in standings and _is_worth_a_look(standings[name])
    ]
    seen = []
    for stage, name in reversed(wanted):  # the last stage's guest is there, an earlier one's is not
        picture = _look(session, sample, stage, name, standings[name])
        if picture is not None:
            seen.append(picture)
    return tuple(reversed(seen))


def look_ahead(session: CheckSession, sample: Sample, assignment: Assignment) -> None:
    """Ask while the guest is there for what `attention_seen` will ask of names that are wrong.

    A name that may hang or end the guest waits until it is known to be worth it.
    """
    evidence = session.evidence
    wrong = {entry.check.name for entry in evidence.recorded if not entry.right and entry.shape}
    for outcome in evidence.outcomes:
        if outcome.status in ("timeout", "killed"):
            wrong.discard(outcome.check.name)
    for stage in reversed(assignment.stages):
        for name in stage.names:
            if name in wrong and name in VIEWS and session.is_there(stage):
                _asked(session, sample, stage, name)


def _asked(session: CheckSession, sample: Sample, stage: Stage, name: str) -> Tensor | None:
    """What a name gives where its attention shows, asked for once; None where nothing came."""
    if name not in session.looks:
        session.enter(stage)
        try:
            student = session.student(f"{stage.id}::see_{name}")
            session.looks[name] = VIEWS[name].ask(student, sample)
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
    session: CheckSession, sample: Sample, stage: Stage, name: str, standing: Mapping[str, object]
) -> AttentionSeen | None:
    """One name's attention; None where it cannot be seen or shows nothing wrong."""
    view = VIEWS[name]
    catalogue = load_catalogue(stage.misconceptions)
    found = _asked(session, sample, stage, name)
    if found is None:
        return None
    chain = catalogue.chains[name]
    expected = RIGHT.of((), (chain, view), partial(_weights, chain, view, {}))
    assert expected is not None
    mistakes = standing["misconceptions"]
    assert isinstance(mistakes, Sequence)
    explained = _explained(catalogue, chain, view, found, [str(each) for each in mistakes])
    if explained is None:
        if mistakes and view.module:
            return None
        explained = _direct(view, found)
    if explained.shape != expected.shape or _looks_same(explained, expected):
        return None
    return AttentionSeen(
        name=name,
        stage=stage.id,
        tokens=WORDS,
        heads=tuple(
            HeadWeights(_matrix(head), _matrix(right))
            for head, right in zip(explained, expected, strict=True)
        ),
        causal=stage.id in CAUSAL and name != "causal_mask",
        shares=name != "causal_mask",
        sure=bool(mistakes) or not view.module,
    )


def _explained(
    catalogue: Catalogue, chain: Chain, view: View, found: Tensor, mistakes: Sequence[str]
) -> Tensor | None:
    """The weights of the explanation, if it gives what was found here; `(H, T, T)`."""
    if not mistakes:
        return None
    entries = [catalogue.named(each) for each in mistakes]
    for replaced in _codings(entries):
        try:
            output = run(chain, view.given, replaced)
        except (StepRaises, RuntimeError, IndexError):
            continue
        if same(found, output):
            return _weights(chain, view, replaced)
    return None


def _codings(entries: Sequence[Misconception]) -> Iterator[dict[str, Step]]:
    """The ways in which these mistakes are written, the usual ones first."""
    ways = itertools.product(*(entry.steps for entry in entries if entry.steps))
    for steps in itertools.islice(ways, MOST_CODINGS):
        names = [entry.step for entry in entries if entry.steps]
        yield dict(zip(names, steps, strict=True))


def _weights(chain: Chain, view: View, replaced: Mapping[str, Step]) -> Tensor | None:
    """The attention weights of the first item within the chain, `(H, T, T)`.

    None where a step done otherwise leaves no weights that could be shown as such.
    """
    if not view.module:
        return run(chain, view.given, replaced).float().unsqueeze(0)
    values: Values = chain.begin(view.given)
    for name, step in chain.steps:
        values = replaced.get(name, step)(values)
    weights = values.weights
    if view.given.tokens is not None and view.given.tokens.dim() == 3 and weights.dim() > 2:
        weights = weights[0]
    if weights.dim() == 2:
        weights = weights.unsqueeze(0)
    return weights if weights.dim() == 3 else None


def _direct(view: View, found: Tensor) -> Tensor:
    """What came out in the place of weights, `(H, T, T)`."""
    if not view.module:
        return found.unsqueeze(0)
    first = found[0] if found.dim() == 3 else found
    return into_heads(first, view.heads)[..., : len(WORDS)]


def _looks_same(found: Tensor, expected: Tensor) -> bool:
    return bool(((found - expected).abs() < VISIBLE).all())  # nan is never the same


def _matrix(weights: Tensor) -> Matrix:
    return tuple(
        tuple(round(number, 4) if math.isfinite(number) else None for number in row)
        for row in weights.double().tolist()
    )


# What is asked ------------------------------------------------------------------------------


def _square(value: object) -> Tensor:
    return tensor_of(value, len(WORDS), len(WORDS))


def _of_scores(name: str) -> View:
    scores = INPUTS @ INPUTS.T
    return View(Given(scores=scores), lambda student, _: _square(student.proxy(name)(scores)))


def _of_module(name: str, heads: int = 0, batch: int = 0) -> View:
    sizes = Sizes(
        d_in=D_IN,
        d_out=max(heads, 1) * KEY_SIZE,
        tokens=len(WORDS),
        batch=batch,
        context_length=10 if batch else 0,
        heads=heads,
    )
    weights = visible_weights(heads)
    one_hot = torch.eye(len(WORDS), D_IN)
    tokens = torch.stack([one_hot, one_hot.flip(0)]) if batch else one_hot
    given = Given(tokens, None, None, 0, weights, max(heads, 1), sizes.context_length)
    return View(
        given,
        lambda student, sample: build(student, sample, name, sizes, weights=weights)(tokens),
        heads=max(heads, 1),
        module=True,
    )


def visible_weights(heads: int = 0) -> dict[str, Tensor]:
    """Weights by role with which one-hot tokens attend as the words' own inputs would.

    The rows of the query and key weights are the inputs, projected; the first columns of each
    head's values are the identity, and so is the output projection.
    """
    parts = max(heads, 1)
    weights = {}
    for role, place in (("query", 0), ("key", 1)):
        columns = [INPUTS @ _wave(HEADS[head][place], HEADS[head][2]) for head in range(parts)]
        weights[role] = torch.zeros(D_IN, parts * KEY_SIZE)
        weights[role][: len(WORDS)] = torch.cat(columns, dim=-1)
    weights["value"] = torch.cat([torch.eye(len(WORDS), KEY_SIZE)] * parts, dim=-1)
    weights["value"] = torch.nn.functional.pad(weights["value"], (0, 0, 0, D_IN - len(WORDS)))
    if heads:
        weights["output"] = torch.eye(parts * KEY_SIZE)
        weights["output_bias"] = torch.zeros(parts * KEY_SIZE)
    return weights


def _wave(phase: float, strength: float) -> Tensor:
    """A projection `(3, KEY_SIZE)` without any regular pattern, from the sine."""
    return strength * torch.tensor(
        [
            [math.sin(phase + 5.3 * row + 2.1 * column) for column in range(KEY_SIZE)]
            for row in range(INPUTS.shape[1])
        ]
    )


#: Stages in which no token may look ahead.
CAUSAL = ("causal", "multi_head")

VIEWS: Mapping[str, View] = {
    "softmax": _of_scores("softmax"),
    "attention_weights": View(
        Given(tokens=INPUTS), lambda student, _: _square(student.attention_weights(INPUTS))
    ),
    "SelfAttention_v1": _of_module("SelfAttention_v1"),
    "SelfAttention_v2": _of_module("SelfAttention_v2"),
    "causal_mask": View(
        Given(count=len(WORDS)), lambda student, _: _square(student.causal_mask(len(WORDS)))
    ),
    "renormalized_weights": _of_scores("renormalized_weights"),
    "masked_weights": _of_scores("masked_weights"),
    "CausalAttention": _of_module("CausalAttention", batch=2),
    "MultiHeadAttention": _of_module("MultiHeadAttention", heads=2, batch=2),
}
