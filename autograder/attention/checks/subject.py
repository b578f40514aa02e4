"""A student's module, built and given the weights that a check wants it to have."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from torch import Tensor

from autograder.attention.chain import Given
from autograder.attention.checks.roles import Roles, RolesUnknown, layouts_of
from autograder.attention.names import Module
from autograder.attention.sample import Sample, Sizes
from autograder.checks.failures import CheckFailed, told_shape
from autograder.checks.kept import Kept
from autograder.diagnosis.chain import run
from autograder.diagnosis.compare import same
from autograder.sandbox.host.student import ModuleProxy, Opaque, Parameter, Student, StudentFault


@dataclass
class Subject:
    """A module of the student's with known weights, and what the reference needs to know of it."""

    declared: Module
    module: ModuleProxy
    sizes: Sizes
    weights: Mapping[str, Tensor]
    roles: Roles

    def given(self, tokens: Tensor) -> Given:
        """What the module is called with, for the chain."""
        return self.declared.given(tokens, self.weights, self.sizes)

    def __call__(self, tokens: Tensor) -> Tensor:
        """The module's output, which must be a real tensor of the promised shape."""
        return tensor_of(self.module(tokens), *tokens.shape[:-1], self.sizes.d_out)

    def each(self, texts: Sequence[Tensor], modes: Sequence[bool | None] = ()) -> list[Tensor]:
        """Its outputs for several texts, in one frame; each in a mode, or in the one it is in."""
        calls = [
            self.module.asked(tokens, training=training)
            for tokens, training in itertools.zip_longest(texts, modes)
        ]
        replies = self.module.ask_each(calls)
        return [
            tensor_of(next(replies).value, *tokens.shape[:-1], self.sizes.d_out) for tokens in texts
        ]

    def answers(self, *asked: tuple[Tensor, Mapping[str, Tensor] | None]) -> Iterator[Tensor]:
        """Its outputs for texts, each with weights, or with those that it holds by then.

        All in one frame; what is wrong with one of them is raised in its place.
        """
        calls = [
            self.module.asked(
                tokens, holding=None if weights is None else settings_of(self.roles, weights)
            )
            for tokens, weights in asked
        ]
        replies = self.module.ask_each(calls)
        for tokens, _ in asked:
            yield tensor_of(next(replies).value, *tokens.shape[:-1], self.sizes.d_out)

    def in_modes(self, tokens: Tensor, modes: Sequence[bool]) -> list[Tensor]:
        """Its outputs for the same tokens in training mode or not, one after the other."""
        return self.each([tokens] * len(modes), modes)

    def with_weights(self, weights: Mapping[str, Tensor]) -> Subject:
        """The same module, holding other weights."""
        settle(self.module, self.roles, weights)
        return Subject(self.declared, self.module, self.sizes, dict(weights), self.roles)


def tensor_of(value: object, *shape: int) -> Tensor:
    """The tensor in what came back, which may be one of several; fails for another shape."""
    if isinstance(value, Opaque):
        value = list(value.parts.values())
    if isinstance(value, list):
        tensors = [part for part in value if isinstance(part, Tensor)]
        fitting = [part for part in tensors if tuple(part.shape) == shape]
        value = next(iter(fitting or tensors), None)
    if not isinstance(value, Tensor):
        raise CheckFailed(f"{told_type(value)} came back", "a tensor")
    if tuple(value.shape) != shape:
        raise CheckFailed(
            f"shape {told_shape(value.shape)}",
            f"shape {told_shape(shape)}",
            shape=tuple(value.shape),
        )
    if value.is_complex():
        raise CheckFailed("complex numbers", "real numbers")
    return value.float()


def told_type(value: object) -> str:
    """A value's type in words."""
    if value is None:
        return "nothing (None)"
    if isinstance(value, Opaque):
        return f"a {value.type_name}"
    return "several values" if isinstance(value, list) else f"a {type(value).__name__}"


