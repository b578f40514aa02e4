"""Stage 4: the exercises, `merge_heads` and `gpt2_attention`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
from msgspec.structs import replace
from torch import Tensor

from autograder.attention.chain import Given
from autograder.attention.checks.causal_modules import NAMES as MODULES
from autograder.attention.checks.functions import is_still
from autograder.attention.checks.heads import (
    USUAL,
    WRAPPER,
    armed,
    held_by,
    real_tensors,
    weights_by_role,
)
from autograder.attention.checks.multi_head_wrapper import BIASED
from autograder.attention.checks.roles import Roles, RolesUnknown, roles_of
from autograder.attention.checks.subject import (
    make,
    settle,
    settled_roles,
    shapes_of,
    tensor_of,
    told_type,
)
from autograder.attention.misconceptions.multi_head import CHAINS
from autograder.attention.names import Function
from autograder.attention.sample import Sample, Sizes
from autograder.checks.failures import CheckFailed, NotSeen, require, told_shape
from autograder.checks.marks import cases, own
from autograder.diagnosis.compare import same
from autograder.diagnosis.explain import Explanation
from autograder.sandbox.host.student import ModuleProxy, Student, StudentFault, StudentRaised

NAMES = {name: Function(name) for name in ("merge_heads", "gpt2_attention")}


@own("equivalence", of="merge_heads")
@cases("sizes", [USUAL, BIASED], labels=["plain", "biased"])
def merged_module_holds_the_weights_of_the_heads(
    sizes: Sizes, student: Student, sample: Sample
) -> None:
    """Each split weight is the heads' weights side by side; `out_proj` does nothing."""
    wrapper, heads = armed_to_merge(student, sample, sizes)
    joined = replace(sizes, d_out=sizes.heads * sizes.d_out)
    if sizes.bias and not any(path.endswith("bias") for head in heads for path in head.parameters):
        return  # heads that were given no bias are judged with the wrapper or with their class
    own, able, shapes, roles = holdable(student, sample, joined)
    before: list[dict[str, Tensor]] = []

    def merge() -> object:
        seen = student.merge_heads.watched(wrapper, before=heads)
        for head in heads:
            head.know(next(seen))
            before.append(held_by(head))
        return next(seen).value

    try:
        merged = must_be_split(built(student, merge), own)
    except StudentRaised:
        if not able or able >= sample.weights("held", joined).keys():
            raise
        # It may have raised for what its class cannot hold, which is judged there.
        if sizes.bias:
            return
        raise NotSeen("a MultiHeadAttention that lacks a weight", "one to merge into") from None
    for path, shape in shapes.items():
        found = merged.parameters[path].shape if path in merged.parameters else ()
        require(
            tuple(found) == shape,
            f"`{path}` of shape {told_shape(found)}",
            f"shape {told_shape(shape)}",
            misconception="merge-transposed",
        )
    student.fetch([merged, *heads])
    compare_merged(merged, heads, joined, able, roles)
    for head, was in zip(heads, before, strict=True):
        after = held_by(head)
        require(
            all(path in after and is_still(after[path], was[path]) for path in was),
            "a wrapper whose weights have changed",
            "an unchanged wrapper",
        )


def built(student: Student, build: Callable[[], Any]) -> Any:
    """What an exercise builds; not seen where the class itself cannot be built."""
    try:
        return build()
    except StudentRaised:
        try:
            make(student, "MultiHeadAttention", replace(USUAL, d_out=15))
        except StudentFault as fault:
            told = "MultiHeadAttention that cannot be built"
            raise NotSeen(told, "one to build from") from fault
        raise


def must_be_split(module: object, own: ModuleProxy | None) -> ModuleProxy:
    """Fail unless a module of the student's `own` MultiHeadAttention came back.

    Where the class itself cannot be built, nothing can be told of what is made of it.
    """
    if not isinstance(module, ModuleProxy):
        raise CheckFailed(f"{told_type(module)} came back", "a MultiHeadAttention")
    if own is None:
        raise NotSeen("MultiHeadAttention that cannot be built", "one to compare with")
    require(
        module.class_name == own.class_name and module.parameters.keys() >= own.parameters.keys(),
        f"a {module.class_name} came back",
        "a MultiHeadAttention",
    )
    return module


def own_split(student: Student, sizes: Sizes) -> ModuleProxy | None:
    """The student's own MultiHeadAttention, where it can be built."""
    try:
        return make(student, "MultiHeadAttention", sizes)
    except (StudentFault, CheckFailed):
        return None


