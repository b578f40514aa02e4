"""A call as a check asks for it, and all that it showed.

Both are made for every call; a struct is made several times faster than a frozen data class.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict

import msgspec
import torch

from ..protocol.wire import Layout

if TYPE_CHECKING:
    from .student import ModuleProxy


class Reply(msgspec.Struct, frozen=True):
    """All that a call showed. What was not asked for is empty."""

    value: Any
    arguments: list[Any] = []  # the tensor arguments, after the call
    gradients: dict[str, torch.Tensor | None] | None = None  # None: no output of that shape
    operators: dict[str, int] = {}
    printed: bool = False


class Counted(TypedDict, total=False):
    """Which operators a call is asked to count: all, or those of the library's attention."""

    operators: bool
    library: bool


class Asked(msgspec.Struct, frozen=True):
    """One call of a function or a module, and what is wanted of it besides its value.

    arguments_wanted: the tensor arguments as they are afterwards. operators_wanted: what it
    dispatched; library_wanted: of that the library's attention alone, which costs far less.
    cotangent: gradients of everything, weighted with it. unfilled: random numbers are not drawn, so
    that what it makes has sizes and no numbers. training: the mode that the module is put into
    first; None leaves it. holding: tensors that it is given before, by path.
    """

    name: str
    target: str | ModuleProxy
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any] = {}
    layouts: Mapping[int, Layout] = {}
    cotangent: torch.Tensor | None = None
    arguments_wanted: bool = False
    operators_wanted: bool = False
    grad: bool = False
    unfilled: bool = False
    training: bool | None = None
    library_wanted: bool = False
    holding: Mapping[str, torch.Tensor] = {}
