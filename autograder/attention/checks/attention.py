"""What holds of every attention module, whatever its stage; the stages' checks call these.

Each function takes a built `Subject` (or builds one) and fails the check where something is not
as it should be. Sizes are pairwise different, so that a mixed-up dimension shows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import torch
from msgspec.structs import replace
from torch import Tensor

from autograder.attention.checks.roles import CONTRACT
from autograder.attention.checks.subject import Subject, build
from autograder.attention.names import Module
from autograder.attention.sample import Sample, Sizes, all_alike, doubled, one_hot
from autograder.checks.evidence import Observer
from autograder.checks.failures import CheckFailed, require, told_shape
from autograder.diagnosis.compare import difference, same
from autograder.sandbox.host.asking import Counted
from autograder.sandbox.host.student import Student
from autograder.sandbox.protocol.wire import Layout


def matches(
    observe: Observer,
    subject: Subject,
    tokens: Tensor,
    *,
    operators: bool = False,
    layout: Layout | None = None,
) -> Tensor:
    """The module's output is the reference's."""
    layouts: dict[int, Layout] = {} if layout is None else {0: layout}
    counted: Counted = observe.counted if operators else {}
    return observe(
        subject.given(tokens),
        lambda: subject.module.ask(tokens, layouts=layouts, **counted),
    )


def matches_in_any_form(
    observe: Observer,
    subject: Subject,
    sample: Sample,
    lengths: Sequence[tuple[int, int]],
    layouts: Sequence[Layout],
) -> None:
    """One module gives the reference's output for texts of any number, length and layout.

    lengths: (number of texts, of tokens); a number of 0 means no batch. layouts: tokens that are a
    view of another tensor. All in one frame.
    """
    texts: list[tuple[Tensor, Layout]] = []
    for batch, count in lengths:
        sizes = replace(subject.sizes, tokens=count, batch=batch)
        texts.append((sample.tokens("length", sizes), "contiguous"))
    tokens = sample.tokens("strong", subject.sizes)
    texts += [(all_alike(tokens) if layout == "expanded" else tokens, layout) for layout in layouts]
    calls = [subject.module.asked(text, layouts={0: layout}) for text, layout in texts]
    observe.each([subject.given(text) for text, _ in texts], subject.module.ask_each(calls))


def biases_matter(observe: Observer, subject: Subject, tokens: Tensor) -> None:
    """With biases the output is the reference's with biases, not the one without."""
    try:
        matches(observe, subject, tokens)
    except CheckFailed as failed:
        raise CheckFailed(
            failed.found, failed.expected, misconception="bias-ignored", shape=failed.shape
        ) from failed


def in_double(subject: Subject) -> Subject:
    """The same module converted with `.double()`."""
    if not subject.module.parameters:
        raise CheckFailed(
            "weights that are no parameters, which `.double()` does not reach",
            "a module that works in float64",
            misconception="unregistered-parameters",
            excuse=lambda chain, explanation: True,
        )
    subject.module.double()
    return subject.with_weights({role: doubled(held) for role, held in subject.weights.items()})


# Weights seen through an identity -----------------------------------------------------------


def identity_weights(sample: Sample, sizes: Sizes, copies: int = 1) -> dict[str, Tensor]:
    """Weights that make the output show the attention weights of one-hot tokens.

    Needs `d_in = T` and `d_out = H * copies * T`: each head's values are `copies` identities side
    by side, the output projection is the identity without bias.
    """
    weights = {
        role: sample.numbers(f"mild:{role}", sizes.d_in, sizes.width(role))
        for role in ("query", "key")
    }
    weights["value"] = identities(sizes.d_in, sizes.key_heads * copies)
    if sizes.heads:
        weights["output"] = one_hot(sizes.d_out)
        weights["output_bias"] = zeros(sizes.d_out)
    return weights


@lru_cache(maxsize=16)
def identities(size: int, count: int) -> Tensor:
    """Identity matrices side by side."""
    return torch.eye(size).repeat(1, count)


@lru_cache(maxsize=16)
def zeros(size: int) -> Tensor:
    """A bias that does nothing."""
    return torch.zeros(size)


def seen_weights(
    student: Student,
    sample: Sample,
    declared: Module,
    tokens: int,
    heads: int = 0,
    batch: int = 0,
) -> Tensor:
    """The attention weights of a module in eval mode: `(..., T, T)`, heads in front."""
    parts = max(heads, 1)
    sizes = replace(
        declared.sizes["usual"],
        d_in=tokens,
        d_out=parts * tokens,
        tokens=tokens,
        batch=batch,
        context_length=tokens + 3 if batch else 0,
        heads=heads,
    )
    subject = build(student, sample, declared, sizes, weights=identity_weights(sample, sizes))
    seen = subject(one_hot(tokens, batch))
    require(
        seen.shape[-1] == parts * tokens and seen.shape[-2] == tokens,
        f"shape {told_shape(seen.shape)}",
        f"{parts * tokens} columns for every token",
    )
    apart: Tensor = seen.unflatten(-1, (parts, tokens))
    return apart.transpose(-3, -2)


# Properties ---------------------------------------------------------------------------------


def turned(weights: Mapping[str, Tensor], **factors: float) -> dict[str, Tensor]:
    """The same weights, some of them multiplied by a number."""
    return {
        role: weight * factors[role] if role in factors else weight
        for role, weight in weights.items()
    }


