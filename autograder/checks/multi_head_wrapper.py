"""Stage 4: heads side by side, and the exercises on both forms (section 3.6.1, exercises)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import Tensor

from autograder.chain import Given
from autograder.checks.evidence import Observer
from autograder.checks.failures import CheckFailed, NotSeen, require, told_shape
from autograder.checks.marks import criterion, dependence, own, setting, values
from autograder.checks.roles import Roles, RolesUnknown, roles_of
from autograder.checks.sample import Sample, Sizes
from autograder.checks.simplified import is_still
from autograder.checks.subject import make, shapes_of, tensor_of, told_type
from autograder.compare import same
from autograder.explain import Explanation
from autograder.misconceptions.multi_head import CHAINS
from autograder.sandbox.student import ModuleProxy, Student, StudentFault

WRAPPER = "MultiHeadAttentionWrapper"
ROLES = ("query", "key", "value")
CAUSAL = "CausalAttention"

USUAL = Sizes(d_in=7, d_out=5, tokens=6, batch=2, context_length=11, heads=3)
OTHER = Sizes(d_in=4, d_out=3, tokens=8, batch=3, context_length=8, heads=2)
BIASED = replace(USUAL, bias=True)

#: Takes the place of a head that the student has not got: a marked linear map, no attention.
STAND_IN = """
import torch


