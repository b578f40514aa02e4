"""Stage 4: multi-head attention, by stacking heads and by splitting weights (section 3.6)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import torch
from msgspec.structs import replace
from torch import Tensor, nn

from autograder.attention.checks import attention
from autograder.attention.checks.attention import matches
from autograder.attention.checks.block import gpt_block
from autograder.attention.checks.causal_modules import MANY as MHA
from autograder.attention.checks.causal_modules import NAMES as MODULES
from autograder.attention.checks.functions import rows_sum_to_one
from autograder.attention.checks.subject import build, constructor_arguments
from autograder.attention.names import Module
from autograder.attention.sample import Sample, Sizes
from autograder.checks.evidence import Observer
from autograder.checks.failures import require, told_shape
from autograder.checks.marks import cases, criterion, own, setting
from autograder.diagnosis.chain import run
from autograder.diagnosis.compare import difference, same
from autograder.sandbox.host.student import Student, StudentRaised

SQUARE = MODULES[MHA].sizes["square"]


def only_head(weights: dict[str, Tensor], sizes: Sizes, head: int, role: str) -> dict[str, Tensor]:
    """The same weights, one head's columns of one role negated, no output projection."""
    columns = slice(head * sizes.head_size, (head + 1) * sizes.head_size)
    changed = {**weights, role: weights[role].clone()}
    changed[role][:, columns] *= -1.0
    return {**changed, "output": torch.eye(sizes.d_out), "output_bias": torch.zeros(sizes.d_out)}


@criterion("split", of=MHA)
def a_head_owns_neighbouring_columns(declared: Module, student: Student, sample: Sample) -> None:
    """Other queries in one head's columns change that head's part of the output and no other."""
    usual = declared.sizes["usual"]
    subject = build(student, sample, declared, usual)
    tokens = sample.tokens("strong", usual)
    weights = dict(subject.weights)
    plain = only_head(only_head(weights, usual, 1, "query"), usual, 1, "query")
    before, after = subject.answers((tokens, plain), (tokens, only_head(plain, usual, 1, "query")))
    shape = (*tokens.shape[:-1], usual.d_out)
    require(
        before.shape == shape, f"shape {told_shape(before.shape)}", f"shape {told_shape(shape)}"
    )
    parts = zip(*(each.split(usual.head_size, dim=-1) for each in (before, after)), strict=True)
    moved = [difference(other, part) > 1e-3 for part, other in parts]
    require(
        moved == [head == 1 for head in range(usual.heads)],
        "a change in one head's columns that shows in another head",
        "heads of neighbouring columns that do not touch each other",
    )


@criterion("split", "merge", of=MHA)
def split_heads_equal_stacked_heads(declared: Module, student: Student, sample: Sample) -> None:
    """With the identity as output projection, the parts are what separate heads give."""
    usual = declared.sizes["usual"]
    subject = build(student, sample, declared, usual)
    plain = unmixed(subject.weights, usual)
    tokens = sample.tokens("strong", usual)
    joined = subject.with_weights(plain)(tokens)
    stacked = []
    for head in range(usual.heads):
        own, shared = columns_of(usual, head), columns_of(usual, head_of_keys(usual, head))
        query = tokens @ plain["query"][:, own]
        key, value = (tokens @ plain[role][:, shared] for role in ("key", "value"))
        stacked.append(
            nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        )
    require(
        same(joined, torch.cat(stacked, dim=-1)),
        "something other than what separate heads give",
        "the outputs of separate heads, side by side",
    )


def columns_of(sizes: Sizes, head: int) -> slice:
    """The columns of one head."""
    return slice(head * sizes.head_size, (head + 1) * sizes.head_size)


def head_of_keys(sizes: Sizes, head: int) -> int:
    """Which of the heads that have keys of their own a head looks at."""
    return head * sizes.key_heads // sizes.heads


def unmixed(weights: Mapping[str, Tensor], sizes: Sizes) -> dict[str, Tensor]:
    """The same weights, with an output projection that does nothing."""
    width = sizes.d_out
    return {**weights, "output": torch.eye(width), "output_bias": torch.zeros(width)}


@own("split", of=MHA, aspect="no loop over heads")
def no_loop_over_the_heads(declared: Module, student: Student, sample: Sample) -> None:
    """The number of matrix products and softmaxes does not grow with the number of heads."""
    counts = []
    for heads in (2, 8):
        sizes = replace(declared.sizes["usual"], d_out=16, heads=heads)
        subject = build(student, sample, declared, sizes, label="counted")
        reply = subject.module.ask(sample.tokens("counted", sizes), operators=True)
        counts.append(sum(reply.operators.values()))
    require(
        counts[1] <= counts[0] + 5,
        f"{counts[0]} operations for 2 heads and {counts[1]} for 8",
        "as many operations for 8 heads as for 2",
        misconception="loop-over-heads",
    )


