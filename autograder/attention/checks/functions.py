"""What holds of every function, whatever its stage; the stages' checks call these."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.attention.checks.subject import told_type
from autograder.checks.failures import CheckFailed, require, told_shape
from autograder.diagnosis.compare import same
from autograder.sandbox.host.student import Student


def rows_sum_to_one(weights: Tensor) -> None:
    """Fail unless every row of weights sums to 1 and has nothing negative."""
    require(
        bool(torch.isfinite(weights).all())
        and same(weights.sum(-1), torch.ones(weights.shape[:-1])),
        "rows that do not sum to 1",
        "every row summing to 1",
    )
    require(bool((weights >= -1e-6).all()), "negative weights", "weights of 0 or more")


def a_tensor(value: object, *shape: int) -> Tensor:
    """Fail unless exactly one real tensor of this shape was returned."""
    if not isinstance(value, Tensor):
        raise CheckFailed(told_type(value), "one tensor")
    require(
        tuple(value.shape) == shape,
        f"shape {told_shape(value.shape)}",
        f"shape {told_shape(shape)}",
    )
    require(
        not value.is_complex(),
        f"numbers of type {str(value.dtype).removeprefix('torch.')}",
        "real numbers",
    )
    return value.float()


def is_still(after: object, before: Tensor) -> bool:
    """Whether an argument is what it was."""
    return (
        isinstance(after, Tensor)
        and after.dtype == before.dtype
        and after.shape == before.shape
        and torch.equal(after, before)
    )


def untouched(student: Student, name: str, *arguments: Tensor | None) -> None:
    """Fail where a call changes its arguments or a second call gives something else."""
    proxy = student.proxy(name)
    replies = proxy.ask_each((proxy.asked(*arguments, arguments=True), proxy.asked(*arguments)))
    reply = next(replies)
    require(len(reply.arguments) == len(arguments), "other arguments", "the arguments again")
    for before, after in zip(arguments, reply.arguments, strict=True):
        assert before is not None
        require(
            is_still(after, before),
            "an argument that the call changed",
            "arguments that are unchanged",
        )
    require(isinstance(reply.value, Tensor), told_type(reply.value), "one tensor")
    first = a_tensor(reply.value, *reply.value.shape)
    again = next(replies).value
    require(
        isinstance(again, Tensor)
        and again.shape == first.shape
        and same(a_tensor(again, *first.shape), first),
        "a different result at the second call",
        "the same result for the same arguments",
        unsteady=True,
    )


def moves(first: Tensor, second: Tensor) -> None:
    """Fail where two results that should differ are the same."""
    require(
        first.shape != second.shape or not same(second, first),
        "the same result for other scores",
        "a result that depends on scores",
    )