def constructor_arguments(
    student: Student, name: str, sizes: Sizes, dropout: float
) -> dict[str, object]:
    """The keyword arguments that build `name` with these sizes."""
    known = sizes.arguments(dropout)
    return {parameter: known[parameter] for parameter in student.proxy(name).parameters}


def make(student: Student, name: str, sizes: Sizes, dropout: float = 0.0) -> ModuleProxy:
    """Build a module of the student's with these sizes, with the weights that it gives itself."""
    return next(make_each(student, name, (sizes,), dropout))


def make_each(
    student: Student, name: str, all_sizes: Sequence[Sizes], dropout: float = 0.0
) -> Iterator[ModuleProxy]:
    """The same for several sizes in one frame; what one raises is raised in its place."""
    arguments = [constructor_arguments(student, name, sizes, dropout) for sizes in all_sizes]
    return student.proxy(name).make_each(arguments)


def shapes_of(module: ModuleProxy) -> dict[str, tuple[int, ...]]:
    """Shapes by path of what holds weights: parameters, or else plain tensors of the module."""
    registered = {path: tuple(entry.shape) for path, entry in module.parameters.items()}
    if registered:
        return registered
    return {path: tuple(entry.shape) for path, entry in plain_tensors(module).items()}


def plain_tensors(module: ModuleProxy) -> dict[str, Parameter]:
    """Tensors that hang on a module without being registered."""
    return {
        path: entry for path, entry in module.attributes.items() if isinstance(entry, Parameter)
    }


def settle(module: ModuleProxy, roles: Roles, weights: Mapping[str, Tensor]) -> None:
    """Put weights where their roles lie."""
    module.set(settings_of(roles, weights))


def settings_of(roles: Roles, weights: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """By path, what to put there so that a module of these roles holds `weights`.

    The same weights come back with every submission, and nearly always the same roles.
    """
    objects = (roles, *weights.values())
    return SETTINGS.of(tuple(weights), objects, partial(roles.settings, weights))


#: More settings than one submission's checks ask for.
SETTINGS: Kept[Mapping[str, Tensor]] = Kept(400)


def settled_roles(module: ModuleProxy, sample: Sample, declared: Module, sizes: Sizes) -> Roles:
    """The roles of a module's weights; where names leave several ways, the one that is right.

    Only the unmodified reference decides: a module that is right in no way keeps the usual one,
    and one whose names say nothing raises `RolesUnknown`.
    """
    output = "output" in declared.chain.names
    ways = layouts_of(
        shapes_of(module), sizes.d_in, sizes.d_out, output, sizes.heads, sizes.key_width
    )
    if len(ways) == 1:
        return ways[0]
    weights, tokens = sample.weights("strong", sizes), sample.tokens("strong", sizes)
    module.eval()
    for roles in ways:
        subject = Subject(declared, module, sizes, weights, roles)
        settle(module, roles, weights)
        try:
            seen = subject(tokens)
        except (StudentFault, CheckFailed):
            continue
        if same(seen, run(declared.chain, subject.given(tokens))):
            return roles
    if any(place.part is not None for place in ways[0].places.values()):
        return ways[0]
    raise RolesUnknown("query", shapes_of(module))


def build(
    student: Student,
    sample: Sample,
    declared: Module,
    sizes: Sizes,
    *,
    dropout: float = 0.0,
    weights: Mapping[str, Tensor] | None = None,
    label: str = "strong",
) -> Subject:
    """Build a class with these sizes, give it weights by role, and put it in eval mode."""
    module = make(student, declared.name, sizes, dropout)
    try:
        roles = settled_roles(module, sample, declared, sizes)
    except RolesUnknown as unknown:
        found = ", ".join(unknown.found[:8]) or "no parameters at all"
        raise CheckFailed(found, f"weights called {unknown.role}") from unknown
    chosen = dict(weights) if weights is not None else sample.weights(label, sizes)
    settle(module, roles, chosen)
    module.eval()
    return Subject(declared, module, sizes, chosen, roles)