def scores_are_products(subject: Subject, tokens: Tensor) -> None:
    """Twice the queries and half the keys give the same scores, so the same output."""
    before, after = subject.answers(
        (tokens, None), (tokens, turned(subject.weights, query=2.0, key=0.5))
    )
    require(
        same(after, before),
        "another output when queries are doubled and keys halved",
        "the same output, since the scores are products of both",
    )


def every_projection_counts(subject: Subject, sample: Sample, tokens: Tensor) -> None:
    """Other query, key or value weights give another output; the value's enter linearly."""
    held = subject.weights
    others = [
        {**held, role: sample.numbers(f"other:{role}", *held[role].shape)}
        for role in ("query", "key")
    ]
    plain = without_output_bias(held)
    settings = (None, *others, plain, turned(plain, value=2.0))
    outputs = subject.answers(*((tokens, weights) for weights in settings))
    before = next(outputs)
    for role in ("query", "key"):
        require(
            difference(next(outputs), before) > 0.01,
            f"the same output whatever `{CONTRACT[role]}` holds",
            f"an output that depends on `{CONTRACT[role]}`",
        )
    once, twice = outputs
    require(
        same(twice, 2 * once) and difference(twice, once) > 0.01,
        "an output that does not double when the values do",
        "an output twice as large for values twice as large",
    )


def without_output_bias(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The same weights, the output projection's bias zero."""
    changed = dict(weights)
    if "output_bias" in changed:
        changed["output_bias"] = torch.zeros_like(changed["output_bias"])
    return changed


def values_enter_linearly(subject: Subject, sample: Sample, tokens: Tensor) -> None:
    """The output for a sum of two value weights is the sum of both outputs."""
    base = without_output_bias(subject.weights)
    other = sample.numbers("second", *base["value"].shape)
    values = (base["value"], other, base["value"] + other)
    parts = list(subject.answers(*((tokens, {**base, "value": value}) for value in values)))
    require(
        same(parts[2], parts[0] + parts[1]),
        "an output that is no weighted sum of the values",
        "the weighted sum of the values",
    )


def scaled_by_root(student: Student, sample: Sample, declared: Module, sizes: Sizes) -> None:
    """Scores known in advance: the logarithm of two weights' ratio is their gap / sqrt(d_k).

    The same scores are made once with all features of a head and compared for two head sizes.
    """
    gaps = []
    tokens = 4
    for size in (sizes.head_size, 4 * sizes.head_size):
        parts = max(sizes.heads, 1)
        width = parts * size
        shape = replace(sizes, d_in=tokens, d_out=width, tokens=tokens)
        first = torch.zeros(tokens, width)
        first[:, ::size] = 1.0
        keys = first[:, : shape.key_width]
        weights = {
            "query": first,
            "key": keys * torch.tensor([0.0, 1.0, 2.0, 3.0]).unsqueeze(-1),
            "value": torch.eye(tokens, width),
        }
        if sizes.heads:
            weights["value"] = torch.cat([torch.eye(tokens, size)] * shape.key_heads, dim=-1)
            weights["output"] = torch.eye(width)
            weights["output_bias"] = torch.zeros(width)
        subject = build(student, sample, declared, shape, weights=weights)
        seen = subject(one_hot(tokens, batch=1 if sizes.batch else 0))
        last = seen.reshape(-1, seen.shape[-1])[tokens - 1, :tokens]
        gaps.append(last.clamp_min(1e-30).log().diff())
    root = math.sqrt(sizes.head_size)
    expected = (torch.full((3,), 1 / root), torch.full((3,), 0.5 / root))
    require(
        all(
            gap.shape == wanted.shape and bool((gap - wanted).abs().max() < 0.02 / root)
            for gap, wanted in zip(gaps, expected, strict=True)
        ),
        "weights whose scores were not divided by the square root of d_k",
        "scores divided by the square root of d_k",
    )


# The past and the future --------------------------------------------------------------------


def future_does_not_matter(subject: Subject, sample: Sample, tokens: Tensor) -> None:
    """Outputs up to a position do not move when the tokens after it change."""
    positions = (0, tokens.shape[-2] // 2)
    changed = [(sample.change_after(tokens, position), None) for position in positions]
    outputs = subject.answers((tokens, None), *changed)
    before = next(outputs)
    for position, after in zip(positions, outputs, strict=True):
        require(
            before.shape == after.shape
            and before.dim() >= 2
            and same(after[..., : position + 1, :], before[..., : position + 1, :]),
            f"the output at position {position} changed when later tokens changed",
            "outputs that depend on earlier tokens only",
        )


def past_matters(subject: Subject, tokens: Tensor) -> None:
    """Outputs after the first token do depend on it."""
    changed = tokens.clone()
    changed[..., 0, :] = -changed[..., 0, :]
    after, before = subject.answers((changed, None), (tokens, None))
    require(
        difference(after[..., -1, :], before[..., -1, :]) > 1e-4,
        "a last output that does not depend on the first token",
        "outputs that see all earlier tokens",
    )


def attends(subject: Subject, sample: Sample, tokens: Tensor) -> None:
    """Other query and key weights give another output: there is attention of some kind."""
    other = dict(subject.weights)
    for role in ("query", "key"):
        other[role] = sample.numbers(f"attends:{role}", *other[role].shape, reach=2.0)
    before, after = subject.answers((tokens, None), (tokens, other))
    require(
        before.shape != after.shape or not same(after, before),
        "the same output whatever queries and keys are",
        "an output that depends on scores between tokens",
    )
