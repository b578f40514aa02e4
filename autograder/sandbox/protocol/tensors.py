"""Tensors to bytes and back, exactly.

Whatever a student's code does to torch's Python side, the bytes sent are those of the tensor:
everything here goes through methods of the C base class, bound when this module is imported,
which is before any student's code runs.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any, cast

import torch

from .frames import Broken, Buffer
from .wire import MAX_DIMENSIONS, MAX_PAYLOAD_BYTES, MAX_SIZE, MAX_TENSOR_BYTES, TensorHead

# torch's typing stubs do not tell of these C classes.
_Base: Any = torch._C.TensorBase
_Tensor, _Parameter = torch.Tensor, torch.nn.Parameter
_WithoutTorchFunction: Any = torch._C.DisableTorchFunction

_as_subclass, _detach, _contiguous = _Base.as_subclass, _Base.detach, _Base.contiguous
_resolve_conj, _resolve_neg = _Base.resolve_conj, _Base.resolve_neg
_data_ptr, _numel = _Base.data_ptr, _Base.numel
_get_shape, _get_dtype, _get_layout = _Base.shape.__get__, _Base.dtype.__get__, _Base.layout.__get__
_is_cpu = _Base.is_cpu.__get__
_get_device, _is_quantized = _Base.device.__get__, _Base.is_quantized.__get__
_dispatch_keys: Any = torch._C._dispatch_keys
_python_key: Any = torch._C.DispatchKey.Python
_string_at, _c_char = ctypes.string_at, ctypes.c_char
_frombuffer, _empty = torch.frombuffer, torch.empty
_no_grad = torch.no_grad
_strided, _uint8, _bool = torch.strided, torch.uint8, torch.bool

_COPY_BELOW = 1 << 16

DTYPES: dict[str, tuple[torch.dtype, int]] = {
    str(dtype).removeprefix("torch."): (dtype, dtype.itemsize)
    for dtype in (
        torch.float32,
        torch.float64,
        torch.float16,
        torch.bfloat16,
        torch.bool,
        torch.uint8,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.complex64,
        torch.complex128,
    )
}
_NAMES = {dtype: name for name, (dtype, _) in DTYPES.items()}


class CannotTravel(Exception):
    """A tensor whose bytes cannot be sent, and why."""

    def __init__(self, why: str, tensor: torch.Tensor | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.tensor = tensor


def dtype_name(dtype: torch.dtype) -> str:
    """`float32` for `torch.float32`."""
    return _NAMES.get(dtype) or str(dtype).removeprefix("torch.")


def plain(value: torch.Tensor) -> torch.Tensor:
    """The tensor itself, detached, without a subclass that may misreport it."""
    with _WithoutTorchFunction():
        if type(value) is not _Tensor and type(value) is not _Parameter:
            value = _as_subclass(value, _Tensor)
        return cast(torch.Tensor, _detach(value))


def facts(value: torch.Tensor) -> tuple[tuple[int, ...], str, str]:
    """Shape, dtype and device, asked of the C class."""
    with _WithoutTorchFunction():
        device = "cpu" if _is_cpu(value) else str(_get_device(value).type)
        return tuple(_get_shape(value)), dtype_name(_get_dtype(value)), device


def encode(value: torch.Tensor) -> tuple[TensorHead, Buffer, object]:
    """Encode a tensor.

    Returns:
        Its head, its bytes, and what must stay alive while the bytes are in use.

    Raises:
        CannotTravel: Not a plain dense CPU tensor, or too large.
    """
    with _WithoutTorchFunction():
        if type(value) is not _Tensor and type(value) is not _Parameter:
            value = _as_subclass(value, _Tensor)
        dtype = _get_dtype(value)
        name = _NAMES.get(dtype)
        if _get_layout(value) is not _strided:
            raise CannotTravel("its layout is not strided", value)
        if not _is_cpu(value):
            raise CannotTravel(f"it is on the device {_get_device(value).type}", value)
        if name is None or _is_quantized(value):
            raise CannotTravel("its type holds no plain numbers", value)
        if _dispatch_keys(value).has(_python_key):
            raise CannotTravel("it is no plain tensor", value)
        shape = tuple(_get_shape(value))
        count = _numel(value)
        size = count * DTYPES[name][1]
        if len(shape) > MAX_DIMENSIONS or max(shape, default=0) > MAX_SIZE:
            raise CannotTravel("it has too many dimensions or too long a one", value)
        if size > MAX_TENSOR_BYTES:
            raise CannotTravel("it is too large", value)
        head = TensorHead(name, shape)
        if not count:
            return head, b"", None
        value = _contiguous(_resolve_neg(_resolve_conj(value)))
        address = _data_ptr(value)
        if size < _COPY_BELOW:
            return head, _string_at(address, size), None
        return head, memoryview((_c_char * size).from_address(address)).cast("B"), value


def decode(heads: Sequence[TensorHead], payload: memoryview) -> list[torch.Tensor]:
    """Decode the tensors of a frame, each into memory of its own.

    Args:
        heads: Type and shape of each.
        payload: The bytes of all, one after another.

    Raises:
        Broken: Heads and bytes do not fit exactly.
    """
    try:
        return _decode(heads, payload)
    except (RuntimeError, OverflowError) as error:  # torch's own checks of sizes
        raise Broken(str(error)) from None


def _decode(heads: Sequence[TensorHead], payload: memoryview) -> list[torch.Tensor]:
    tensors: list[torch.Tensor] = []
    offset, end = 0, len(payload)
    for head in heads:
        known = DTYPES.get(head.dtype)
        if known is None:
            raise Broken("a tensor of an unknown type")
        dtype, width = known
        shape = head.shape
        size = math.prod(shape) * width
        if size > MAX_TENSOR_BYTES or offset + size > end:
            raise Broken("a tensor that is larger than its bytes")
        if size == 0:
            tensors.append(_empty(shape, dtype=dtype))
            continue
        part = bytearray(payload[offset : offset + size])
        offset += size
        if dtype is _bool:  # a byte that is neither 0 nor 1 would be a bool that counts double
            tensors.append(_frombuffer(part, dtype=_uint8).ne(0).reshape(shape))
        else:
            tensors.append(_frombuffer(part, dtype=dtype).reshape(shape))
    if offset != end:
        raise Broken("bytes that belong to no tensor")
    return tensors


class Cargo:
    """The tensors of one frame, collected while its message is put together.

    Args:
        first: The number of the first tensor, if others come before it.
    """

    def __init__(self, first: int = 0) -> None:
        self._first = first
        self.heads: list[TensorHead] = []
        self.payload: list[Buffer] = []
        self._alive: list[object] = []
        self._size = 0

    def add(self, tensor: torch.Tensor) -> int:
        """Add a tensor and return its number within the frame.

        Raises:
            CannotTravel: It cannot be sent, or the frame would be too large.
        """
        head, data, alive = self._packed(tensor)
        self._size += len(data)
        if self._size > MAX_PAYLOAD_BYTES:
            raise CannotTravel("there is too much to send at once", tensor)
        self.heads.append(head)
        self.payload.append(data)
        self._alive.append(alive)
        return self._first + len(self.heads) - 1

    @staticmethod
    def _packed(tensor: torch.Tensor) -> tuple[TensorHead, Buffer, object]:
        return encode(tensor)
