"""One call of a student's function or module: layouts in, gradients and operator counts out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ..protocol.wire import Layout
from . import library
from .describe import children, is_a

_Tensor = torch.Tensor
_C: Any = torch._C
_Base: Any = _C.TensorBase
_shape_of, _clone, _requires_grad_ = _Base.shape.__get__, _Base.clone, _Base.requires_grad_
_requires_grad, _is_floating = _Base.requires_grad.__get__, _Base.is_floating_point
_grad, _set_grad_enabled = torch.autograd.grad, _C._set_grad_enabled
_sum, _multiply = _Base.sum, _Base.mul
_empty, _zeros = torch.empty, torch.zeros
_WithoutTorchFunction: Any = _C.DisableTorchFunction


def lay_out(tensor: torch.Tensor, layout: Layout) -> torch.Tensor:
    """The same numbers, with another layout in memory."""
    if layout == "transposed" and tensor.dim() >= 2:
        return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)
    if layout == "sliced" and tensor.dim() >= 1:
        wide = _zeros((*tensor.shape[:-1], 2 * tensor.shape[-1] + 1), dtype=tensor.dtype)
        part = wide[..., 1::2]
        part.copy_(tensor)
        return part
    if layout == "expanded" and tensor.dim() >= 1 and tensor.shape[0] > 0:
        return tensor[:1].expand(tensor.shape)  # the judge made sure that all items are equal
    return tensor


def tracked(tensor: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A leaf that gathers a gradient, and a copy to hand over: it may be changed in place."""
    leaf = _requires_grad_(tensor, True)
    return leaf, _clone(leaf)


def differentiable(value: object) -> bool:
    """Whether a gradient for it makes sense."""
    return is_a(value, _Tensor) and bool(_is_floating(value))


def output_of_shape(output: object, shape: tuple[int, ...], depth: int = 0) -> torch.Tensor | None:
    """The first tensor of a shape in what a call returned.

    Args:
        output: What the call returned; containers are searched.
        shape: The shape.
        depth: How deep in containers this search already is.
    """
    if is_a(output, _Tensor):
        with _WithoutTorchFunction():
            return output if tuple(_shape_of(output)) == shape else None  # type: ignore[return-value]
    if depth < 4 and output is not None:
        for _, item in children(output):
            found = output_of_shape(item, shape, depth + 1)
            if found is not None:
                return found
    return None


def gradients(
    output: object, cotangent: torch.Tensor, sources: Mapping[str, torch.Tensor]
) -> dict[str, torch.Tensor | None] | None:
    """The vector-Jacobian product for all sources at once.

    Args:
        output: What the call returned.
        cotangent: The vector, of the output's shape.
        sources: The leaves to differentiate by, by path.

    Returns:
        A gradient for each source, None for one that the output does not depend on; None as a
        whole if no output has the cotangent's shape.
    """
    found = output_of_shape(output, tuple(cotangent.shape))
    if found is None:
        return None
    wanted = {path: source for path, source in sources.items() if _requires_grad(source)}
    result: dict[str, torch.Tensor | None] = dict.fromkeys(sources)
    if not _requires_grad(found) or not wanted:
        return result
    _set_grad_enabled(True)  # the call may have left it off
    with _WithoutTorchFunction():
        # The gradient of this sum is the cotangent itself, to the bit. (Giving the cotangent to
        # `grad` would do as well, and import a second's worth of symbolic shapes.)
        weighted = _sum(_multiply(found, cotangent.to(found.dtype)))
        values = _grad([weighted], list(wanted.values()), allow_unused=True)
    result.update(zip(wanted, values, strict=True))
    return result


class _Dispatched(torch.utils._python_dispatch.TorchDispatchMode):
    """Counts operators by the name that torch dispatches them under."""

    def __init__(self, counts: dict[str, int]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.counts = counts

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else the first count would import torch's compiler, a second of work

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        name = func._schema.name.replace("::", ".")
        self.counts[name] = self.counts.get(name, 0) + 1
        return func(*args, **(kwargs or {}))


class _Unfilled(torch.overrides.TorchFunctionMode):
    """Leaves weights uninitialised, since drawing millions of numbers takes a while."""

    _DRAWS = frozenset(
        f"{way}{distribution}_"
        for way in ("", "kaiming_", "xavier_", "trunc_")
        for distribution in ("uniform", "normal")
    )

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        given = kwargs or {}
        if getattr(func, "__name__", "") in self._DRAWS:
            return args[0] if args else given.get("tensor")
        return func(*args, **given)


def unfilled(call: Callable[[], object]) -> object:
    """Run a call that builds modules of which only the sizes matter."""
    with _Unfilled():
        return call()


def counting(call: Callable[[], object], counts: dict[str, int], *, everything: bool) -> object:
    """Run a call and count the operators that it dispatches.

    Args:
        call: The call.
        counts: Receives the counts, by operator.
        everything: Whether to count all operators; if not, only the library's attention.
    """
    if not everything:
        with library.watched(counts):
            return call()
    with library.Named(counts), _Dispatched(counts):
        return call()