def compare_merged(
    merged: ModuleProxy,
    heads: list[ModuleProxy],
    joined: Sizes,
    able: set[str],
    roles: Roles | None,
) -> None:
    """Role by role, as far as the student's own module can hold it."""
    apart = replace(joined, d_out=joined.d_out // joined.heads)
    try:
        if roles is None:
            roles = roles_of(shapes_of(merged), joined.d_in, joined.d_out, output=True)
        now = roles.read(held_by(merged))
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


def holdable(
    student: Student, sample: Sample, sizes: Sizes
) -> tuple[ModuleProxy | None, set[str], dict[str, tuple[int, ...]], Roles | None]:
    """The student's own split module, and what it can hold.

    Returns:
        The module, the roles that it can hold apart, its parameters' shapes by path, and where the
        roles lie; None and nothing where it cannot be built.

    A role that it cannot hold (a shared layer, biases that are ignored, no output projection) is
    judged with the module itself, not once more here.
    """
    module = own_split(student, sizes)
    if module is None:
        return None, set(), {}, None
    try:
        shapes = {path: tuple(entry.shape) for path, entry in module.parameters.items()}
        roles = settled_roles(module, sample, MODULES["MultiHeadAttention"], sizes)
        wanted = sample.weights("held", sizes)
        settle(module, roles, wanted)
        held = roles.read(held_by(module))
    except (StudentFault, CheckFailed, RolesUnknown):
        return module, set(), {}, None
    able = {role for role in held if role in wanted and same(held[role], wanted[role])}
    kept = {roles.places[role].path for role in able}
    return module, able, {path: shape for path, shape in shapes.items() if path in kept}, roles


@own("equivalence", of="merge_heads")
def merged_module_keeps_the_dropout_rate(student: Student, sample: Sample) -> None:
    """The merged module has the wrapper's dropout rate."""
    alone = replace(USUAL, heads=1)
    wrapper, _ = armed_to_merge(student, sample, alone)
    merged = built(student, lambda: student.merge_heads(wrapper))
    if not isinstance(merged, ModuleProxy):
        raise CheckFailed(f"{told_type(merged)} came back", "a MultiHeadAttention")
    rates = rates_of(merged)
    if all(rate == 0.25 for rate in rates):
        return
    # A class that keeps another rate than it is given is judged itself, not once more here.
    require(
        rates == rates_of(make(student, "MultiHeadAttention", alone, dropout=0.25)),
        "another dropout rate than the wrapper's",
        "the wrapper's dropout rate",
    )


def rates_of(module: ModuleProxy) -> list[float]:
    """The rates of a module's dropout layers, in order."""
    layers = [path for path, kind in module.submodules if kind == "Dropout"]
    held = [module.attributes.get(f"{path}.p") for path in layers]
    return [float(rate) for rate in held if isinstance(rate, float | int)]


GPT2 = Sizes(d_in=768, d_out=768, tokens=16, batch=1, context_length=1024, heads=12)


@own("gpt2", of="gpt2_attention")
def gpt2_attention_has_the_sizes_of_the_smallest_gpt2(student: Student, sample: Sample) -> None:
    """768 features in and out, 12 heads, 1024 tokens."""
    own = own_split(student, replace(USUAL, d_out=15))
    if own is not None and is_gpt2_unfilled(student, own):
        return
    module = must_be_split(built(student, student.gpt2_attention), own)
    module.eval()
    for path, entry in module.parameters.items():
        if set(entry.shape) - {GPT2.d_out, 3 * GPT2.d_out}:  # three in one where they are fused
            raise sizes_differ(f"`{path}` of shape {told_shape(entry.shape)}")
    try:
        roles = roles_of(shapes_of(module), GPT2.d_in, GPT2.d_out, output=True)
    except RolesUnknown as unknown:
        raise NotSeen("weights under unknown names", "weights of known sizes") from unknown
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
    if fits(found, tokens, weights, GPT2.heads):
        return
    if any(fits(found, tokens, weights, heads) for heads in (1, 2, 3, 4, 6, 8, 16, 24, 32, 48, 64)):
        raise sizes_differ("another number of heads")
    # Where the class itself is wrong, what it says of itself is all there is to go by.
    told = {
        value
        for path, value in module.attributes.items()
        if path.lower() in NUMBER_OF_HEADS and type(value) is int
    }
    if told and GPT2.heads not in told:
        raise sizes_differ("another number of heads")


#: Under these names a module keeps its number of heads and nothing else.
NUMBER_OF_HEADS = ("num_heads", "n_heads", "nheads", "n_head", "num_head", "numheads")


def is_gpt2_unfilled(student: Student, own: ModuleProxy) -> bool:
    """Whether it is right for sure, told without numbers: 2 million weights take their time.

    Anything else than yes means that it has to be looked at in earnest.
    """
    try:
        module = must_be_split(student.call("gpt2_attention", unfilled=True).value, own)
        roles_of(shapes_of(module), GPT2.d_in, GPT2.d_out, output=True)
        heads = heads_told(module)
    except (StudentFault, CheckFailed, RolesUnknown):
        return False
    masks = [tuple(entry.shape)[-2:] for entry in module.buffers.values() if len(entry.shape) > 1]
    return (
        len(module.parameters) >= len(own.parameters)
        and all(set(entry.shape) == {GPT2.d_out} for entry in module.parameters.values())
        and all(shape == (GPT2.context_length, GPT2.context_length) for shape in masks)
        and heads == {GPT2.heads}
    )


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