@own("split", of=MHA, aspect="divisibility")
def an_uneven_split_is_refused(declared: Module, student: Student) -> None:
    """A `d_out` that is no multiple of `num_heads` raises when the module is built."""
    usual = declared.sizes["usual"]
    uneven = replace(usual, d_out=usual.d_out + 1)
    try:
        name = declared.name
        student.proxy(name)(**constructor_arguments(student, name, uneven, 0.0))
    except StudentRaised as raised:
        require(
            raised.kind in {"ValueError", "AssertionError"},
            raised.kind,
            "a ValueError or an AssertionError",
        )
    else:
        require(
            False,
            f"a module with d_out {uneven.d_out} and {uneven.heads} heads",
            "a ValueError or an AssertionError",
            misconception="divisibility-unchecked",
        )


@criterion("softmax", of=MHA)
def weights_of_every_token_sum_to_one(declared: Module, student: Student, sample: Sample) -> None:
    """With the identity as values the output shows the weights: each row sums to 1."""
    rows_sum_to_one(attention.seen_weights(student, sample, declared, tokens=5, heads=3, batch=2))


@criterion("merge", of=MHA)
def a_heads_values_come_out_in_its_own_columns(
    declared: Module, student: Student, sample: Sample
) -> None:
    """If one head's values are zero, its part of the output is zero and the others are not."""
    usual = declared.sizes["usual"]
    subject = build(student, sample, declared, usual)
    plain = unmixed(subject.weights, usual)
    plain["value"] = plain["value"].clone()
    plain["value"][:, columns_of(usual, 1)] = 0.0
    found = subject.with_weights(plain)(sample.tokens("strong", usual))
    parts = found.split(usual.head_size, dim=-1)
    silent = [bool((part.abs() < 1e-5).all()) for part in parts]
    require(
        silent == [head_of_keys(usual, head) == 1 for head in range(usual.heads)],
        "a head whose values come out in another head's columns",
        "each head's part in its own columns",
    )


@criterion("output", of=MHA)
def output_projection_comes_last(declared: Module, student: Student, sample: Sample) -> None:
    """With all values zero the output is the projection's bias; its weight enters linearly."""
    usual = declared.sizes["usual"]
    subject = build(student, sample, declared, usual)
    tokens = sample.tokens("strong", usual)
    silent = {**subject.weights, "value": torch.zeros_like(subject.weights["value"])}
    bias = subject.weights["output_bias"]
    plain = attention.without_output_bias(subject.weights)
    outputs = subject.answers(
        (tokens, silent), (tokens, plain), (tokens, attention.turned(plain, output=2.0))
    )
    found = next(outputs)
    require(
        found.shape[-1:] == bias.shape and same(found, bias.expand_as(found)),
        "something other than `out_proj`'s bias when all values are zero",
        "the bias of `out_proj`",
    )
    once, twice = outputs
    require(
        same(twice, 2 * once) and difference(twice, once) > 0.01,
        "an output that does not double with `out_proj`'s weight",
        "`out_proj` applied once, last",
    )


@criterion("output", of=MHA)
def it_equals_the_librarys_module(student: Student, sample: Sample) -> None:
    """With the same weights PyTorch's `nn.MultiheadAttention` gives the same output."""
    subject = build(student, sample, MODULES[MHA], SQUARE)
    found = subject(sample.tokens("strong", SQUARE))
    require(same(found, librarys_output(sample)), "another output", "the library's output")


@lru_cache(maxsize=1)
def librarys_output(sample: Sample) -> Tensor:
    """What PyTorch's own module gives with the weights and tokens of `SQUARE`."""
    sizes, weights = SQUARE, sample.weights("strong", SQUARE)
    library = nn.MultiheadAttention(sizes.d_out, sizes.heads, batch_first=True).eval()
    roles = ("query", "key", "value")
    with torch.no_grad():
        library.in_proj_weight.copy_(torch.cat([weights[role].T for role in roles]))
        library.in_proj_bias.zero_()
        library.out_proj.weight.copy_(weights["output"].T)
        library.out_proj.bias.copy_(weights["output_bias"])
        tokens = sample.tokens("strong", sizes)
        hidden = torch.ones(sizes.tokens, sizes.tokens, dtype=torch.bool).triu(1)
        found: Tensor = library(tokens, tokens, tokens, attn_mask=hidden, need_weights=False)[0]
    return found


@setting("form", of=MHA)
@cases("widest", [False, True], labels=["1", "15"])
def any_number_of_heads_works(
    widest: bool, declared: Module, student: Student, sample: Sample, observe: Observer
) -> None:
    """Any number of heads works, from 1 to `d_out`."""
    usual = declared.sizes["usual"]
    sizes = replace(usual, heads=usual.d_out if widest else 1, batch=1)
    subject = build(student, sample, declared, sizes)
    matches(observe, subject, sample.tokens("strong", sizes))


@criterion("form", of=MHA)
def it_serves_within_a_block(declared: Module, student: Student, sample: Sample) -> None:
    """Inside a small GPT block the outputs equal the reference's."""
    square = declared.sizes["square"]
    subject = build(student, sample, declared, square)
    tokens = sample.tokens("embedded", square)
    found = gpt_block(sample, tokens, subject)
    expected = gpt_block(sample, tokens, lambda normal: run(declared.chain, subject.given(normal)))
    require(same(found, expected), "another output of the block", "the reference's output")
