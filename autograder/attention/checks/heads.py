"""The heads of a student's wrapper: found, given known weights, or stood in for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from msgspec.structs import replace
from torch import Tensor

from autograder.attention.checks.roles import Roles, RolesUnknown, roles_of
from autograder.attention.checks.subject import make, make_each, settle, shapes_of, tensor_of
from autograder.attention.sample import Sample, Sizes
from autograder.checks.check_spec import BuiltOn
from autograder.checks.failures import CheckFailed
from autograder.diagnosis.compare import same
from autograder.sandbox.host.asking import Counted
from autograder.sandbox.host.student import ModuleProxy, Reply, Student, StudentFault

WRAPPER = "MultiHeadAttentionWrapper"


ROLES = ("query", "key", "value")


CAUSAL = "CausalAttention"


USUAL = Sizes(d_in=7, d_out=5, tokens=6, batch=2, context_length=11, heads=3)


OTHER = Sizes(d_in=4, d_out=3, tokens=8, batch=3, context_length=8, heads=2)


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


def runs(student: Student) -> bool:
    """Whether the student's own head can serve: it runs, holds weights, gives the same twice.

    What it gives need not be right; that is judged with the head itself.
    """
    sizes = replace(USUAL, heads=0)
    try:
        head, with_bias = make_each(student, CAUSAL, (sizes, replace(sizes, bias=True)))
        student.fetch((head, with_bias))
        plain, biased = (weights_by_role(each, sizes) for each in (head, with_bias))
        once, again = outputs(head.eval(), USUAL, [(USUAL.batch, USUAL.tokens)] * 2)
        other = make(student, CAUSAL, replace(OTHER, heads=0)).eval()
        outputs(other, OTHER, [(OTHER.batch, OTHER.tokens), (1, 1)])
    except (StudentFault, CheckFailed, RolesUnknown):
        return False
    apart = {float(plain[role].double().sum()) for role in ROLES if role in plain}
    return (
        same(again, once)
        and len(apart) == len(ROLES)
        and not any(f"{role}_bias" in plain for role in ROLES)
        and all(f"{role}_bias" in biased for role in ROLES)
    )


def outputs(head: ModuleProxy, sizes: Sizes, lengths: Sequence[tuple[int, int]]) -> list[Tensor]:
    """A head's outputs for some numbers of texts and of tokens, of the wrapper's sizes."""
    shapes = [(batch, tokens, sizes.d_in) for batch, tokens in lengths]
    texts = [torch.linspace(-1, 1, math.prod(shape)).reshape(shape) for shape in shapes]
    replies = head.ask_each([head.asked(text) for text in texts])
    return [head_output(next(replies), text, sizes) for text in texts]


def takes_bias(student: Student) -> bool:
    """Whether the student's own head, where it can be built, takes `qkv_bias`."""
    try:
        head = make(student, CAUSAL, replace(USUAL, heads=0, bias=True))
    except (StudentFault, CheckFailed):
        return True
    return "qkv_bias" not in head.dropped


def serves(student: Student) -> dict[str, bool]:
    """What there is to know of the student's own head before a wrapper is judged."""
    able = runs(student)
    return {CAUSAL: able, TAKES_BIAS: able or takes_bias(student)}


#: Whether a head of the student's own has an argument for a bias.
TAKES_BIAS = "CausalAttention takes qkv_bias"

#: What a wrapper is built on: the student's own head, or a stand-in where that cannot be run.
HEAD = BuiltOn(CAUSAL, STAND_IN, serves, {CAUSAL: True, TAKES_BIAS: True})


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
                return wrapper.children([f"{stem}.{place}" for place in range(count)])
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


def roles_of_heads(student: Student, sizes: Sizes) -> list[Roles | None]:
    """The roles in each head of a wrapper."""
    heads = heads_of(make(student, WRAPPER, sizes), sizes.heads)
    return [head_roles(head, sizes) for head in heads]


def armed(
    student: Student, sample: Sample, sizes: Sizes, dropout: float = 0.0
) -> tuple[ModuleProxy, list[ModuleProxy]]:
    """A wrapper in eval mode whose heads hold known, different weights."""
    wrapper = make(student, WRAPPER, sizes, dropout)
    heads = heads_of(wrapper, sizes.heads)
    each_roles = [head_roles(head, sizes) for head in heads]
    for number, (head, roles) in enumerate(zip(heads, each_roles, strict=True)):
        if roles is not None:
            settle(head, roles, head_weights(sample, sizes, number))
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


def head_output(reply: Reply, tokens: Tensor, sizes: Sizes) -> Tensor:
    """What one head gave, `(b, T, d_out)`."""
    return tensor_of(reply.value, *tokens.shape[:-1], sizes.d_out)


def heads_and_whole(
    wrapper: ModuleProxy,
    heads: list[ModuleProxy],
    texts: Sequence[Tensor],
    sizes: Sizes,
    counted: Counted,
) -> Iterator[tuple[tuple[Tensor, ...], Callable[[], Reply]]]:
    """For each text what each head gives, `(b, T, d_out)`, and the wrapper's reply; in one frame.

    The reply must be taken before the next text's. counted: which of the wrapper's operators
    (`Observer.counted`).
    """
    calls = []
    for tokens in texts:
        calls += [head.asked(tokens) for head in heads]
        calls.append(wrapper.asked(tokens, **counted))
    replies = wrapper.ask_each(calls)
    for tokens in texts:
        shape = (*tokens.shape[:-1], sizes.d_out)
        parts = tuple([tensor_of(next(replies).value, *shape) for _ in heads])
        yield parts, partial(next, replies)


def held_by(module: ModuleProxy) -> dict[str, Tensor]:
    """A module's parameters by path, as far as they are real matrices and vectors."""
    return {
        path: held
        for path, held in real_tensors(module).items()
        if path in module.parameters and held.is_floating_point()
    }