class CausalAttention(torch.nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = torch.nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = torch.nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = torch.nn.Linear(d_in, d_out, bias=qkv_bias)
        self.drop = torch.nn.Dropout(dropout)

    def forward(self, tokens):
        return self.drop(self.W_value(tokens))
"""

Substitute = Callable[[str], Student]


@pytest.fixture
def headed(student: Student, substitute: Substitute, findings: dict[str, bool]) -> Student:
    """The student, with a stand-in for `CausalAttention` where their own cannot be built or run."""
    if findings.get(CAUSAL) is None:
        findings[CAUSAL] = runs(student)
    return student if findings[CAUSAL] else substitute(STAND_IN)


def runs(student: Student) -> bool:
    """Whether the student's own head can serve: it runs, holds weights, gives the same twice.

    What it gives need not be right; that is judged with the head itself.
    """
    sizes = replace(USUAL, heads=0)
    tokens = torch.linspace(-1, 1, 2 * USUAL.d_in).reshape(1, 2, USUAL.d_in)
    try:
        head = make(student, CAUSAL, sizes).eval()
        plain = weights_by_role(head, sizes)
        biased = weights_by_role(make(student, CAUSAL, replace(sizes, bias=True)), sizes)
        once = tensor_of(head(tokens), 1, 2, USUAL.d_out)
        again = tensor_of(head(tokens), 1, 2, USUAL.d_out)
    except (StudentFault, CheckFailed, RolesUnknown):
        return False
    apart = {float(plain[role].double().sum()) for role in ROLES if role in plain}
    return (
        same(again, once)
        and len(apart) == len(ROLES)
        and not any(f"{role}_bias" in plain for role in ROLES)
        and all(f"{role}_bias" in biased for role in ROLES)
    )


def weights_by_role(module: ModuleProxy, sizes: Sizes, output: bool = False) -> dict[str, Tensor]:
    """A module's registered weights, `(d_in, d_out)` by role. Raises `RolesUnknown`."""
    shapes = {path: tuple(entry.shape) for path, entry in module.parameters.items()}
    roles = roles_of(shapes, sizes.d_in, sizes.d_out, output)
    return roles.read(held_by(module))


def heads_of(wrapper: ModuleProxy, count: int) -> list[ModuleProxy]:
    """The wrapper's heads, registered or not, in order."""
    for inside in paths_inside(wrapper):
        for path in inside:
            stem, _, number = path.rpartition(".")
            if number == "0" and stem and f"{stem}.{count - 1}" in inside:
                return [wrapper.child(f"{stem}.{place}") for place in range(count)]
    raise CheckFailed("no list of heads", f"`heads`, a ModuleList of {count} CausalAttention")


def paths_inside(wrapper: ModuleProxy) -> Iterator[list[str]]:
    """Paths of modules within: told by their parameters, or else by looking inside."""
    yield list(dict.fromkeys(".".join(path.split(".")[:2]) for path in wrapper.parameters))
    yield [path for path, _ in (*wrapper.submodules, *wrapper.hidden_modules)]


def head_roles(head: ModuleProxy, sizes: Sizes) -> Roles | None:
    """The roles of a head's parameters, where they can be told."""
    try:
        return roles_of(shapes_of(head), sizes.d_in, sizes.d_out, output=False)
    except RolesUnknown:
        return None


def armed(
    student: Student, sample: Sample, sizes: Sizes, dropout: float = 0.0
) -> tuple[ModuleProxy, list[ModuleProxy]]:
    """A wrapper in eval mode whose heads hold known, different weights."""
    wrapper = make(student, WRAPPER, sizes, dropout)
    heads = heads_of(wrapper, sizes.heads)
    for number, head in enumerate(heads):
        roles = head_roles(head, sizes)
        if roles is not None:
            head.set(roles.settings(head_weights(sample, sizes, number)))
    wrapper.eval()
    for head in heads:
        head.eval()
    return wrapper, heads


def head_weights(sample: Sample, sizes: Sizes, number: int) -> dict[str, Tensor]:
    """Weights of one head, `(d_in, d_out)` by role."""
    return sample.weights(f"head {number}", replace(sizes, heads=0))


def real_tensors(module: ModuleProxy) -> dict[str, Tensor]:
    """A module's parameters and buffers by path, as far as their numbers could travel."""
    return {path: held for path, held in module.tensors().items() if isinstance(held, Tensor)}


def head_output(head: ModuleProxy, tokens: Tensor, sizes: Sizes) -> Tensor:
    """What one head gives, `(b, T, d_out)`."""
    return tensor_of(head(tokens), *tokens.shape[:-1], sizes.d_out)


@values(of=WRAPPER)
@pytest.mark.parametrize("sizes", [USUAL, OTHER], ids=["usual", "other"])
def test_heads_stand_side_by_side(
    sizes: Sizes, headed: Student, sample: Sample, observe: Observer
) -> None:
    """The output is the outputs of the wrapper's own heads, joined along the last dimension."""
    wrapper, heads = armed(headed, sample, sizes)
    tokens = sample.tokens("strong", sizes)
    parts = tuple(head_output(head, tokens, sizes) for head in heads)
    observe(Given(tokens=tokens, parts=parts), lambda: wrapper.ask(tokens, operators=True))


@setting("stacking", of=WRAPPER)
def test_any_number_of_tokens_works(headed: Student, sample: Sample, observe: Observer) -> None:
    """From one token to all that `context_length` allows."""
    wrapper, heads = armed(headed, sample, OTHER)
    for count in (1, OTHER.context_length):
        tokens = sample.tokens("length", replace(OTHER, tokens=count, batch=1))
        parts = tuple(head_output(head, tokens, OTHER) for head in heads)
        observe(Given(tokens=tokens, parts=parts), partial(wrapper.ask, tokens))


@dependence(of=WRAPPER)
def test_output_depends_on_queries_and_keys_of_the_heads(headed: Student, sample: Sample) -> None:
    """Other query and key weights in the heads give another output; the same ones the same."""
    wrapper, heads = armed(headed, sample, USUAL)
    tokens = sample.tokens("strong", USUAL)
    shape = (USUAL.batch, USUAL.tokens, USUAL.heads * USUAL.d_out)
    once, again = (tensor_of(wrapper(tokens), *shape) for _ in range(2))
    require(same(again, once), "another output at the second call", "the same output twice")
    for number, head in enumerate(heads):
        roles = head_roles(head, USUAL)
        if roles is None:
            return
        weights = head_weights(sample, USUAL, number)
        for role in ("query", "key"):
            weights[role] = sample.numbers(f"other {number} {role}", *weights[role].shape)
        head.set(roles.settings(weights))
    require(
        not same(tensor_of(wrapper(tokens), *shape), once),
        "the same output whatever the heads' queries and keys are",
        "an output that depends on scores between tokens",
    )


@criterion("stacking", of=WRAPPER)
def test_output_is_as_wide_as_all_heads_together(headed: Student, sample: Sample) -> None:
    """`(b, T, H * d_out)`."""
    wrapper, _ = armed(headed, sample, USUAL)
    found = wrapper(sample.tokens("strong", USUAL))
    tensor_of(found, USUAL.batch, USUAL.tokens, USUAL.heads * USUAL.d_out)


@own("stacking", of=WRAPPER)
def test_every_head_has_weights_of_its_own(headed: Student, sample: Sample) -> None:
    """Heads that were given different weights keep them apart."""
    _, heads = armed(headed, sample, USUAL)
    for number, head in enumerate(heads):
        roles = head_roles(head, USUAL)
        if roles is None:
            return
        held = roles.read(real_tensors(head))
        require(
            "value" not in held
            or same(held["value"], head_weights(sample, USUAL, number)["value"]),
            "heads that share their weights: one module stands in the list several times",
            "a module of its own for every head",
            misconception="one-head-repeated",
        )


@own("stacking", of=WRAPPER)
def test_heads_get_the_dropout_rate(
    headed: Student, sample: Sample, findings: dict[str, bool]
) -> None:
    """A wrapper built with dropout drops in training, where a head of its own does."""
    _, heads = armed(headed, sample, USUAL, dropout=0.5)
    tokens = sample.tokens("strong", USUAL)

    def varies(module: ModuleProxy) -> bool:
        kept = head_output(module.eval(), tokens, USUAL)
        return not same(head_output(module.train(), tokens, USUAL), kept)

    stands_in = not findings[CAUSAL]  # whose dropout is right
    if stands_in or varies(make(headed, CAUSAL, replace(USUAL, heads=0), dropout=0.5)):
        require(
            all(varies(head) for head in heads),
            "heads that drop nothing in training",
            "heads built with the wrapper's dropout rate",
        )


@own("state", of=WRAPPER)
def test_heads_are_a_module_list(headed: Student) -> None:
    """`heads` is a ModuleList, so that the heads' weights are the wrapper's parameters."""
    wrapper = make(headed, WRAPPER, USUAL)
    registered = {path for path, _ in wrapper.submodules}
    hidden = {path for path, _ in wrapper.hidden_modules}
    if "heads.0" not in registered:
        require(
            "heads.0" not in hidden,
            "heads in a plain list",
            "heads in an nn.ModuleList",
            misconception="heads-in-list",
        )
        raise CheckFailed("no `heads`", f"`heads`, a ModuleList of {USUAL.heads} CausalAttention")
    require(
        f"heads.{USUAL.heads - 1}" in registered and f"heads.{USUAL.heads}" not in registered,
        "another number of heads",
        f"{USUAL.heads} heads",
    )


@own("state", of=WRAPPER)
def test_bias_reaches_the_heads(headed: Student) -> None:
    """With `qkv_bias=True` the heads have biases, where a head of its own has."""

    # A head that follows `qkv_bias` stands here: the student's own, or one in its place.
    for sizes, misconception in ((BIASED, "bias-ignored"), (USUAL, "bias-always")):
        heads = heads_of(make(headed, WRAPPER, sizes), sizes.heads)
        found = [f"W_{role}.bias" in head.parameters for head in heads for role in ROLES]
        require(
            all(found) if sizes.bias else not any(found),
            f"heads {'without' if sizes.bias else 'with'} bias with qkv_bias={sizes.bias}",
            "heads built with the wrapper's `qkv_bias`",
            misconception=misconception,
        )


# merge_heads --------------------------------------------------------------------------------


@own("equivalence", of="merge_heads")
@pytest.mark.parametrize("sizes", [USUAL, BIASED], ids=["plain", "biased"])
def test_merged_module_holds_the_weights_of_the_heads(
    sizes: Sizes, headed: Student, sample: Sample
) -> None:
    """Each split weight is the heads' weights side by side; `out_proj` does nothing."""
    wrapper, heads = armed_to_merge(headed, sample, sizes)
    before = [held_by(head) for head in heads]
    joined = replace(sizes, d_out=sizes.heads * sizes.d_out)
    able, shapes = holdable(headed, sample, joined)
    merged = headed.merge_heads(wrapper)
    if not isinstance(merged, ModuleProxy):
        raise CheckFailed(f"{told_type(merged)} came back", "a MultiHeadAttention")
    for path, shape in shapes.items():
        found = merged.parameters[path].shape if path in merged.parameters else ()
        require(
            tuple(found) == shape,
            f"`{path}` of shape {told_shape(found)}",
            f"shape {told_shape(shape)}",
            misconception="merge-transposed",
        )
    compare_merged(merged, heads, joined, able)
    for head, was in zip(heads, before, strict=True):
        head.forget_tensors()
        after = held_by(head)
        require(
            all(path in after and is_still(after[path], was[path]) for path in was),
            "a wrapper whose weights have changed",
            "a wrapper left as it was",
        )


def compare_merged(
    merged: ModuleProxy, heads: list[ModuleProxy], joined: Sizes, able: set[str]
) -> None:
    """Role by role, as far as the student's own module can hold it."""
    apart = replace(joined, d_out=joined.d_out // joined.heads)
    try:
        now = weights_by_role(merged, joined, output=True)
        parts = [weights_by_role(head, apart) for head in heads]
    except RolesUnknown as unknown:
        raise NotSeen("weights under unknown names", f"weights called {unknown.role}") from unknown
    for role in sorted(able - {"output", "output_bias"}):
        if not all(role in part for part in parts):
            continue  # the heads have no such bias
        rows = {tuple(part[role].shape[:-1]) for part in parts}
        require(
            role in now and len(rows) == 1, f"no {role} weights", "the heads' weights, side by side"
        )
        wanted = torch.cat([part[role] for part in parts], dim=-1)
        require(
            now[role].shape == wanted.shape and same(now[role], wanted),
            f"other numbers in the {role.replace('_', ' ')}",
            "the heads' weights, head after head",
            misconception="merge-transposed",
        )
    width = joined.d_out
    identity = "output" not in able or ("output" in now and same(now["output"], torch.eye(width)))
    silent = "output_bias" not in able or not bool((now["output_bias"].abs() > 1e-7).any())
    require(
        identity and silent,
        "an `out_proj` that changes what the heads found",
        "the identity as weight of `out_proj`, its bias zero",
        misconception="merge-identity-missing",
    )


def armed_to_merge(
    student: Student, sample: Sample, sizes: Sizes
) -> tuple[ModuleProxy, list[ModuleProxy]]:
    """A wrapper to be merged, with a dropout rate of 0.25."""
    try:
        return armed(student, sample, sizes, dropout=0.25)
    except (StudentFault, CheckFailed) as fault:
        raise NotSeen(f"{WRAPPER} that cannot be built", "a wrapper to merge") from fault


def held_by(module: ModuleProxy) -> dict[str, Tensor]:
    """A module's parameters by path, as far as they are real matrices and vectors."""
    return {
        path: held
        for path, held in real_tensors(module).items()
        if path in module.parameters and held.is_floating_point()
    }


def holdable(
    student: Student, sample: Sample, sizes: Sizes
) -> tuple[set[str], dict[str, tuple[int, ...]]]:
    """The roles that the student's own split module can hold apart, and its parameters' shapes.

    A role that it cannot hold (a shared layer, biases that are ignored, no output projection) is
    judged with the module itself, not once more here.
    """
    try:
        module = make(student, "MultiHeadAttention", sizes)
        shapes = {path: tuple(entry.shape) for path, entry in module.parameters.items()}
        roles = roles_of(shapes, sizes.d_in, sizes.d_out, output=True)
        wanted = sample.weights("held", sizes)
        module.set(roles.settings(wanted))
        held = roles.read(held_by(module))
    except (StudentFault, CheckFailed, RolesUnknown):
        return set(), {}
    able = {role for role in held if role in wanted and same(held[role], wanted[role])}
    kept = {roles.places[role].path for role in able}
    return able, {path: shape for path, shape in shapes.items() if path in kept}


@own("equivalence", of="merge_heads")
def test_merged_module_keeps_the_dropout_rate(headed: Student, sample: Sample) -> None:
    """Where the module keeps its rate in a dropout layer, it is the wrapper's."""
    wrapper, _ = armed_to_merge(headed, sample, USUAL)
    merged = headed.merge_heads(wrapper)
    if not isinstance(merged, ModuleProxy):
        raise CheckFailed(f"{told_type(merged)} came back", "a MultiHeadAttention")
    layers = [path for path, kind in merged.submodules if kind == "Dropout"]
    rates = [merged.attributes.get(f"{path}.p") for path in layers]
    require(
        all(rate is None or rate == 0.25 for rate in rates),
        "another dropout rate than the wrapper's",
        "the wrapper's dropout rate",
    )


# gpt2_attention -----------------------------------------------------------------------------

GPT2 = Sizes(d_in=768, d_out=768, tokens=16, batch=1, context_length=1024, heads=12)


@own("gpt2", of="gpt2_attention")
def test_gpt2_attention_has_the_sizes_of_the_smallest_gpt2(
    student: Student, sample: Sample
) -> None:
    """768 columns in and out, 12 heads, 1024 tokens, seen from its weights and one short run."""
    module = student.gpt2_attention()
    if not isinstance(module, ModuleProxy):
        raise CheckFailed(f"{told_type(module)} came back", "a MultiHeadAttention")
    module.eval()
    try:
        roles = roles_of(shapes_of(module), GPT2.d_in, GPT2.d_out, output=True)
    except RolesUnknown:
        return  # weights under unknown names are judged with the class itself
    for role in ("query", "key", "value", "output"):
        place = roles.places.get(role)
        shape = (768, 768) if place is None else module.parameters[place.path].shape
        if tuple(shape) != (768, 768):
            raise sizes_differ(f"a weight of shape {told_shape(shape)}")
    for path, entry in module.buffers.items():
        shape = tuple(entry.shape)
        odd = len(shape) >= 2 and shape[-1] == shape[-2] != GPT2.context_length
        if odd and follows_context(student, path):
            raise sizes_differ(f"`{path}` of shape {told_shape(shape)}")
    tokens = sample.tokens("gpt2", GPT2)
    try:
        found = tensor_of(module(tokens), 1, 16, 768)
    except StudentFault:
        return  # what its forward does is judged with the class itself
    except CheckFailed as failed:
        raise sizes_differ(failed.found) from failed
    if heads_told(module) == {GPT2.heads}:
        return
    weights = roles.read(real_tensors(module))
    if not {"query", "key", "value", "output"} <= weights.keys():
        return  # weights that are no parameters are judged with the class itself
    if not fits(found, tokens, weights, GPT2.heads) and any(
        fits(found, tokens, weights, heads) for heads in (1, 2, 3, 4, 6, 8, 16, 24, 32, 48, 64)
    ):
        raise sizes_differ("another number of heads")


def follows_context(student: Student, path: str) -> bool:
    """Whether the class sizes this buffer by `context_length` when it is built with other sizes."""
    usual = replace(USUAL, d_out=15)
    buffers = make(student, "MultiHeadAttention", usual).buffers
    return path in buffers and buffers[path].shape[-1] == usual.context_length


def heads_told(module: ModuleProxy) -> set[int]:
    """What the module keeps under a name like `num_heads`: it saves fetching all weights."""
    return {
        value
        for path, value in module.attributes.items()
        if re.fullmatch(r"(num|n)?_?heads?|h", path.lower()) and type(value) is int
    }


def fits(found: Tensor, tokens: Tensor, weights: dict[str, Tensor], heads: int) -> bool:
    """Whether a right module with so many heads gives this output."""
    given = Given(tokens=tokens, weights=weights, heads=heads)
    expected = Explanation().expected(CHAINS["MultiHeadAttention"], given)
    return expected is not None and same(found, expected)


def sizes_differ(found: str) -> CheckFailed:
    """Not the smallest GPT-2."""
    return CheckFailed(found, "768 columns, 12 heads, 1024 tokens", misconception="gpt2-sizes")
