"""What a module keeps: weights by name, biases, gradients, a mask, and nothing between calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial

import torch
from msgspec import structs
from torch import Tensor

from autograder.attention.chain import Given
from autograder.attention.checks.roles import CONTRACT, RolesUnknown, roles_of
from autograder.attention.checks.subject import (
    Subject,
    make,
    plain_tensors,
    tensor_of,
    told_type,
)
from autograder.attention.sample import Sample, Sizes
from autograder.checks.failures import CheckFailed, require, told_shape
from autograder.diagnosis.chain import Chain, StepRaises, run
from autograder.diagnosis.compare import same
from autograder.diagnosis.explain import Explanation
from autograder.sandbox.host.student import ModuleProxy, Reply, Student, StudentFault

#: What may follow a role's name in the path of its weight.
ENDINGS = ("", ".weight")


def weights_are_named(module: ModuleProxy, sizes: Sizes, layers: bool, output: bool) -> None:
    """The contract's names hold weights of the contract's shapes, registered as parameters."""
    shapes = {path: tuple(entry.shape) for path, entry in module.parameters.items()}
    roles = ("query", "key", "value", "output") if output else ("query", "key", "value")
    named = [
        f"{CONTRACT[role]}{ending}" for role in ("query", "key", "value") for ending in ENDINGS
    ]
    require(
        any(path in module.parameters for path in named)
        or len(module.parameters) > 2 * output
        or not plain_tensors(module),
        "weights that PyTorch does not know of: they are no parameters",
        "registered parameters",
        misconception="unregistered-parameters",
    )
    for role in roles:
        path = f"{CONTRACT[role]}.weight" if layers or role == "output" else CONTRACT[role]
        rows = sizes.d_out if role == "output" else sizes.d_in
        width = sizes.width(role)
        expected = (width, rows) if layers or role == "output" else (rows, width)
        if path not in shapes:
            plain = {place.split(".")[0] for place in plain_tensors(module)}
            if CONTRACT[role] in plain:
                raise CheckFailed(
                    f"`{CONTRACT[role]}` as a plain tensor",
                    "a registered parameter",
                    misconception="unregistered-parameters",
                )
            if role == "output" and not _is_elsewhere(role, shapes, sizes):
                continue  # its absence shows in the output and is judged there
            found = ", ".join(f"`{place}`" for place in list(shapes)[:8]) or "no parameters"
            raise CheckFailed(found, f"a parameter `{path}`", misconception="names-differ")
        require(
            shapes[path] == expected,
            f"`{path}` of shape {told_shape(shapes[path])}",
            f"shape {told_shape(expected)}",
        )
        require(
            module.parameters[path].requires_grad,
            f"`{path}` that needs no gradient",
            "a weight that is trained",
            misconception="gradient-cut",
        )


def _is_elsewhere(role: str, shapes: Mapping[str, tuple[int, ...]], sizes: Sizes) -> bool:
    """Whether a weight plays the role under another name than the contract's."""
    try:
        roles = roles_of(shapes, sizes.d_in, sizes.d_out, True, sizes.key_width)
        return role in roles.places
    except RolesUnknown:
        return False


def bias_follows(student: Student, name: str, sizes: Sizes) -> None:
    """Biases of query, key and value are there with `qkv_bias=True` and only then."""
    biased = _or_fault(partial(make, student, name, structs.replace(sizes, bias=True)))
    plain = _or_fault(partial(make, student, name, sizes))
    for wanted, module in ((False, plain), (True, biased)):
        if isinstance(module, StudentFault):
            raise module
        if len(module.parameters) <= 2 * bool(sizes.heads):
            return  # weights that are no parameters are judged as such
        shapes = {path: tuple(entry.shape) for path, entry in module.parameters.items()}
        try:
            places = roles_of(shapes, sizes.d_in, sizes.d_out, False, sizes.key_width).places
        except RolesUnknown:
            return  # weights under unknown names are judged as such
        there = [role for role in ("query", "key", "value") if f"{role}_bias" in places]
        if wanted:
            require(
                len(there) == 3,
                f"{len(there)} of 3 biases with qkv_bias=True",
                "a bias in each of the three layers",
                misconception="bias-ignored",
            )
        else:
            require(
                not there,
                f"{len(there)} biases with qkv_bias=False",
                "no bias in the three layers",
                misconception="bias-always",
            )


