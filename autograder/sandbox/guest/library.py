"""Notices calls of torch's own attention, wherever they come from.

Its operators get a kernel before the real one, which counts and goes on to it. That works in
scripted functions and other threads too, and costs nothing in a call without such an operator,
whereas counting every operator makes a call take four times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

_C: Any = torch._C
_KEY: Any = _C.DispatchKey.BackendSelect  # passed by every operator, and free for most
_MULTI_HEAD, _SCALED = "_native_multi_head_attention", "_scaled_dot_product_"
_lookouts: Any = None  # they are there for as long as this is kept
_counts: dict[str, int] | None = None


def is_attention(pattern: str) -> bool:
    """Whether a pattern of operators' bare names (`fnmatch`) means the library's attention only."""
    return pattern.startswith(_SCALED) or pattern == _MULTI_HEAD


class Named(torch.overrides.TorchFunctionMode):
    """Counts the library's functions by the operator that each stands for.

    Depending on its arguments torch may compute one with products and exponents of the ordinary
    kind, so the call itself counts.
    """

    def __init__(self, counts: dict[str, int]) -> None:
        super().__init__()
        self.counts = counts

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        called = str(getattr(func, "__name__", ""))
        if "scaled_dot_product" in called:
            self._count(_SCALED + "attention")
        if "multi_head_attention" in called:
            self._count(_MULTI_HEAD)
        return func(*args, **kwargs) if kwargs else func(*args)

    def _count(self, operator: str) -> None:
        self.counts[f"function.{operator}"] = self.counts.get(f"function.{operator}", 0) + 1


@contextmanager
def watched(counts: dict[str, int]) -> Iterator[None]:
    """Count the operators of the library's attention, and the calls that stand for one."""
    global _counts
    prepare()
    _counts = counts
    try:
        with Named(counts):
            yield
    finally:
        _counts = None


def prepare() -> None:
    """Install the counting kernels, once for a process and all that are forked from it."""
    global _lookouts
    if _lookouts is not None:
        return
    _lookouts = torch.library.Library("aten", "IMPL")
    for name in _C._dispatch_get_all_op_names():
        space, _, bare = name.partition("::")
        stem, _, overload = bare.partition(".")
        if space != "aten" or not is_attention(stem):
            continue
        # One that is made of others is no operator by the time it runs.
        if not _C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd"):
            operator = getattr(getattr(torch.ops.aten, stem), overload or "default")
            _lookouts.impl(bare, _lookout(stem, operator), _KEY.name, with_keyset=True)


def _lookout(name: str, operator: Any) -> Callable[..., Any]:
    def count(keys: Any, *arguments: Any, **keywords: Any) -> Any:
        if _counts is not None:
            _counts[f"aten.{name}"] = _counts.get(f"aten.{name}", 0) + 1
        return operator.redispatch(keys.remove(_KEY), *arguments, **keywords)

    return count