def _or_fault(build: Callable[[], ModuleProxy]) -> ModuleProxy | StudentFault:
    """What was built, or what kept it from being built, for when its turn comes."""
    try:
        return build()
    except StudentFault as fault:
        return fault


def learns_and_keeps_nothing_else(subject: Subject, sample: Sample, tokens: Tensor) -> None:
    """Calls do not depend on earlier ones, and gradients reach every weight; in one frame."""
    between = sample.numbers("between", *tokens.shape)
    cotangent = sample.numbers("cotangent", *tokens.shape[:-1], subject.sizes.d_out)
    module = subject.module
    calls = [module.asked(text) for text in (tokens, between, tokens)]
    replies = module.ask_each([*calls, module.asked(tokens, cotangent=cotangent)])
    first, _, again = [tensor_of(next(replies).value, *cotangent.shape) for _ in calls]
    nothing_is_remembered(first, again)
    gradients_arrive(subject, tokens, next(replies))


def nothing_is_remembered(first: Tensor, again: Tensor) -> None:
    """Two calls in eval mode gave the same, with another call between them."""
    require(
        same(again, first),
        "a different output at the second call",
        "the same output for the same input in eval mode",
        misconception="weights-made-anew",
        unsteady=True,
    )


def gradients_arrive(subject: Subject, tokens: Tensor, reply: Reply) -> None:
    """Every weight got a gradient, and none that is zero (the key's bias excepted)."""
    tensor_of(reply.value, *tokens.shape[:-1], subject.sizes.d_out)
    given = subject.given(tokens)
    for role, place in subject.roles.places.items():
        if role == "key_bias" or place.path not in subject.module.parameters:
            continue
        if role.startswith("output") and role not in subject.weights:
            continue
        gradient = (reply.gradients or {}).get(place.path)
        if gradient is None or not _says_something(gradient):
            raise CheckFailed(
                f"no gradient for `{place.path}`",
                "a gradient for every weight",
                misconception="gradient-cut",
                excuse=partial(reaches_nobody, given, role),
            )


def _says_something(gradient: Tensor) -> bool:
    """Whether some number in it is finite and not zero."""
    if gradient.numel() and 0.0 < float(torch.linalg.vector_norm(gradient, math.inf)) < math.inf:
        return True  # the largest is: the usual case, one operation
    return bool(((gradient != 0) & torch.isfinite(gradient)).any())


def reaches_nobody(given: Given, role: str, chain: Chain, explanation: Explanation) -> bool:
    """Whether the known mistakes alone leave a weight without a gradient."""
    weights = {name: held.clone().requires_grad_(True) for name, held in given.weights.items()}
    try:
        with torch.enable_grad():
            output = run(chain, structs.replace(given, weights=weights), explanation.replaced)
            (gradient,) = torch.autograd.grad(output.sum(), [weights[role]], allow_unused=True)
    except (StepRaises, RuntimeError, IndexError, KeyError):
        return True
    return gradient is None or not bool((gradient.abs() > 0).any())


def one_tensor_comes_back(subject: Subject, tokens: Tensor) -> None:
    """The output is a single tensor of the promised shape, and the input is unchanged."""
    reply = subject.module.ask(tokens, arguments=True)
    value, after = reply.value, next(iter(reply.arguments), None)
    if not isinstance(value, Tensor):
        raise CheckFailed(told_type(value), "one tensor")
    shape = (*tokens.shape[:-1], subject.sizes.d_out)
    require(
        tuple(value.shape) == shape,
        f"shape {told_shape(value.shape)}",
        f"shape {told_shape(shape)}",
    )
    require(
        isinstance(after, Tensor)
        and after.dtype == tokens.dtype
        and after.shape == tokens.shape
        and torch.equal(after, tokens),
        "an input that the call changed",
        "an unchanged input",
    )


def mask_moves_along(module: ModuleProxy, sizes: Sizes) -> None:
    """A mask that is kept is a buffer: no plain tensor of its size hangs on the module."""
    length = sizes.context_length
    for path, entry in plain_tensors(module).items():
        shape = tuple(entry.shape)
        require(
            not (len(shape) >= 2 and shape[-1] >= length and shape[-2] >= length),
            f"a plain tensor `{path}` of shape {told_shape(shape)}",
            "a buffer, or a mask made in `forward`",
            misconception="mask-no-buffer",
        )
